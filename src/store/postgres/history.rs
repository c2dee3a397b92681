//! What the records API reads from PostgreSQL: each answer is one statement, so it is one snapshot whatever the
//! isolation level.

use std::sync::Arc;

use sqlx::{AssertSqlSafe, Row};

use super::PostgresStore;
use super::columns::Columns;
use super::read::{STEP, THREAD};
use crate::id::ThreadId;
use crate::store::history::{MarkAt, PageQuery, PageRows, RecordPage, SnapshotRows, ThreadSnapshot, mark_at};
use crate::store::{PAGE_BYTES, StoreError};

/// Statements for the column types of this database.
#[derive(Debug)]
pub(super) struct Histories {
    snapshot: Arc<str>,
    forwards: Arc<str>,
    backwards: Arc<str>,
}

/// The cursor's row `c` as an object.
const CURSOR: &str = r#"case when c.thread_id is not null then json_build_object('epoch', c.epoch,
    'latest', c.latest_sequence, 'mark', encode(c.mark, 'hex'), 'incomplete', c.incomplete_why,
    'step_count', c.step_count, 'step_newest', c.step_newest,
    'updated_at', (extract(epoch from c.updated_at) * 1000000)::bigint)::text end"#;

/// Whether the thread may have steps that no numbered record brought.
const MAY_HAVE_LEGACY: &str = "(c.step_count is null or c.incomplete_why is not null or c.step_count <> n.count)";

/// The text by which steps of before the numbering are sorted.
const KEY: &str = r#"rtrim(coalesce("createdAt"::text, ''), 'Z') collate "C""#;

impl Histories {
    pub fn new(columns: &Columns) -> Self {
        let id = columns.cast("threads", "id");
        let kind = columns.cast("steps", "threadId");
        // A value of `threads.id` as a value of that column.
        let of_steps = if kind == id { "t.id".to_owned() } else { format!("t.id::text::{kind}") };
        // The thread with its cursor and its steps counted.
        let thread = format!(
            r#"
            from threads as t
            left join rejoinder_cursors as c on c.project_id = $2 and c.thread_id = t.id::text
            cross join lateral (select count(*) as count, max("createdAt"::text collate "C") as newest
                from steps where "threadId" = {of_steps}) as n
            where t.id = $1::{id}
                and not exists (select 1 from rejoinder_tombstones
                    where project_id = $2 and thread_id = t.id::text)
            "#
        );
        // Steps that no numbered record brought. They are asked for only where there may be some.
        let legacy = format!(
            r#""threadId" = {of_steps} and id::text not in (select entity_id from rejoinder_records
                where project_id = $2 and thread_id = t.id::text and sequence is not null and entity_id is not null
                    and record_type in ('message', 'tool_call', 'step_start', 'tool_result', 'step', 'task_start',
                        'interaction_request'))"#
        );
        Self {
            snapshot: snapshot(&thread, &legacy),
            forwards: page(&thread, &legacy, "asc", ">"),
            backwards: page(&thread, &legacy, "desc", "<"),
        }
    }
}

fn snapshot(thread: &str, legacy: &str) -> Arc<str> {
    format!(
        r#"
        select {THREAD},
            {CURSOR},
            n.count,
            n.newest,
            case when {MAY_HAVE_LEGACY} then (select count(*) from steps where {legacy}) else 0 end,
            (select coalesce(json_agg(json_build_object('id', execution_id, 'state', state,
                    'started_at', (extract(epoch from started_at) * 1000000)::bigint,
                    'settled_at', (extract(epoch from settled_at) * 1000000)::bigint,
                    'settled_by', settled_by, 'reason', reason) order by started_at, execution_id), '[]')::text
                from rejoinder_executions where project_id = $2 and thread_id = t.id::text
                    and (settled_at is null or execution_id = (select execution_id from rejoinder_executions
                        where project_id = $2 and thread_id = t.id::text
                        order by started_at desc, execution_id desc limit 1))),
            (select coalesce(json_agg(json_build_object('id', entity_id, 'sequence', sequence,
                    'kind', attributes ->> 'kind', 'timeout_at', attributes ->> 'timeout_at')
                    order by sequence), '[]')::text
                from rejoinder_records as q where project_id = $2 and thread_id = t.id::text
                    and record_type in ('interaction_request', 'interaction_response')
                    and record_type = 'interaction_request' and sequence is not null and erased_at is null
                    and not exists (select 1 from rejoinder_records as a
                        where a.project_id = $2 and a.thread_id = q.thread_id and a.entity_id = q.entity_id
                            and a.record_type in ('interaction_request', 'interaction_response')
                            and a.record_type = 'interaction_response' and a.quarantined_at is null)
                    and not exists (select 1 from rejoinder_executions as e
                        where e.project_id = $2 and e.thread_id = q.thread_id and e.execution_id = q.execution_id
                            and e.settled_at is not null))
        {thread}
        "#
    )
    .into()
}

/// A page, in one direction. $3 whether legacy rows are wanted, $4 and $5 the one they begin at, $6 and $7 the bounds of
/// the sequence, $8 how many rows, $9 how many bytes. Rows beyond the bytes come without what they say.
fn page(thread: &str, legacy: &str, order: &str, beyond: &str) -> Arc<str> {
    format!(
        r#"
        select {CURSOR},
            n.count,
            n.newest,
            case when $3 and {MAY_HAVE_LEGACY} then (
                select coalesce(json_agg(json_build_object('key', key, 'over', total - size >= $9,
                        'step', case when total - size < $9 then row_to_json(s) end)
                        order by key {order}, place {order}), '[]')::text
                from (select *, sum(size) over (order by key {order}, place {order} rows unbounded preceding) as total
                    from (select {STEP}, {KEY} as key, id::text collate "C" as place,
                            octet_length(coalesce(output, '')) + octet_length(coalesce(input, '')) + 500 as size
                        from steps where {legacy}
                            and ($4::text is null or ({KEY}, id::text collate "C") {beyond} ($4::text, $5::text))
                        order by key {order}, place {order} limit $8) as f) as s
            ) else '[]' end,
            (select coalesce(json_agg(json_build_object('over', total - size >= $9, 'id', record_id,
                    'sequence', sequence, 'execution', execution_id, 'type', record_type, 'source', record_source,
                    'entity', entity_id, 'attributes', case when total - size < $9 then attributes end,
                    'produced_at', (extract(epoch from produced_at) * 1000000)::bigint,
                    'created_at', (extract(epoch from created_at) * 1000000)::bigint, 'mark', encode(mark, 'hex'),
                    'quarantined_at', (extract(epoch from quarantined_at) * 1000000)::bigint,
                    'erased_at', (extract(epoch from erased_at) * 1000000)::bigint) order by sequence {order}),
                    '[]')::text
                from (select *, sum(size) over (order by sequence {order} rows unbounded preceding) as total
                    from (select *, octet_length(attributes::text) as size from rejoinder_records
                        where project_id = $2 and thread_id = t.id::text and sequence > $6 and sequence <= $7
                        order by sequence {order} limit $8) as f) as r)
        {thread}
        "#
    )
    .into()
}

impl PostgresStore {
    pub(super) async fn read_snapshot(&self, thread: &ThreadId) -> Result<Option<ThreadSnapshot>, StoreError> {
        if !self.known(thread) {
            return Ok(None);
        }
        let row = sqlx::query(AssertSqlSafe(self.tables.histories.snapshot.clone()))
            .bind(thread.as_str())
            .bind(&self.project)
            .fetch_optional(&self.pool)
            .await
            .map_err(StoreError::Unavailable)?;
        let Some(row) = row else { return Ok(None) };
        let rows = SnapshotRows {
            thread: row.try_get(0).map_err(unreadable)?,
            cursor: row.try_get(1).map_err(unreadable)?,
            steps: row.try_get(2).map_err(unreadable)?,
            newest_step: row.try_get(3).map_err(unreadable)?,
            legacy: row.try_get(4).map_err(unreadable)?,
            executions: row.try_get(5).map_err(unreadable)?,
            interactions: row.try_get(6).map_err(unreadable)?,
        };
        rows.into_snapshot(self.clock.now()).map(Some)
    }

    pub(super) async fn read_record_page(
        &self,
        thread: &ThreadId,
        query: &PageQuery,
    ) -> Result<Option<RecordPage>, StoreError> {
        if !self.known(thread) {
            return Ok(None);
        }
        let histories = &self.tables.histories;
        let sql = if query.backwards { &histories.backwards } else { &histories.forwards };
        let bounds = query.bounds();
        let (key, id) = bounds.legacy_from.unzip();
        let row = sqlx::query(AssertSqlSafe(sql.clone()))
            .bind(thread.as_str())
            .bind(&self.project)
            .bind(bounds.legacy)
            .bind(key)
            .bind(id)
            .bind(bounds.after)
            .bind(bounds.through)
            .bind(i64::try_from(bounds.limit + 1).unwrap_or(i64::MAX))
            .bind(i64::try_from(PAGE_BYTES).unwrap_or(i64::MAX))
            .fetch_optional(&self.pool)
            .await
            .map_err(StoreError::Unavailable)?;
        let Some(row) = row else { return Ok(None) };
        let rows = PageRows {
            cursor: row.try_get(0).map_err(unreadable)?,
            steps: row.try_get(1).map_err(unreadable)?,
            newest_step: row.try_get(2).map_err(unreadable)?,
            legacy: row.try_get(3).map_err(unreadable)?,
            numbered: row.try_get(4).map_err(unreadable)?,
        };
        rows.into_page(query).map(Some)
    }

    pub(super) async fn read_mark_at(&self, thread: &ThreadId, sequence: u64) -> Result<MarkAt, StoreError> {
        let sql = format!(
            r#"
            select {CURSOR}, (select encode(mark, 'hex') from rejoinder_records
                where project_id = $1 and thread_id = $2 and sequence = $3)
            from (select 1) as one left join rejoinder_cursors as c on c.project_id = $1 and c.thread_id = $2
            "#
        );
        let row = sqlx::query(AssertSqlSafe(sql))
            .bind(&self.project)
            .bind(thread.as_str())
            .bind(i64::try_from(sequence).unwrap_or(i64::MAX))
            .fetch_one(&self.pool)
            .await
            .map_err(StoreError::Unavailable)?;
        let cursor: Option<String> = row.try_get(0).map_err(unreadable)?;
        mark_at(cursor.as_deref(), row.try_get(1).map_err(unreadable)?)
    }
}

fn unreadable(error: sqlx::Error) -> StoreError {
    StoreError::Corrupt(error.to_string())
}
