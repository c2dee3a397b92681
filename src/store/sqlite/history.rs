//! What the records API reads from SQLite: each answer is one statement, so it is one moment.

use sqlx::Row;

use super::SqliteStore;
use crate::id::ThreadId;
use crate::store::history::{MarkAt, PageQuery, PageRows, RecordPage, SnapshotRows, ThreadSnapshot, mark_at};
use crate::store::{PAGE_BYTES, StoreError};

/// The cursor's row `c` as an object.
macro_rules! cursor {
    () => {
        r#"case when c.thread_id is not null then json_object('epoch', c.epoch, 'latest', c.latest_sequence,
            'mark', hex(c.mark), 'incomplete', c.incomplete_why, 'step_count', c.step_count,
            'step_newest', c.step_newest, 'updated_at', c.updated_at) end"#
    };
}

/// The thread `t` with its cursor and its steps counted. $1 thread, $2 project.
macro_rules! thread {
    () => {
        r#"
        from threads as t
        left join rejoinder_cursors as c on c.project_id = $2 and c.thread_id = t.id
        join (select count(*) as count, max("createdAt") as newest from steps where "threadId" = $1) as n
        where t.id = $1
            and not exists (select 1 from rejoinder_tombstones where project_id = $2 and thread_id = t.id)
        "#
    };
}

/// Whether the thread may have steps that no numbered record brought.
macro_rules! may_have_legacy {
    () => {
        "(c.step_count is null or c.incomplete_why is not null or c.step_count <> n.count)"
    };
}

/// Steps that no numbered record brought. They are asked for only where there may be some.
macro_rules! legacy {
    () => {
        r#""threadId" = t.id and id not in (select entity_id from rejoinder_records
            where project_id = $2 and thread_id = t.id and sequence is not null and entity_id is not null
                and record_type in ('message', 'tool_call', 'step_start', 'tool_result', 'step', 'task_start',
                    'interaction_request'))"#
    };
}

const SNAPSHOT: &str = concat!(
    r#"
    select
        json_object('id', t.id, 'createdAt', cast(t."createdAt" as text), 'name', cast(t.name as text),
            'userId', t."userId", 'userIdentifier', t."userIdentifier", 'tags', cast(t.tags as text),
            'metadata', cast(t.metadata as text)),
        "#,
    cursor!(),
    r#",
        n.count,
        cast(n.newest as text),
        case when "#,
    may_have_legacy!(),
    " then (select count(*) from steps where ",
    legacy!(),
    r#") else 0 end,
        (select json_group_array(json_object('id', execution_id, 'state', state, 'started_at', started_at,
                'settled_at', settled_at, 'settled_by', settled_by, 'reason', reason))
            from (select * from rejoinder_executions as e where project_id = $2 and thread_id = t.id
                and (settled_at is null or execution_id = (select execution_id from rejoinder_executions
                    where project_id = $2 and thread_id = t.id order by started_at desc, execution_id desc limit 1))
                order by started_at, execution_id)),
        (select json_group_array(json_object('id', entity_id, 'sequence', sequence,
                'kind', attributes ->> 'kind', 'timeout_at', attributes ->> 'timeout_at'))
            from (select * from rejoinder_records as q where project_id = $2 and thread_id = t.id
                and record_type in ('interaction_request', 'interaction_response')
                and record_type = 'interaction_request' and sequence is not null and erased_at is null
                and not exists (select 1 from rejoinder_records as a
                    where a.project_id = $2 and a.thread_id = t.id and a.entity_id = q.entity_id
                        and a.record_type in ('interaction_request', 'interaction_response')
                        and a.record_type = 'interaction_response' and a.quarantined_at is null)
                and not exists (select 1 from rejoinder_executions as e
                    where e.project_id = $2 and e.thread_id = t.id and e.execution_id = q.execution_id
                        and e.settled_at is not null)
                order by sequence))
    "#,
    thread!()
);

/// A page, in one direction. $3 whether legacy rows are wanted, $4 and $5 the one they begin at, $6 and $7 the bounds of
/// the sequence, $8 how many rows, $9 how many bytes. Rows beyond the bytes come without what they say.
macro_rules! page {
    ($order:literal, $beyond:literal) => {
        concat!(
            "select ",
            cursor!(),
            r#",
                n.count,
                cast(n.newest as text),
                case when $3 and "#,
            may_have_legacy!(),
            r#" then (
                    select json_group_array(json_object('key', key, 'over', total - size >= $9,
                        'step', json(case when total - size < $9 then "#,
            step!(),
            r#" end)))
                    from (select *, sum(size) over (order by key "#,
            $order,
            ", id ",
            $order,
            r#" rows unbounded preceding) as total
                        from (select *, rtrim(coalesce("createdAt", ''), 'Z') as key,
                                length(coalesce(output, '')) + length(coalesce(input, '')) + 500 as size
                            from steps where "#,
            legacy!(),
            r#"
                                and ($4 is null or (rtrim(coalesce("createdAt", ''), 'Z'), id) "#,
            $beyond,
            " ($4, $5)) order by key ",
            $order,
            ", id ",
            $order,
            " limit $8) order by key ",
            $order,
            ", id ",
            $order,
            r#")
                ) else '[]' end,
                (select json_group_array(json_object('over', total - size >= $9, 'id', record_id,
                        'sequence', sequence, 'execution', execution_id, 'type', record_type,
                        'source', record_source, 'entity', entity_id,
                        'attributes', case when total - size < $9 then attributes end,
                        'produced_at', produced_at, 'created_at', created_at, 'mark', hex(mark),
                        'quarantined_at', quarantined_at, 'erased_at', erased_at))
                    from (select *, sum(size) over (order by sequence "#,
            $order,
            r#" rows unbounded preceding) as total
                        from (select *, length(attributes) as size from rejoinder_records
                            where project_id = $2 and thread_id = t.id and sequence > $6 and sequence <= $7
                            order by sequence "#,
            $order,
            " limit $8) order by sequence ",
            $order,
            "))",
            thread!()
        )
    };
}

const FORWARDS: &str = page!("asc", ">");
const BACKWARDS: &str = page!("desc", "<");

impl SqliteStore {
    pub(super) async fn read_snapshot(&self, thread: &ThreadId) -> Result<Option<ThreadSnapshot>, StoreError> {
        let row = sqlx::query(SNAPSHOT)
            .bind(thread.as_str())
            .bind(&self.project)
            .fetch_optional(&self.readers)
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
        let bounds = query.bounds();
        let (key, id) = bounds.legacy_from.unzip();
        let row = sqlx::query(if query.backwards { BACKWARDS } else { FORWARDS })
            .bind(thread.as_str())
            .bind(&self.project)
            .bind(bounds.legacy)
            .bind(key)
            .bind(id)
            .bind(bounds.after)
            .bind(bounds.through)
            .bind(i64::try_from(bounds.limit + 1).unwrap_or(i64::MAX))
            .bind(i64::try_from(PAGE_BYTES).unwrap_or(i64::MAX))
            .fetch_optional(&self.readers)
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
        let row = sqlx::query(concat!(
            "select ",
            cursor!(),
            r#", (select hex(mark) from rejoinder_records
                where project_id = $1 and thread_id = $2 and sequence = $3)
            from (select 1) left join rejoinder_cursors as c on c.project_id = $1 and c.thread_id = $2"#
        ))
        .bind(&self.project)
        .bind(thread.as_str())
        .bind(i64::try_from(sequence).unwrap_or(i64::MAX))
        .fetch_one(&self.readers)
        .await
        .map_err(StoreError::Unavailable)?;
        let cursor: Option<String> = row.try_get(0).map_err(unreadable)?;
        mark_at(cursor.as_deref(), row.try_get(1).map_err(unreadable)?)
    }
}

fn unreadable(error: sqlx::Error) -> StoreError {
    StoreError::Corrupt(error.to_string())
}
