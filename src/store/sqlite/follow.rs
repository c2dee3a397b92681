//! Reading records for followers from SQLite: the numbering and a page of records in one statement, so at one moment.

use sqlx::Row;

use super::SqliteStore;
use crate::id::ThreadId;
use crate::store::follow::{FOLLOW_ROWS, FollowPage, FollowRows};
use crate::store::{PAGE_BYTES, StoreError};

/// One row for the whole page, since each row that the driver hands over costs more than what is in it. What the records
/// say is one text, and each record tells how much of it is its own.
/// $1 project, $2 thread, $3 and $4 the bounds of the sequence, $5 how many records, $6 how many bytes.
const FOLLOW: &str = r#"
    select
        (select json_array(epoch, latest_sequence, lower(hex(mark)), incomplete_why)
            from rejoinder_cursors where project_id = $1 and thread_id = $2),
        exists (select 1 from rejoinder_tombstones where project_id = $1 and thread_id = $2),
        json_group_array(json_array(record_id, sequence, lower(hex(mark)), octet_length(attributes), created_at,
            execution_id, record_type, record_source, entity_id, produced_at, erased_at)),
        group_concat(attributes, '')
    from (select * from rejoinder_records
        where project_id = $1 and thread_id = $2 and sequence > $3 and sequence <= (
            select max(sequence)
            from (select sequence, sum(size) over (order by sequence rows unbounded preceding) - size as before
                from (select sequence, octet_length(attributes) as size from rejoinder_records
                    where project_id = $1 and thread_id = $2 and sequence > $3 and sequence <= $4
                    order by sequence limit $5))
            where before < $6)
        order by sequence)
    "#;

impl SqliteStore {
    pub(super) async fn read_follow(
        &self,
        thread: &ThreadId,
        after: u64,
        through: Option<u64>,
    ) -> Result<FollowPage, StoreError> {
        let bound = |sequence: u64| i64::try_from(sequence).unwrap_or(i64::MAX);
        let row = sqlx::query(FOLLOW)
            .bind(&self.project)
            .bind(thread.as_str())
            .bind(bound(after))
            .bind(through.map_or(i64::MAX, bound))
            .bind(bound(FOLLOW_ROWS as u64))
            .bind(bound(PAGE_BYTES as u64))
            .fetch_one(&self.readers)
            .await
            .map_err(StoreError::Unavailable)?;
        let unreadable = |error: sqlx::Error| StoreError::Corrupt(error.to_string());
        let rows = FollowRows {
            cursor: row.try_get(0).map_err(unreadable)?,
            deleted: row.try_get(1).map_err(unreadable)?,
            records: row.try_get(2).map_err(unreadable)?,
            attributes: row.try_get::<Option<_>, _>(3).map_err(unreadable)?.unwrap_or_default(),
        };
        rows.into_page()
    }
}
