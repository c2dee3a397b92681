//! Looking for single rows in the threads of somebody: what is in other threads is not there.

use sqlx::AssertSqlSafe;

use super::PostgresStore;
use super::read::STEP;
use crate::id::{FeedbackId, StepId};
use crate::protocol::{Feedback, Step};
use crate::store::StoreError;
use crate::store::assemble::{favorites as starred, one};
use crate::store::row::{FeedbackRow, StoredStep};

/// `thread` is the id of a row `t` of `threads` as a value of the other table's column.
pub(super) fn favorites(thread: &str) -> String {
    // The text is searched, as in the other database, and read afterwards: an old row may hold no JSON at all, and
    // `like` on jsonb, as Chainlit does it, is an error.
    format!(
        r#"
        select to_json(s)::text from (
            select {STEP} from steps
            where "threadId" in (select {thread} from threads as t where t."userIdentifier" = $1
                    and t.id::text not in (select thread_id from rejoinder_tombstones where project_id = $2))
                and (metadata::text like '%"favorite":true%' or metadata::text like '%"favorite": true%')
            order by rtrim("createdAt"::text, 'Z') collate "C" desc nulls last, ctid desc
            limit $3) as s
        "#
    )
}

pub(super) fn step(thread: &str, id: &str) -> String {
    format!(
        r#"
        select to_json(s)::text from (
            select {STEP} from steps
            where id = $1::{id} and {owned}) as s
        "#,
        owned = owned(thread)
    )
}

pub(super) fn vote(thread: &str, id: &str) -> String {
    format!(
        r#"
        select to_json(f)::text from (
            select id, "forId", "threadId", value, comment from feedbacks
            where id = $1::{id} and {owned}) as f
        "#,
        owned = owned(thread)
    )
}

/// $2 owner, $3 project.
fn owned(thread: &str) -> String {
    format!(
        r#""threadId" in (select {thread} from threads as t where t."userIdentifier" is not distinct from $2
            and t.id::text not in (select thread_id from rejoinder_tombstones where project_id = $3))"#
    )
}

impl PostgresStore {
    pub(super) async fn find_favorites(&self, owner: &str, limit: u32) -> Result<Vec<Step>, StoreError> {
        let rows: Vec<String> = sqlx::query_scalar(AssertSqlSafe(self.tables.reads.favorites.clone()))
            .bind(owner)
            .bind(&self.project)
            .bind(i64::from(limit))
            .fetch_all(&self.pool)
            .await
            .map_err(StoreError::Unavailable)?;
        starred(&rows)
    }

    pub(super) async fn find_step(&self, owner: Option<&str>, id: &StepId) -> Result<Option<Step>, StoreError> {
        if !self.tables.columns.takes("steps", "id", id.as_str()) {
            return Ok(None);
        }
        let row: Option<String> = sqlx::query_scalar(AssertSqlSafe(self.tables.reads.step.clone()))
            .bind(id.as_str())
            .bind(owner)
            .bind(&self.project)
            .fetch_optional(&self.pool)
            .await
            .map_err(StoreError::Unavailable)?;
        row.map(|row| Ok(one::<StoredStep>(&row)?.into_step())).transpose()
    }

    pub(super) async fn find_vote(&self, owner: Option<&str>, id: &FeedbackId) -> Result<Option<Feedback>, StoreError> {
        if !self.tables.columns.takes("feedbacks", "id", id.as_str()) {
            return Ok(None);
        }
        let row: Option<String> = sqlx::query_scalar(AssertSqlSafe(self.tables.reads.vote.clone()))
            .bind(id.as_str())
            .bind(owner)
            .bind(&self.project)
            .fetch_optional(&self.pool)
            .await
            .map_err(StoreError::Unavailable)?;
        row.map(|row| Ok(one::<FeedbackRow>(&row)?.into_feedback())).transpose()
    }
}
