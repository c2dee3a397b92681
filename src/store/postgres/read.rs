//! Reading from PostgreSQL: each answer is one statement, so it is one snapshot whatever the isolation level.

use std::sync::Arc;

use std::collections::HashMap;

use sqlx::{AssertSqlSafe, Row};

use super::PostgresStore;
use super::columns::Columns;
use super::find;
use crate::id::ThreadId;
use crate::protocol::{ThreadPage, User};
use crate::store::assemble::{self, RecordRow, ThreadRows, cursor, page};
use crate::store::place::Place;
use crate::store::row::object;
use crate::store::search::regex;
use crate::store::{Cursor, LiveSession, StoreError, StoredRecord, StoredThread, ThreadHead, ThreadQuery, incomplete};

/// Statements that depend on the type of id columns, which an old database has as uuid: an index is of use only when
/// what is compared has its type.
#[derive(Debug)]
pub(super) struct Reads {
    thread: Arc<str>,
    head: Arc<str>,
    threads: Arc<str>,
    later_threads: Arc<str>,
    pub favorites: Arc<str>,
    pub step: Arc<str>,
    pub vote: Arc<str>,
}

/// A row of `threads` as an object.
pub(super) const THREAD: &str = r#"json_build_object('id', t.id, 'createdAt', t."createdAt", 'name', t.name,
    'userId', t."userId", 'userIdentifier', t."userIdentifier", 'tags', t.tags, 'metadata', t.metadata)::text"#;

/// The columns of `steps` that pages see.
pub(super) const STEP: &str = r#"id, "threadId", "parentId", name, type::text, streaming, "waitForAnswer", "isError",
    metadata, tags, input, output, "createdAt", command, start, "end", generation, "showInput", language,
    "defaultOpen", "autoCollapse", modes"#;

impl Reads {
    pub fn new(columns: &Columns) -> Self {
        let id = columns.cast("threads", "id");
        // A value of `threads.id` as a value of that column.
        let of = |table: &str| {
            let kind = columns.cast(table, "threadId");
            if kind == id { "t.id".to_owned() } else { format!("t.id::text::{kind}") }
        };
        Self {
            thread: format!(
                r#"
                select {THREAD},
                    (select json_build_object('epoch', epoch, 'latest', latest_sequence,
                            'mark', encode(mark, 'hex'), 'incomplete', incomplete_why, 'step_count', step_count,
                            'step_newest', step_newest)::text
                        from rejoinder_cursors where project_id = $2 and thread_id = t.id::text),
                    (select coalesce(json_agg(s), '[]')::text from (
                        select {STEP} from steps where "threadId" = {steps}
                        order by coalesce("rejoinderSequence", 0), ctid) as s),
                    (select coalesce(json_agg(e), '[]')::text from (
                        select id, "threadId", type, url, "chainlitKey", name, display, "objectKey", size, page,
                            language, "forId", mime, props, "autoPlay", "playerConfig"
                        from elements where "threadId" = {elements}
                        order by coalesce("rejoinderSequence", 0), ctid) as e),
                    (select coalesce(json_agg(f), '[]')::text from (
                        select id, "forId", "threadId", value, comment from feedbacks
                        where "threadId" = {feedbacks} order by ctid) as f),
                    (select coalesce(json_agg(step), '[]')::text from rejoinder_partials
                        where project_id = $2 and thread_id = t.id::text)
                from threads as t
                where t.id = $1::{id}
                    and not exists (select 1 from rejoinder_tombstones
                        where project_id = $2 and thread_id = t.id::text)
                "#,
                steps = of("steps"),
                elements = of("elements"),
                feedbacks = of("feedbacks"),
            )
            .into(),
            head: format!(
                r#"
                select t."userIdentifier", t.name, c.incomplete_why,
                    c.step_count is null and exists (select 1 from steps where "threadId" = {steps}),
                    t.metadata::text
                from threads as t
                left join rejoinder_cursors as c on c.project_id = $2 and c.thread_id = t.id::text
                where t.id = $1::{id}
                    and not exists (select 1 from rejoinder_tombstones
                        where project_id = $2 and thread_id = t.id::text)
                "#,
                steps = of("steps"),
            )
            .into(),
            threads: threads(
                &format!(
                    r#"(select max("createdAt"::text collate "C") from steps
                        where "threadId" = {} and $8::text is null)"#,
                    of("steps")
                ),
                &of("steps"),
                &of("feedbacks"),
            ),
            // The list as it was. Threads that had nothing then are not in it.
            later_threads: threads(
                &format!(
                    r#"(select max("createdAt"::text collate "C") from steps where "threadId" = {}
                        and rtrim("createdAt"::text, 'Z') collate "C" <= $8::text)"#,
                    of("steps")
                ),
                &of("steps"),
                &of("feedbacks"),
            ),
            favorites: find::favorites(&of("steps")).into(),
            step: find::step(&of("steps"), columns.cast("steps", "id")).into(),
            vote: find::vote(&of("feedbacks"), columns.cast("feedbacks", "id")).into(),
        }
    }
}

/// A page of the list. `steps` and `feedbacks` are the id of a thread as a value of their columns. Ids are compared as
/// text: the place of a former page has them so.
fn threads(newest: &str, steps: &str, feedbacks: &str) -> Arc<str> {
    format!(
        r#"
        with mine as materialized (
            select t.id, t.id::text collate "C" as place, rtrim(coalesce({newest},
                case when not exists (select 1 from steps where "threadId" = {steps} and "createdAt" is not null)
                    then coalesce(t."createdAt"::text, '') end), 'Z') collate "C" as active
            from threads as t
            where t."userIdentifier" = $1
                and t.id::text not in (select thread_id from rejoinder_tombstones where project_id = $2)
        )
        select {THREAD}, mine.active
        from mine join threads as t on t.id = mine.id
        where mine.active is not null
            and case when $3::text is null then true
                when $7::text is not null then (mine.active, mine.place) < ($7::text, $3::text)
                else not exists (select 1 from mine where place = $3)
                    or (mine.active, mine.place) < (select active, place from mine where place = $3) end
            and ($4::text is null or t.name ~ $4
                or exists (select 1 from steps where "threadId" = {steps} and output ~ $4))
            and ($5::bigint is null or exists (select 1 from feedbacks
                where "threadId" = {feedbacks} and value = $5))
        order by mine.active desc, mine.place desc
        limit $6
        "#
    )
    .into()
}

impl PostgresStore {
    /// The id as the column can hold it; another spelling of a uuid is another id, which nobody has.
    pub(super) fn known(&self, id: &ThreadId) -> bool {
        self.tables.columns.takes("threads", "id", id.as_str())
    }

    pub(super) async fn read_thread(&self, id: &ThreadId) -> Result<Option<StoredThread>, StoreError> {
        if !self.known(id) {
            return Ok(None);
        }
        let row = sqlx::query(AssertSqlSafe(self.tables.reads.thread.clone()))
            .bind(id.as_str())
            .bind(&self.project)
            .fetch_optional(&self.pool)
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
        if !self.known(id) {
            return Ok(None);
        }
        let row = sqlx::query(AssertSqlSafe(self.tables.reads.head.clone()))
            .bind(id.as_str())
            .bind(&self.project)
            .fetch_optional(&self.pool)
            .await
            .map_err(StoreError::Unavailable)?;
        row.map(|row| {
            let why: Option<String> = row.try_get(2).map_err(unreadable)?;
            let mut incomplete = incomplete::parse(why.as_deref());
            if row.try_get::<bool, _>(3).map_err(unreadable)? {
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
        let reads = &self.tables.reads;
        let sql = if place.since.is_some() { &reads.later_threads } else { &reads.threads };
        let rows: Vec<(String, String)> = sqlx::query_as(AssertSqlSafe(sql.clone()))
            .bind(&query.owner)
            .bind(&self.project)
            .bind(&place.thread)
            .bind(query.search.as_deref().filter(|text| !text.is_empty()).map(regex))
            .bind(query.feedback.map(i64::from))
            .bind(i64::from(query.first) + 1)
            .bind(&place.active)
            .bind(&place.since)
            .fetch_all(&self.pool)
            .await
            .map_err(StoreError::Unavailable)?;
        page(&rows, query.first, &place)
    }

    pub(super) async fn read_user(&self, identifier: &str) -> Result<Option<User>, StoreError> {
        let row: Option<String> = sqlx::query_scalar(
            r#"
            select json_build_object('id', id, 'identifier', identifier, 'createdAt', "createdAt",
                'metadata', metadata)::text
            from users where identifier = $1
            "#,
        )
        .bind(identifier)
        .fetch_optional(&self.pool)
        .await
        .map_err(StoreError::Unavailable)?;
        row.as_deref().map(assemble::user).transpose()
    }

    pub(super) async fn read_session(&self, hash: &str) -> Result<Option<LiveSession>, StoreError> {
        let row: Option<String> = sqlx::query_scalar(
            r#"
            select json_build_object('hash', hash, 'thread', thread_id, 'owner', owner, 'greeted', greeted::int,
                'stored', stored::int, 'seen_at', (extract(epoch from seen_at) * 1000000)::bigint)::text
            from rejoinder_sessions where project_id = $1 and hash = $2
            "#,
        )
        .bind(&self.project)
        .bind(hash)
        .fetch_optional(&self.pool)
        .await
        .map_err(StoreError::Unavailable)?;
        row.as_deref().map(assemble::session).transpose()
    }

    pub(super) async fn read_session_hashes(&self) -> Result<Vec<String>, StoreError> {
        sqlx::query_scalar("select hash from rejoinder_sessions where project_id = $1")
            .bind(&self.project)
            .fetch_all(&self.pool)
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
            select json_build_object('id', record_id, 'sequence', sequence, 'execution', execution_id,
                'type', record_type, 'source', record_source, 'entity', entity_id, 'attributes', attributes,
                'produced_at', (extract(epoch from produced_at) * 1000000)::bigint,
                'created_at', (extract(epoch from created_at) * 1000000)::bigint, 'mark', encode(mark, 'hex'),
                'quarantined_at', (extract(epoch from quarantined_at) * 1000000)::bigint,
                'erased_at', (extract(epoch from erased_at) * 1000000)::bigint,
                'origin', origin_execution_id, 'hash', encode(content_hash, 'hex'))::text
            from rejoinder_records
            where project_id = $1 and thread_id = $2 and sequence > $3 and sequence <= $4
            order by sequence limit $5
            "#,
        )
        .bind(&self.project)
        .bind(thread.as_str())
        .bind(i64::try_from(after).unwrap_or(i64::MAX))
        .bind(through.map_or(i64::MAX, |through| i64::try_from(through).unwrap_or(i64::MAX)))
        .bind(i64::from(limit))
        .fetch_all(&self.pool)
        .await
        .map_err(StoreError::Unavailable)?;
        rows.iter().map(|row| RecordRow::read(row)).collect()
    }

    pub(super) async fn read_stored_threads(
        &self,
        after: Option<&ThreadId>,
        limit: u32,
    ) -> Result<Vec<ThreadId>, StoreError> {
        let ids: Vec<String> = sqlx::query_scalar(
            r#"select id::text from threads where id::text collate "C" > $1 order by id::text collate "C" limit $2"#,
        )
        .bind(after.map_or("", ThreadId::as_str))
        .bind(i64::from(limit))
        .fetch_all(&self.pool)
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
            select thread_id from rejoinder_cursors where project_id = $1 and thread_id collate "C" > $2
            order by thread_id collate "C" limit $3
            "#,
        )
        .bind(&self.project)
        .bind(after.map_or("", ThreadId::as_str))
        .bind(i64::from(limit))
        .fetch_all(&self.pool)
        .await
        .map_err(StoreError::Unavailable)?;
        Ok(ids.into_iter().map(ThreadId::from).collect())
    }

    pub(super) async fn read_recorded_count(&self) -> Result<u64, StoreError> {
        let count: i64 = sqlx::query_scalar("select count(*) from rejoinder_cursors where project_id = $1")
            .bind(&self.project)
            .fetch_one(&self.pool)
            .await
            .map_err(StoreError::Unavailable)?;
        Ok(count.unsigned_abs())
    }

    pub(super) async fn read_cursor(&self, thread: &ThreadId) -> Result<Option<Cursor>, StoreError> {
        let row: Option<String> = sqlx::query_scalar(
            r#"
            select json_build_object('epoch', epoch, 'latest', latest_sequence, 'mark', encode(mark, 'hex'))::text
            from rejoinder_cursors where project_id = $1 and thread_id = $2
            "#,
        )
        .bind(&self.project)
        .bind(thread.as_str())
        .fetch_optional(&self.pool)
        .await
        .map_err(StoreError::Unavailable)?;
        row.as_deref().map_or(Ok(None), cursor)
    }

    pub(super) async fn read_latest(&self, threads: &[ThreadId]) -> Result<HashMap<ThreadId, u64>, StoreError> {
        let threads: Vec<&str> = threads.iter().map(ThreadId::as_str).collect();
        let rows: Vec<(String, i64)> = sqlx::query_as(
            r#"
            select thread_id, latest_sequence from rejoinder_cursors
            where project_id = $1 and thread_id = any($2)
            "#,
        )
        .bind(&self.project)
        .bind(&threads)
        .fetch_all(&self.pool)
        .await
        .map_err(StoreError::Unavailable)?;
        Ok(assemble::latest(rows))
    }
}

fn unreadable(error: sqlx::Error) -> StoreError {
    StoreError::Corrupt(error.to_string())
}
