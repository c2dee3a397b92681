//! Reading records for followers from SQLite: the numbering and a page of records in one statement, so at one moment.

use super::SqliteStore;
use crate::id::ThreadId;
use crate::store::follow::{FOLLOW_ROWS, FollowPage, FollowRow};
use crate::store::{PAGE_BYTES, StoreError};

/// First a row for the numbering, then one for each record.
const FOLLOW: &str = r#"
    select c.epoch as id, c.latest_sequence as sequence, lower(hex(c.mark)) as mark, c.incomplete_why as content,
        exists (select 1 from rejoinder_tombstones where project_id = $1 and thread_id = $2) as moment,
        null as execution, null as record_type, null as source, null as entity, null as produced_at,
        null as erased_at
    from (select 1) left join rejoinder_cursors as c on c.project_id = $1 and c.thread_id = $2
    union all
    select * from (
        select record_id, sequence, lower(hex(mark)), attributes, created_at, execution_id, record_type,
            record_source, entity_id, produced_at, erased_at
        from (select *, sum(size) over (order by sequence rows unbounded preceding) - size as before
            from (select *, octet_length(attributes) as size from rejoinder_records
                where project_id = $1 and thread_id = $2 and sequence > $3 and sequence <= $4
                order by sequence limit $5))
        where before < $6 order by sequence)
    "#;

impl SqliteStore {
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
            .fetch_all(&self.readers)
            .await
            .map_err(StoreError::Unavailable)?;
        FollowPage::read(rows)
    }
}
