//! The migrations of both backends, and what an existing database is held against.

use super::StoreError;

/// One migration: the same number in both folders.
#[derive(Clone, Copy, Debug)]
pub(super) struct Migration {
    pub version: i64,
    pub name: &'static str,
    pub sqlite: &'static str,
    pub postgres: &'static str,
}

macro_rules! migrations {
    ($($version:literal $name:literal),* $(,)?) => {
        /// All of them, oldest first. Applied ones are history: they never change, and they only add.
        pub(super) const MIGRATIONS: &[Migration] = &[$(Migration {
            version: $version,
            name: $name,
            sqlite: include_str!(concat!("../../migrations/sqlite/", $name, ".sql")),
            postgres: include_str!(concat!("../../migrations/postgres/", $name, ".sql")),
        }),*];
    };
}

migrations! {
    1 "0001_create_chat_tables",
    2 "0002_index_chat_tables",
    3 "0003_create_record_tables",
    4 "0004_create_file_table",
    5 "0005_index_questions",
    6 "0006_add_leases",
}

/// A column that Chainlit 2.12.0 or this server writes: table, name, type on SQLite, type on PostgreSQL.
pub(super) type Column = (&'static str, &'static str, &'static str, &'static str);

/// The columns that an older database may lack. Those that every layout has had are not here: a table without them is
/// somebody else's.
pub(super) const ADDED_COLUMNS: &[Column] = &[
    ("users", "createdAt", "text", "text"),
    ("threads", "userIdentifier", "text", "text"),
    ("threads", "tags", "text", "text[]"),
    ("threads", "metadata", "text", "jsonb"),
    ("steps", "waitForAnswer", "boolean", "boolean"),
    ("steps", "isError", "boolean", "boolean"),
    ("steps", "metadata", "text", "jsonb"),
    ("steps", "tags", "text", "text[]"),
    ("steps", "command", "text", "text"),
    ("steps", "generation", "text", "jsonb"),
    ("steps", "showInput", "text", "text"),
    ("steps", "language", "text", "text"),
    ("steps", "defaultOpen", "boolean", "boolean"),
    ("steps", "autoCollapse", "boolean", "boolean"),
    ("steps", "modes", "text", "jsonb"),
    ("elements", "chainlitKey", "text", "text"),
    ("elements", "objectKey", "text", "text"),
    ("elements", "page", "int", "int"),
    ("elements", "language", "text", "text"),
    ("elements", "mime", "text", "text"),
    ("elements", "props", "text", "jsonb"),
    ("elements", "autoPlay", "boolean", "boolean"),
    ("elements", "playerConfig", "text", "jsonb"),
    ("feedbacks", "comment", "text", "text"),
];

/// Refuses a database that holds Chainlit's other layout and not ours.
pub(super) fn refuse_other_layout(tables: &[String]) -> Result<(), StoreError> {
    let has = |name: &str| tables.iter().any(|table| table == name);
    if has("Thread") && has("Step") && !(has("threads") && has("steps")) {
        return Err(StoreError::Refused(
            "this database holds Chainlit's official layout (tables \"Thread\" and \"Step\"), which cannot be opened \
             yet: give another database, or one of Chainlit's SQLAlchemy layer"
                .into(),
        ));
    }
    Ok(())
}

/// Refuses migrations that a newer version made and that are more than additions.
pub(super) fn refuse_newer(applied: &[(i64, bool)]) -> Result<(), StoreError> {
    let newest = MIGRATIONS.last().map_or(0, |migration| migration.version);
    match applied.iter().find(|(version, additive)| *version > newest && !additive) {
        Some((version, _)) => Err(StoreError::Refused(format!(
            "this database was changed by a newer version (migration {version}, this one knows {newest}): use that one"
        ))),
        None => Ok(()),
    }
}

/// Refuses a server that was opened for another project.
pub(super) fn refuse_other_project(stored: &str, wanted: &str) -> Result<(), StoreError> {
    if stored == wanted {
        return Ok(());
    }
    Err(StoreError::Refused(format!("this database holds the project {stored:?}, not {wanted:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_no_hole_and_each_says_why() {
        for (i, migration) in MIGRATIONS.iter().enumerate() {
            assert_eq!(migration.version, i64::try_from(i).unwrap() + 1);
            assert!(migration.name.starts_with(&format!("{:04}_", migration.version)));
            assert!(migration.sqlite.starts_with("-- ") && migration.postgres.starts_with("-- "));
        }
    }

    /// I-57. Red when a file is in one folder only, or not in the list: then an old number would come again.
    #[test]
    fn i57_both_folders_hold_what_the_list_says() {
        let named: Vec<String> = MIGRATIONS.iter().map(|migration| format!("{}.sql", migration.name)).collect();
        for folder in ["sqlite", "postgres"] {
            let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations").join(folder);
            let files = std::fs::read_dir(&folder).unwrap();
            let mut files: Vec<String> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
            files.sort();
            assert_eq!(files, named, "{}", folder.display());
        }
    }

    /// I-57. Red when a migration takes something away, or adds a column that an older version does not fill.
    #[test]
    fn i57_migrations_only_add() {
        for migration in MIGRATIONS {
            for text in [migration.sqlite, migration.postgres] {
                let code: String = text.lines().filter(|line| !line.trim_start().starts_with("--")).collect();
                for statement in code.split(';').map(str::trim).filter(|statement| !statement.is_empty()) {
                    let adds_column = statement.starts_with("alter table") && statement.contains(" add column ");
                    let fills_itself = !statement.contains("not null") || statement.contains(" default ");
                    let adds = statement.starts_with("create table")
                        || statement.starts_with("create index")
                        || statement.starts_with("create unique index")
                        || adds_column && fills_itself;
                    assert!(adds, "{}: {statement}", migration.name);
                }
            }
        }
    }

    #[test]
    fn an_unknown_addition_is_welcome_and_more_is_not() {
        assert!(refuse_newer(&[(1, true), (99, true)]).is_ok());
        assert!(matches!(refuse_newer(&[(99, false)]), Err(StoreError::Refused(_))));
    }
}
