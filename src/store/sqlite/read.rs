//! Reading from SQLite: each answer is one statement, so it is one moment.

use std::collections::HashMap;

use sqlx::Row;

use super::SqliteStore;
use crate::id::ThreadId;
use crate::protocol::{ThreadPage, User};
use crate::store::assemble::{self, RecordRow, ThreadRows, cursor, page};
use crate::store::place::Place;
use crate::store::row::object;
use crate::store::search::glob;
use crate::store::writes::json;
use crate::store::{Cursor, LiveSession, StoreError, StoredRecord, StoredThread, ThreadHead, ThreadQuery, incomplete};

/// A page of the list. A thread's place is its newest step; the zone letter is cut, since "39Z" would come after
/// "39.5Z".
macro_rules! threads {
    ($newest:literal) => {
        concat!(
            r#"
            with mine as (
                select t.id, rtrim(coalesce("#,
            $newest,
            r#",
                    case when not exists (select 1 from steps where "threadId" = t.id and "createdAt" is not null)
                        then coalesce(t."createdAt", '') end), 'Z') as active
                from threads as t
                where t."userIdentifier" = $1
                    and t.id not in (select thread_id from rejoinder_tombstones where project_id = $2)
            )
            select json_object('id', t.id, 'createdAt', cast(t."createdAt" as text), 'name', cast(t.name as text),
                'userId', t."userId", 'userIdentifier', t."userIdentifier", 'tags', cast(t.tags as text),
                'metadata', cast(t.metadata as text)), mine.active
            from mine join threads as t on t.id = mine.id
            where mine.active is not null
                and case when $3 is null then true
                    when $7 is not null then (mine.active, mine.id) < ($7, $3)
                    else not exists (select 1 from mine where id = $3)
                        or (mine.active, mine.id) < (select active, id from mine where id = $3) end
                and ($4 is null or t.name glob $4
                    or exists (select 1 from steps where "threadId" = t.id and output glob $4))
                and ($5 is null or exists (select 1 from feedbacks where "threadId" = t.id and value = $5))
            order by mine.active desc, mine.id desc
            limit $6
            "#
        )
    };
}

/// The first page, or one after a thread.
const THREADS: &str = threads!(r#"(select max("createdAt") from steps where "threadId" = t.id and $8 is null)"#);

/// A later page: the list as it was. Threads that had nothing then are not in it.
const LATER_THREADS: &str =
    threads!(r#"(select max("createdAt") from steps where "threadId" = t.id and rtrim("createdAt", 'Z') <= $8)"#);

impl SqliteStore {
    pub(super) async fn read_thread(&self, id: &ThreadId) -> Result<Option<StoredThread>, StoreError> {
        let row = sqlx::query(concat!(
            r#"
            select
                json_object('id', t.id, 'createdAt', cast(t."createdAt" as text), 'name', cast(t.name as text),
                    'userId', t."userId", 'userIdentifier', t."userIdentifier", 'tags', cast(t.tags as text),
                    'metadata', cast(t.metadata as text)),
                (select json_object('epoch', epoch, 'latest', latest_sequence, 'mark', hex(mark),
                        'incomplete', incomplete_why, 'step_count', step_count, 'step_newest', step_newest)
                    from rejoinder_cursors where project_id = $2 and thread_id = t.id),
                (select json_group_array("#,
            step!(),
            r#")
                    from (select * from steps where "threadId" = t.id order by rowid)),
                (select json_group_array(json_object('id', id, 'threadId', "threadId", 'type', cast(type as text),
                        'url', cast(url as text), 'chainlitKey', cast("chainlitKey" as text),
                        'name', cast(name as text), 'display', cast(display as text),
                        'objectKey', cast("objectKey" as text), 'size', cast(size as text), 'page', page,
                        'language', cast(language as text), 'forId', "forId", 'mime', cast(mime as text),
                        'props', cast(props as text), 'autoPlay', "autoPlay",
                        'playerConfig', cast("playerConfig" as text)))
                    from (select * from elements where "threadId" = t.id order by rowid)),
                (select json_group_array(json_object('id', id, 'forId', "forId", 'threadId', "threadId",
                        'value', value, 'comment', cast(comment as text)))
                    from (select * from feedbacks where "threadId" = t.id order by rowid)),
                (select json_group_array(json(step)) from rejoinder_partials
                    where project_id = $2 and thread_id = t.id)
            from threads as t
            where t.id = $1
                and not exists (select 1 from rejoinder_tombstones where project_id = $2 and thread_id = t.id)
            "#
        ))
        .bind(id.as_str())
        .bind(&self.project)
        .fetch_optional(&self.readers)
        .await
        .map_err(StoreError::Unavailable)?;
        let Some(row) = row else { return Ok(None) };
        let rows = ThreadRows {
            thread: row.try_get(0).map_err(unreadable)?,
            cursor: row.try_get(1).map_err(unreadable)?,
            steps: row.try_get(2).map_err(unreadable)?,
            elements: row.try_get(3).map_err(unreadable)?,
            feedback: row.try_get(4).map_err(unreadable)?,
            partials: row.try_get(5).map_err(unreadable)?,
        };
        rows.into_thread().map(Some)
    }

    pub(super) async fn read_head(&self, id: &ThreadId) -> Result<Option<ThreadHead>, StoreError> {
        let row = sqlx::query(
            r#"
            select t."userIdentifier", cast(t.name as text), c.incomplete_why,
                c.step_count is null and exists (select 1 from steps where "threadId" = t.id),
                cast(t.metadata as text)
            from threads as t left join rejoinder_cursors as c on c.project_id = $2 and c.thread_id = t.id
            where t.id = $1
                and not exists (select 1 from rejoinder_tombstones where project_id = $2 and thread_id = t.id)
            "#,
        )
        .bind(id.as_str())
        .bind(&self.project)
        .fetch_optional(&self.readers)
        .await
        .map_err(StoreError::Unavailable)?;
        row.map(|row| {
            let why: Option<String> = row.try_get(2).map_err(unreadable)?;
            let mut incomplete = incomplete::parse(why.as_deref());
            if row.try_get::<i64, _>(3).map_err(unreadable)? != 0 {
                incomplete.insert(incomplete::LEGACY_ROWS.to_owned());
            }
            let owner = row.try_get(0).map_err(unreadable)?;
            let metadata: Option<String> = row.try_get(4).map_err(unreadable)?;
            let metadata = object(metadata.as_deref());
            Ok(ThreadHead { owner, name: row.try_get(1).map_err(unreadable)?, metadata, incomplete })
        })
        .transpose()
    }

    pub(super) async fn read_threads(&self, query: &ThreadQuery) -> Result<ThreadPage, StoreError> {
        let place = Place::parse(query.cursor.as_deref());
        let sql = if place.since.is_some() { LATER_THREADS } else { THREADS };
        let rows: Vec<(String, String)> = sqlx::query_as(sql)
            .bind(&query.owner)
            .bind(&self.project)
            .bind(&place.thread)
            .bind(query.search.as_deref().filter(|text| !text.is_empty()).map(glob))
            .bind(query.feedback.map(i64::from))
            .bind(i64::from(query.first) + 1)
            .bind(&place.active)
            .bind(&place.since)
            .fetch_all(&self.readers)
            .await
            .map_err(StoreError::Unavailable)?;
        page(&rows, query.first, &place)
    }

    pub(super) async fn read_user(&self, identifier: &str) -> Result<Option<User>, StoreError> {
        let row: Option<String> = sqlx::query_scalar(
            r#"
            select json_object('id', id, 'identifier', identifier, 'createdAt', "createdAt",
                'metadata', cast(metadata as text))
            from users where identifier = ?
            "#,
        )
        .bind(identifier)
        .fetch_optional(&self.readers)
        .await
        .map_err(StoreError::Unavailable)?;
        row.as_deref().map(assemble::user).transpose()
    }

    pub(super) async fn read_session(&self, hash: &str) -> Result<Option<LiveSession>, StoreError> {
        let row: Option<String> = sqlx::query_scalar(
            r#"
            select json_object('hash', hash, 'thread', thread_id, 'owner', owner, 'greeted', greeted,
                'stored', stored, 'seen_at', seen_at)
            from rejoinder_sessions where project_id = ? and hash = ?
            "#,
        )
        .bind(&self.project)
        .bind(hash)
        .fetch_optional(&self.readers)
        .await
        .map_err(StoreError::Unavailable)?;
        row.as_deref().map(assemble::session).transpose()
    }

    pub(super) async fn read_session_hashes(&self) -> Result<Vec<String>, StoreError> {
        sqlx::query_scalar("select hash from rejoinder_sessions where project_id = ?")
            .bind(&self.project)
            .fetch_all(&self.readers)
            .await
            .map_err(StoreError::Unavailable)
    }

    pub(super) async fn read_records(
        &self,
        thread: &ThreadId,
        after: u64,
        through: Option<u64>,
        limit: u32,
    ) -> Result<Vec<StoredRecord>, StoreError> {
        let rows: Vec<String> = sqlx::query_scalar(
            r#"
            select json_object('id', record_id, 'sequence', sequence, 'execution', execution_id,
                'type', record_type, 'source', record_source, 'entity', entity_id, 'attributes', attributes,
                'produced_at', produced_at, 'created_at', created_at, 'mark', hex(mark),
                'quarantined_at', quarantined_at, 'erased_at', erased_at,
                'origin', origin_execution_id, 'hash', hex(content_hash))
            from rejoinder_records
            where project_id = ? and thread_id = ? and sequence > ? and sequence <= ?
            order by sequence limit ?
            "#,
        )
        .bind(&self.project)
        .bind(thread.as_str())
        .bind(i64::try_from(after).unwrap_or(i64::MAX))
        .bind(through.map_or(i64::MAX, |through| i64::try_from(through).unwrap_or(i64::MAX)))
        .bind(i64::from(limit))
        .fetch_all(&self.readers)
        .await
        .map_err(StoreError::Unavailable)?;
        rows.iter().map(|row| RecordRow::read(row)).collect()
    }

    pub(super) async fn read_stored_threads(
        &self,
        after: Option<&ThreadId>,
        limit: u32,
    ) -> Result<Vec<ThreadId>, StoreError> {
        let ids: Vec<String> = sqlx::query_scalar("select id from threads where id > $1 order by id limit $2")
            .bind(after.map_or("", ThreadId::as_str))
            .bind(i64::from(limit))
            .fetch_all(&self.readers)
            .await
            .map_err(StoreError::Unavailable)?;
        Ok(ids.into_iter().map(ThreadId::from).collect())
    }

    pub(super) async fn read_recorded_threads(
        &self,
        after: Option<&ThreadId>,
        limit: u32,
    ) -> Result<Vec<ThreadId>, StoreError> {
        let ids: Vec<String> = sqlx::query_scalar(
            r#"
            select thread_id from rejoinder_cursors where project_id = $1 and thread_id > $2
            order by thread_id limit $3
            "#,
        )
        .bind(&self.project)
        .bind(after.map_or("", ThreadId::as_str))
        .bind(i64::from(limit))
        .fetch_all(&self.readers)
        .await
        .map_err(StoreError::Unavailable)?;
        Ok(ids.into_iter().map(ThreadId::from).collect())
    }

    pub(super) async fn read_recorded_count(&self) -> Result<u64, StoreError> {
        let count: i64 = sqlx::query_scalar("select count(*) from rejoinder_cursors where project_id = ?")
            .bind(&self.project)
            .fetch_one(&self.readers)
            .await
            .map_err(StoreError::Unavailable)?;
        Ok(count.unsigned_abs())
    }

    pub(super) async fn read_cursor(&self, thread: &ThreadId) -> Result<Option<Cursor>, StoreError> {
        let row: Option<String> = sqlx::query_scalar(
            r#"
            select json_object('epoch', epoch, 'latest', latest_sequence, 'mark', hex(mark))
            from rejoinder_cursors where project_id = ? and thread_id = ?
            "#,
        )
        .bind(&self.project)
        .bind(thread.as_str())
        .fetch_optional(&self.readers)
        .await
        .map_err(StoreError::Unavailable)?;
        row.as_deref().map_or(Ok(None), cursor)
    }

    pub(super) async fn read_latest(&self, threads: &[ThreadId]) -> Result<HashMap<ThreadId, u64>, StoreError> {
        let rows: Vec<(String, i64)> = sqlx::query_as(
            r#"
            select thread_id, latest_sequence from rejoinder_cursors
            where project_id = ? and thread_id in (select value from json_each(?))
            "#,
        )
        .bind(&self.project)
        .bind(json(&threads))
        .fetch_all(&self.readers)
        .await
        .map_err(StoreError::Unavailable)?;
        Ok(assemble::latest(rows))
    }
}

fn unreadable(error: sqlx::Error) -> StoreError {
    StoreError::Corrupt(error.to_string())
}
