//! Records and steps on their way into their tables: rows that come in numbers and hold long texts. They are bound value
//! by value: taking them out of JSON, which the rarer rows come in, cost more than storing them.

use std::sync::Arc;

use sqlx::query::Query;
use sqlx::sqlite::SqliteArguments;
use sqlx::{AssertSqlSafe, Sqlite, SqliteConnection};

use crate::id::{ExecutionId, StepId};
use crate::store::row::StepRow;
use crate::store::writes::RecordRow;

/// Rows of one statement, at most.
const MOST: usize = 128;

/// An insert of so many rows that a prepared statement fits all batches: the number is rounded up to a power of two, and
/// rows beyond the last one are unbound, which is null.
#[derive(Clone, Debug)]
struct Insert {
    columns: usize,
    /// For 1, 2, 4 … rows.
    texts: Arc<[Arc<str>]>,
}

/// The statements for records and steps.
#[derive(Clone, Debug)]
pub(super) struct Inserts {
    records: Insert,
    steps: Insert,
    /// Steps of which some are there. An upsert keeps a journal of its own, so the others do without.
    known_steps: Insert,
}

const RECORD_COLUMNS: usize = 15;
const STEP_COLUMNS: usize = 22;

/// What is the same in every record of a transaction.
#[derive(Clone, Copy)]
pub(super) struct Moment<'a> {
    pub project: &'a str,
    pub now: i64,
}

type Values<'q> = Query<'q, Sqlite, SqliteArguments>;

impl Insert {
    /// `head` ends before the rows and `tail` follows them; the first column is never null.
    fn new(columns: usize, head: &str, tail: &str) -> Self {
        let row = format!("({})", vec!["?"; columns].join(", "));
        let text = |rows: usize| {
            let rows = vec![row.as_str(); rows].join(", ");
            format!("{head} select * from (values {rows}) where column1 is not null {tail}").into()
        };
        Self { columns, texts: (0..=MOST.ilog2()).map(|power| text(1 << power)).collect() }
    }

    /// Inserts the rows, in their order.
    async fn run<T>(
        &self,
        connection: &mut SqliteConnection,
        rows: &[T],
        bind: impl for<'q> Fn(Values<'q>, &T) -> Values<'q>,
    ) -> Result<(), sqlx::Error> {
        for rows in rows.chunks(MOST) {
            let power = rows.len().next_power_of_two().ilog2();
            let Some(text) = usize::try_from(power).ok().and_then(|power| self.texts.get(power)) else { continue };
            let query = sqlx::query(AssertSqlSafe(text.clone()));
            rows.iter().fold(query, &bind).execute(&mut *connection).await?;
        }
        Ok(())
    }
}

impl Inserts {
    /// `disable_feedback`: the steps table of an old database demands one.
    pub(super) fn new(disable_feedback: bool) -> Self {
        let records = r#"
            insert or fail into rejoinder_records (project_id, thread_id, record_id, sequence, execution_id,
                origin_execution_id, entity_id, record_type, record_source, attributes, content_hash, mark, produced_at,
                created_at, quarantined_at)"#;
        let more = if disable_feedback { r#", "disableFeedback""# } else { "" };
        let steps = format!(
            r#"
            insert or fail into steps (id, name, type, "threadId", "parentId", streaming, "waitForAnswer", "isError",
                metadata, tags, input, output, "createdAt", command, start, "end", generation, "showInput", language,
                "defaultOpen", "autoCollapse", modes{more})"#
        );
        let again = r#"
            on conflict (id) do update set name = excluded.name, type = excluded.type, "parentId" = excluded."parentId",
                streaming = excluded.streaming, "waitForAnswer" = excluded."waitForAnswer",
                "isError" = excluded."isError", metadata = excluded.metadata, tags = excluded.tags,
                input = excluded.input, output = excluded.output, "createdAt" = excluded."createdAt",
                command = excluded.command, start = excluded.start, "end" = excluded."end",
                generation = excluded.generation, "showInput" = excluded."showInput", language = excluded.language,
                "defaultOpen" = excluded."defaultOpen", "autoCollapse" = excluded."autoCollapse",
                modes = excluded.modes"#;
        let columns = STEP_COLUMNS + usize::from(disable_feedback);
        Self {
            records: Insert::new(RECORD_COLUMNS, records, ""),
            steps: Insert::new(columns, &steps, ""),
            known_steps: Insert::new(columns, &steps, again),
        }
    }

    pub(super) async fn records(
        &self,
        connection: &mut SqliteConnection,
        rows: &[RecordRow],
        moment: Moment<'_>,
    ) -> Result<(), sqlx::Error> {
        self.records.run(connection, rows, |query, row| record(query, row, moment)).await
    }

    pub(super) async fn steps(&self, connection: &mut SqliteConnection, rows: &[StepRow]) -> Result<(), sqlx::Error> {
        let insert = if rows.iter().all(|row| row.is_new) { &self.steps } else { &self.known_steps };
        if insert.columns > STEP_COLUMNS {
            insert.run(connection, rows, |query, row| step(query, row).bind(false)).await
        } else {
            insert.run(connection, rows, step).await
        }
    }
}

/// A row as the statement of [`Inserts::new`] names its columns.
fn record<'q>(query: Values<'q>, row: &RecordRow, Moment { project, now }: Moment<'_>) -> Values<'q> {
    query
        .bind(project)
        .bind(row.thread.as_str())
        .bind(row.id.as_str())
        .bind(row.sequence.map(u64::cast_signed))
        .bind(row.execution.as_ref().map(ExecutionId::as_str))
        .bind(row.origin.as_ref().map(ExecutionId::as_str))
        .bind(row.entity.as_deref())
        .bind(row.kind)
        .bind(row.source)
        .bind(&row.attributes)
        .bind(&row.hash[..])
        .bind(row.mark.map(|mark| mark.bytes().to_vec()))
        .bind(row.produced_at)
        .bind(now)
        .bind(row.quarantined.then_some(now))
}

/// As above.
fn step<'q>(query: Values<'q>, row: &StepRow) -> Values<'q> {
    query
        .bind(row.id.as_str())
        .bind(&row.name)
        .bind(row.kind.as_str())
        .bind(row.thread_id.as_str())
        .bind(row.parent_id.as_ref().map(StepId::as_str))
        .bind(row.streaming)
        .bind(row.wait_for_answer)
        .bind(row.is_error)
        .bind(&row.metadata)
        .bind(row.tags.as_deref())
        .bind(&row.input)
        .bind(&row.output)
        .bind(row.created_at.as_deref())
        .bind(row.command.as_deref())
        .bind(row.start.as_deref())
        .bind(row.end.as_deref())
        .bind(row.generation.as_deref())
        .bind(row.show_input.as_deref())
        .bind(row.language.as_deref())
        .bind(row.default_open)
        .bind(row.auto_collapse)
        .bind(row.modes.as_deref())
}
