//! What the chat tables look like in this database: an old one has uuid, jsonb and text[] where a new one has text.

use std::collections::HashMap;

use sqlx::{PgConnection, Row};
use uuid::Uuid;

/// The type of every column, by table and name.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns(HashMap<(String, String), String>);

impl Columns {
    pub async fn read(connection: &mut PgConnection) -> Result<Self, sqlx::Error> {
        let rows = sqlx::query(
            r#"
            select table_name::text, column_name::text, udt_name::text from information_schema.columns
            where table_schema = any (current_schemas(false))
            "#,
        )
        .fetch_all(connection)
        .await?;
        rows.iter()
            .map(|row| Ok(((row.try_get(0)?, row.try_get(1)?), row.try_get(2)?)))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    pub fn has(&self, table: &str, column: &str) -> bool {
        self.kind(table, column).is_some()
    }

    /// The tables there are.
    pub fn tables(&self) -> Vec<String> {
        let mut tables: Vec<String> = self.0.keys().map(|(table, _)| table.clone()).collect();
        tables.sort_unstable();
        tables.dedup();
        tables
    }

    fn kind(&self, table: &str, column: &str) -> Option<&str> {
        self.0.get(&(table.to_owned(), column.to_owned())).map(String::as_str)
    }

    /// The name of a column's type, for a cast.
    pub fn cast(&self, table: &str, column: &str) -> &str {
        self.kind(table, column).unwrap_or("text")
    }

    pub fn is_uuid(&self, table: &str, column: &str) -> bool {
        self.kind(table, column) == Some("uuid")
    }

    /// A text of a row `r`, as a value of the column it goes into.
    pub fn value(&self, table: &str, column: &str) -> String {
        match self.kind(table, column) {
            Some("_text") => format!(
                r#"case when r."{column}" is null then null
                    else array(select jsonb_array_elements_text(r."{column}"::jsonb)) end"#
            ),
            Some(kind) => format!(r#"r."{column}"::{kind}"#),
            None => format!(r#"r."{column}""#),
        }
    }

    /// Those of the ids that the column can hold. Ids are compared as text: another spelling of a uuid is another id.
    pub fn ids<'a>(&self, table: &str, column: &str, ids: impl IntoIterator<Item = &'a str>) -> Vec<String> {
        let uuid = self.is_uuid(table, column);
        ids.into_iter().filter(|id| !uuid || is_canonical(id)).map(str::to_owned).collect()
    }

    /// Whether the column can hold the id.
    pub fn takes(&self, table: &str, column: &str, id: &str) -> bool {
        !self.is_uuid(table, column) || is_canonical(id)
    }
}

/// Whether this is how the database spells a uuid.
fn is_canonical(id: &str) -> bool {
    Uuid::try_parse(id).is_ok_and(|uuid| uuid.hyphenated().encode_lower(&mut Uuid::encode_buffer()) == id)
}
