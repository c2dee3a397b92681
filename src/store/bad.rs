//! An error of the database: is it about a row, or is the database away? The one is put aside, the other waited for.

use sqlx::error::DatabaseError;

/// What an error means for a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// A row that will never be taken, with a code for the column `code`.
    Bad(&'static str),
    /// Anything else: nothing is decided.
    Away,
}

/// Looks at the code of the database, never at its words.
pub(super) fn classify(error: &sqlx::Error) -> Class {
    match error {
        sqlx::Error::Database(error) => error.code().map_or(Class::Away, |code| of_code(&code, error.as_ref())),
        // The value could not even be sent: it is the value.
        sqlx::Error::Encode(_) => Class::Bad("not_encodable"),
        _ => Class::Away,
    }
}

fn of_code(code: &str, error: &dyn DatabaseError) -> Class {
    if error.try_downcast_ref::<sqlx::sqlite::SqliteError>().is_some() {
        of_sqlite_code(code)
    } else {
        of_sqlstate(code, error.constraint())
    }
}

/// Classes 22 (data) and 23 (integrity) are about a row. A doubled sequence would be a bug of ours: nothing is put
/// aside for that.
pub(super) fn of_sqlstate(code: &str, constraint: Option<&str>) -> Class {
    match code {
        "23505" if constraint == Some("rejoinder_records_by_sequence") => Class::Away,
        "22P05" | "22021" => Class::Bad("bad_text"),
        code if code.starts_with("22") => Class::Bad("bad_value"),
        code if code.starts_with("23") => Class::Bad("constraint"),
        // program_limit_exceeded: a jsonb or an index entry that is too big.
        "54000" => Class::Bad("too_big"),
        _ => Class::Away,
    }
}

/// SQLite's extended result codes; the lowest byte is the primary one.
pub(super) fn of_sqlite_code(code: &str) -> Class {
    match code.parse::<u32>().map(|code| code & 0xff) {
        Ok(18) => Class::Bad("too_big"),
        Ok(19) => Class::Bad("constraint"),
        Ok(20) => Class::Bad("bad_value"),
        Ok(_) | Err(_) => Class::Away,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// I-14: an outage is never taken for a bad row, a bad row never for an outage.
    #[test]
    fn each_code_has_its_class() {
        for code in ["22P02", "22001", "22P05", "23502", "23503", "23505", "23514", "54000"] {
            assert_ne!(of_sqlstate(code, None), Class::Away, "{code}");
        }
        for code in ["40001", "40P01", "53100", "53300", "55P03", "57014", "57P01", "57P03", "08006", "25006", "XX000"]
        {
            assert_eq!(of_sqlstate(code, None), Class::Away, "{code}");
        }
        for error in [sqlx::Error::PoolTimedOut, sqlx::Error::WorkerCrashed, sqlx::Error::RowNotFound] {
            assert_eq!(classify(&error), Class::Away, "{error}");
        }
        assert_eq!(classify(&sqlx::Error::Io(std::io::ErrorKind::ConnectionReset.into())), Class::Away);
        assert_eq!(of_sqlstate("23505", Some("rejoinder_records_by_sequence")), Class::Away);
        for code in ["18", "19", "275", "787", "1299", "1555", "1811", "2067", "3091", "20"] {
            assert_ne!(of_sqlite_code(code), Class::Away, "{code}");
        }
        // busy, locked, read-only, interrupted, I/O, corrupt, full, cannot open, busy_snapshot
        for code in ["5", "6", "8", "9", "10", "11", "13", "14", "517", "778", "x"] {
            assert_eq!(of_sqlite_code(code), Class::Away, "{code}");
        }
    }
}
