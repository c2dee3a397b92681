//! Looking for single rows in the threads of somebody: what is in other threads is not there.

use super::SqliteStore;

use crate::id::{FeedbackId, StepId};
use crate::protocol::{Feedback, Step};
use crate::store::StoreError;
use crate::store::assemble::{favorites, one};
use crate::store::row::{FeedbackRow, StoredStep};

impl SqliteStore {
    pub(super) async fn find_favorites(&self, owner: &str, limit: u32) -> Result<Vec<Step>, StoreError> {
        // The text is searched as Chainlit does, and read afterwards: an old row may hold no JSON at all.
        let rows: Vec<String> = sqlx::query_scalar(concat!(
            "select ",
            step!(),
            r#"
            from steps
            where "threadId" in (select id from threads where "userIdentifier" = $1
                    and id not in (select thread_id from rejoinder_tombstones where project_id = $2))
                and (metadata glob '*"favorite":true*' or metadata glob '*"favorite": true*')
            order by rtrim("createdAt", 'Z') desc, rowid desc
            limit $3
            "#
        ))
        .bind(owner)
        .bind(&self.project)
        .bind(i64::from(limit))
        .fetch_all(&self.readers)
        .await
        .map_err(StoreError::Unavailable)?;
        favorites(&rows)
    }

    pub(super) async fn find_step(&self, owner: Option<&str>, id: &StepId) -> Result<Option<Step>, StoreError> {
        let row: Option<String> = sqlx::query_scalar(concat!(
            "select ",
            step!(),
            r#"
            from steps as s
            where id = $1 and exists (select 1 from threads as t where t.id = s."threadId"
                and t."userIdentifier" is $2
                and t.id not in (select thread_id from rejoinder_tombstones where project_id = $3))
            "#
        ))
        .bind(id.as_str())
        .bind(owner)
        .bind(&self.project)
        .fetch_optional(&self.readers)
        .await
        .map_err(StoreError::Unavailable)?;
        row.map(|row| Ok(one::<StoredStep>(&row)?.into_step())).transpose()
    }

    pub(super) async fn find_vote(&self, owner: Option<&str>, id: &FeedbackId) -> Result<Option<Feedback>, StoreError> {
        let row: Option<String> = sqlx::query_scalar(
            r#"
            select json_object('id', id, 'forId', "forId", 'threadId', "threadId", 'value', value,
                'comment', cast(comment as text))
            from feedbacks as f
            where id = $1 and exists (select 1 from threads as t where t.id = f."threadId"
                and t."userIdentifier" is $2
                and t.id not in (select thread_id from rejoinder_tombstones where project_id = $3))
            "#,
        )
        .bind(id.as_str())
        .bind(owner)
        .bind(&self.project)
        .fetch_optional(&self.readers)
        .await
        .map_err(StoreError::Unavailable)?;
        row.map(|row| Ok(one::<FeedbackRow>(&row)?.into_feedback())).transpose()
    }
}
