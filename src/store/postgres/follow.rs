//! Reading records for followers from PostgreSQL: the numbering and a page of records in one statement, so at one moment.

use super::PostgresStore;
use crate::id::ThreadId;
use crate::store::follow::{FOLLOW_ROWS, FollowPage, FollowRow};
use crate::store::{PAGE_BYTES, StoreError};

/// First a row for the numbering, then one for each record.
const FOLLOW: &str = r#"
    select id, sequence, mark, content, moment, execution, record_type, source, entity, produced_at, erased_at from (
        select 0 as part, c.epoch as id, c.latest_sequence as sequence, encode(c.mark, 'hex') as mark,
            c.incomplete_why as content,
            (exists (select 1 from rejoinder_tombstones where project_id = $1 and thread_id = $2))::int::bigint
                as moment,
            null as execution, null as record_type, null as source, null as entity, null::bigint as produced_at,
            null::bigint as erased_at
        from (select 1) as one left join rejoinder_cursors as c on c.project_id = $1 and c.thread_id = $2
        union all
        select 1, record_id, sequence, encode(mark, 'hex'), attributes,
            (extract(epoch from created_at) * 1000000)::bigint, execution_id, record_type, record_source, entity_id,
            (extract(epoch from produced_at) * 1000000)::bigint, (extract(epoch from erased_at) * 1000000)::bigint
        from (select *, sum(size) over (order by sequence rows unbounded preceding) - size as before
            from (select record_id, sequence, mark, attributes::text as attributes, created_at, execution_id,
                    record_type, record_source, entity_id, produced_at, erased_at,
                    octet_length(attributes::text) as size
                from rejoinder_records
                where project_id = $1 and thread_id = $2 and sequence > $3 and sequence <= $4
                order by sequence limit $5) as page) as sized
        where before < $6) as rows
    order by part, sequence
    "#;

impl PostgresStore {
    pub(super) async fn read_follow(
        &self,
        thread: &ThreadId,
        after: u64,
        through: Option<u64>,
    ) -> Result<FollowPage, StoreError> {
        let bound = |sequence: u64| i64::try_from(sequence).unwrap_or(i64::MAX);
        let rows: Vec<FollowRow> = sqlx::query_as(FOLLOW)
            .bind(&self.project)
            .bind(thread.as_str())
            .bind(bound(after))
            .bind(through.map_or(i64::MAX, bound))
            .bind(bound(FOLLOW_ROWS as u64))
            .bind(bound(PAGE_BYTES as u64))
            .fetch_all(&self.pool)
            .await
            .map_err(StoreError::Unavailable)?;
        FollowPage::read(rows)
    }
}
