//! The statements of an append on PostgreSQL, made once for the column types of the database at hand. Rows come as one
//! JSON array a statement, so a batch of any size is the same few statements.

use std::sync::Arc;

use super::columns::Columns;

/// Locks the cursors in the order of the list, making those that are missing. It is a statement of its own: a later
/// one sees what the transaction that held the lock before has committed.
///
/// $1 project, $2 threads, $3 an epoch for each, $4 now.
pub(super) const LOCK: &str = r#"
insert into rejoinder_cursors as c (project_id, thread_id, epoch, latest_sequence, mark, created_at, updated_at)
    select $1, j.thread, j.epoch, 0, '\x0000000000000000', to_timestamp($4::bigint / 1000000.0),
        to_timestamp($4::bigint / 1000000.0)
    from unnest($2::text[], $3::text[]) with ordinality as j (thread, epoch, place)
    order by j.place
    on conflict (project_id, thread_id) do update set updated_at = excluded.updated_at
    returning json_build_array(c.thread_id, c.epoch, c.latest_sequence, encode(c.mark, 'hex'), c.incomplete_why,
        c.step_count, c.step_newest, case when c.xmax = 0 then 1 else 0 end)::text
"#;

const UPDATE_CURSORS: &str = r#"
update rejoinder_cursors as c set latest_sequence = r.latest, mark = decode(r.mark, 'hex'),
        incomplete_at = case when r.incomplete is not null
            then coalesce(c.incomplete_at, to_timestamp($2::bigint / 1000000.0)) end,
        incomplete_why = r.incomplete, step_count = r.step_count, step_newest = r.step_newest
    from jsonb_to_recordset($3::jsonb) as r (thread text, latest bigint, mark text, incomplete text,
        step_count bigint, step_newest text)
    where c.project_id = $1 and c.thread_id = r.thread
"#;

const DELETE_UNUSED_CURSORS: &str = r#"
delete from rejoinder_cursors where project_id = $1 and thread_id = any ($2::text[])
    and latest_sequence = 0 and step_count is null and incomplete_why is null
"#;

const INSERT_RECORDS: &str = r#"
insert into rejoinder_records (project_id, thread_id, record_id, sequence, execution_id, origin_execution_id,
        entity_id, record_type, record_source, attributes, content_hash, mark, produced_at, created_at,
        quarantined_at)
    select $1, r.thread, r.id, r.sequence, r.execution, r.origin, r.entity, r.type, r.source, r.attributes::jsonb,
        decode(r.hash, 'hex'), decode(r.mark, 'hex'), to_timestamp(r.produced_at / 1000000.0),
        to_timestamp($2::bigint / 1000000.0),
        case when r.quarantined then to_timestamp($2::bigint / 1000000.0) end
    from jsonb_to_recordset($3::jsonb) as r (thread text, id text, sequence bigint, execution text, origin text,
        entity text, type text, source text, attributes text, hash text, mark text, produced_at bigint,
        quarantined boolean)
"#;

const UPSERT_EXECUTIONS: &str = r#"
insert into rejoinder_executions as e (project_id, thread_id, execution_id, instance_id, state, trigger_id,
        started_at, settled_at, settled_by, reason, lease_until)
    select $1, r.thread, r.id, $4, r.state, r.trigger, to_timestamp(r.started_at / 1000000.0),
        case when r.settled_by is not null then to_timestamp($2::bigint / 1000000.0) end, r.settled_by, r.reason,
        to_timestamp($5::bigint / 1000000.0)
    from jsonb_to_recordset($3::jsonb) as r (thread text, id text, state text, trigger text, started_at bigint,
        settled_by text, reason text)
    on conflict (project_id, thread_id, execution_id) do update set state = excluded.state,
        settled_at = excluded.settled_at, settled_by = excluded.settled_by, reason = excluded.reason
    where e.settled_at is null
"#;

const DELETE_PARTIALS: &str = r#"
delete from rejoinder_partials as p using jsonb_to_recordset($2::jsonb) as r (thread text, id text)
    where p.project_id = $1 and p.thread_id = r.thread and p.step_id = r.id
"#;

const DELETE_PARTIALS_OF_RUNS: &str = r#"
delete from rejoinder_partials as p using jsonb_to_recordset($2::jsonb) as r (thread text, id text)
    where p.project_id = $1 and p.thread_id = r.thread and p.execution_id = r.id
"#;

const INSERT_REJECTS: &str = r#"
insert into rejoinder_rejects (project_id, thread_id, record_id, code, detail, body, rejected_at)
    select $1, r.thread, r.record, r.code, r.detail, r.body, to_timestamp($2::bigint / 1000000.0)
    from jsonb_to_recordset($3::jsonb) as r (thread text, record text, code text, detail text, body text)
    on conflict (project_id, thread_id, record_id) do nothing
"#;

/// A column as the rows of `writes` have it: its name and its type there.
type Field = (&'static str, &'static str);

const THREAD: &[Field] = &[
    ("id", "text"),
    ("createdAt", "text"),
    ("name", "text"),
    ("userIdentifier", "text"),
    ("tags", "text"),
    ("metadata", "text"),
];

const STEP: &[Field] = &[
    ("id", "text"),
    ("name", "text"),
    ("type", "text"),
    ("threadId", "text"),
    ("parentId", "text"),
    ("streaming", "boolean"),
    ("waitForAnswer", "boolean"),
    ("isError", "boolean"),
    ("metadata", "text"),
    ("tags", "text"),
    ("input", "text"),
    ("output", "text"),
    ("createdAt", "text"),
    ("command", "text"),
    ("start", "text"),
    ("end", "text"),
    ("generation", "text"),
    ("showInput", "text"),
    ("language", "text"),
    ("defaultOpen", "boolean"),
    ("autoCollapse", "boolean"),
    ("modes", "text"),
];

const ELEMENT: &[Field] = &[
    ("id", "text"),
    ("threadId", "text"),
    ("type", "text"),
    ("url", "text"),
    ("chainlitKey", "text"),
    ("name", "text"),
    ("display", "text"),
    ("objectKey", "text"),
    ("size", "text"),
    ("page", "bigint"),
    ("language", "text"),
    ("forId", "text"),
    ("mime", "text"),
    ("props", "text"),
    ("autoPlay", "boolean"),
    ("playerConfig", "text"),
];

const FEEDBACK: &[Field] =
    &[("id", "text"), ("forId", "text"), ("threadId", "text"), ("value", "bigint"), ("comment", "text")];

/// A statement, made for this database.
pub(super) type Sql = Arc<str>;

/// All statements of an append. What is not about the types of columns is a constant.
#[derive(Clone, Debug)]
pub(super) struct Statements {
    pub read: Sql,
    pub update_cursors: Sql,
    pub delete_unused_cursors: Sql,
    pub insert_records: Sql,
    pub upsert_executions: Sql,
    pub insert_threads: Sql,
    pub update_threads: Sql,
    pub delete_elements_of_steps: Sql,
    pub delete_feedback_of_steps: Sql,
    pub delete_steps: Sql,
    pub upsert_steps: Sql,
    pub change_steps: Sql,
    pub delete_elements: Sql,
    pub upsert_elements: Sql,
    pub delete_feedback: Sql,
    pub upsert_feedback: Sql,
    pub delete_partials: Sql,
    pub delete_partials_of_runs: Sql,
    pub insert_rejects: Sql,
}

impl Statements {
    pub fn new(columns: &Columns) -> Self {
        let cast = |table: &str, column: &str| columns.cast(table, column).to_owned();
        let any = |table: &str, column: &str| format!(r#"any ($1::text[]::{}[])"#, cast(table, column));
        Self {
            read: read(columns).into(),
            update_cursors: UPDATE_CURSORS.into(),
            delete_unused_cursors: DELETE_UNUSED_CURSORS.into(),
            insert_records: INSERT_RECORDS.into(),
            upsert_executions: UPSERT_EXECUTIONS.into(),
            insert_threads: insert_threads(columns).into(),
            update_threads: update_threads(columns).into(),
            delete_elements_of_steps: format!(
                r#"delete from elements where "forId" = {} and "threadId" = any ($2::text[]::{}[])"#,
                any("elements", "forId"),
                cast("elements", "threadId")
            )
            .into(),
            delete_feedback_of_steps: format!(r#"delete from feedbacks where "forId" = {}"#, any("feedbacks", "forId"))
                .into(),
            delete_steps: format!(
                r#"delete from steps where id = {} and "threadId" = any ($2::text[]::{}[])"#,
                any("steps", "id"),
                cast("steps", "threadId")
            )
            .into(),
            upsert_steps: upsert("steps", STEP, columns).into(),
            change_steps: change_steps(columns).into(),
            delete_elements: format!(r#"delete from elements where id = {}"#, any("elements", "id")).into(),
            upsert_elements: upsert("elements", ELEMENT, columns).into(),
            delete_feedback: format!(r#"delete from feedbacks where id = {}"#, any("feedbacks", "id")).into(),
            upsert_feedback: upsert("feedbacks", FEEDBACK, columns).into(),
            delete_partials: DELETE_PARTIALS.into(),
            delete_partials_of_runs: DELETE_PARTIALS_OF_RUNS.into(),
            insert_rejects: INSERT_REJECTS.into(),
        }
    }
}

fn quoted(fields: &[Field]) -> String {
    fields.iter().map(|(name, _)| format!(r#""{name}""#)).collect::<Vec<_>>().join(", ")
}

fn recordset(fields: &[Field]) -> String {
    fields.iter().map(|(name, kind)| format!(r#""{name}" {kind}"#)).collect::<Vec<_>>().join(", ")
}

fn values(table: &str, fields: &[Field], columns: &Columns) -> String {
    fields.iter().map(|(name, _)| columns.value(table, name)).collect::<Vec<_>>().join(", ")
}

/// Inserts rows, or changes those of the same thread. A row of another thread is left alone, which the number of
/// rows tells.
fn upsert(table: &str, fields: &[Field], columns: &Columns) -> String {
    let sets: Vec<String> = fields
        .iter()
        .filter(|(name, _)| !matches!(*name, "id" | "threadId"))
        .map(|(name, _)| format!(r#""{name}" = excluded."{name}""#))
        .collect();
    let (mut names, mut given) = (quoted(fields), values(table, fields, columns));
    let mut shape = recordset(fields);
    if columns.has(table, "rejoinderSequence") {
        names.push_str(r#", "rejoinderSequence""#);
        given.push_str(", r.sequence");
        shape.push_str(", sequence bigint");
    }
    if columns.has(table, "disableFeedback") {
        // An old table demands it.
        names.push_str(r#", "disableFeedback""#);
        given.push_str(", false");
    }
    format!(
        r#"
        insert into {table} as o ({names})
            select {given} from jsonb_to_recordset($1::jsonb) as r ({shape})
            on conflict (id) do update set "threadId" = excluded."threadId", {sets}
            where o."threadId" = excluded."threadId" or o."threadId" is null
        "#,
        sets = sets.join(", ")
    )
}

fn insert_threads(columns: &Columns) -> String {
    format!(
        r#"
        insert into threads ({names}, "userId")
            select {values}, (select id from users where identifier = r."userIdentifier")
            from jsonb_to_recordset($1::jsonb) as r ({shape})
            on conflict (id) do nothing
        "#,
        names = quoted(THREAD),
        values = values("threads", THREAD, columns),
        shape = recordset(THREAD)
    )
}

fn update_threads(columns: &Columns) -> String {
    format!(
        r#"
        update threads as t set name = r.name,
                tags = case when r."setTags" then {tags} else t.tags end,
                metadata = case when r."setMetadata" then {metadata} else t.metadata end
            from jsonb_to_recordset($1::jsonb) as r ({shape}, "setTags" boolean, "setMetadata" boolean)
            where t.id = {id} and t."userIdentifier" is not distinct from r."userIdentifier"
        "#,
        tags = columns.value("threads", "tags"),
        metadata = columns.value("threads", "metadata"),
        shape = recordset(THREAD),
        id = columns.value("threads", "id")
    )
}

fn change_steps(columns: &Columns) -> String {
    format!(
        r#"
        update steps as s set "end" = coalesce(s."end", {end}),
                streaming = case when r."end" is null then s.streaming else false end,
                "waitForAnswer" = case when r.answered then false else s."waitForAnswer" end
            from jsonb_to_recordset($1::jsonb) as r (id text, "end" text, answered boolean)
            where s.id = {id}
        "#,
        end = columns.value("steps", "end"),
        id = columns.value("steps", "id")
    )
}

/// $1 project, $2 threads, $3 threads as the thread table can hold them, $4 and $5 threads and ids of records, $6 and
/// $7 of executions, $8 steps, $9 elements, $10 feedback, $11 threads whose metadata change, $12 threads whose tree
/// is needed. The rows of threads are held, so that nobody gives one away before we have written.
fn read(columns: &Columns) -> String {
    let array = |table: &str, column: &str| format!("text[]::{}[]", columns.cast(table, column));
    format!(
        r#"
        select
            (select coalesce(json_agg(json_build_array(t.id, t."userIdentifier", t.name,
                    case when t.id::text = any ($11::text[]) then t.metadata::text end,
                    case when c.step_count is null
                        then (select count(*) from steps where "threadId" = t.of) else 0 end,
                    case when c.step_count is null
                        then (select max("createdAt"::text collate "C") from steps where "threadId" = t.of) end)), '[]')
                from (select id, id::{step_thread} as of, "userIdentifier", name, metadata from threads
                    where id = any ($3::{thread}) for share) as t
                left join rejoinder_cursors as c on c.project_id = $1 and c.thread_id = t.id::text)::text,
            (select coalesce(json_agg(thread_id), '[]') from rejoinder_tombstones
                where project_id = $1 and thread_id = any ($2::text[]))::text,
            (select coalesce(json_agg(json_build_array(r.thread_id, r.record_id, encode(r.content_hash, 'hex'),
                    r.sequence, case when r.quarantined_at is null then 0 else 1 end)), '[]')
                from unnest($4::text[], $5::text[]) as j (thread, id)
                join rejoinder_records as r
                    on r.project_id = $1 and r.thread_id = j.thread and r.record_id = j.id)::text,
            (select coalesce(json_agg(json_build_array(e.thread_id, e.execution_id, e.settled_by)), '[]')
                from unnest($6::text[], $7::text[]) as j (thread, id)
                join rejoinder_executions as e
                    on e.project_id = $1 and e.thread_id = j.thread and e.execution_id = j.id)::text,
            (select coalesce(json_agg(json_build_array(id, "threadId")), '[]') from steps
                where id = any ($8::{step}))::text,
            (select coalesce(json_agg(json_build_array(id, "threadId")), '[]') from elements
                where id = any ($9::{element}) and "threadId" is not null)::text,
            (select coalesce(json_agg(json_build_array(id, "threadId")), '[]') from feedbacks
                where id = any ($10::{feedback}))::text,
            (select coalesce(json_agg(json_build_array("threadId", id, "parentId")), '[]') from steps
                where "threadId" = any ($12::{step_threads}))::text
        "#,
        thread = array("threads", "id"),
        step = array("steps", "id"),
        element = array("elements", "id"),
        feedback = array("feedbacks", "id"),
        step_threads = array("steps", "threadId"),
        step_thread = columns.cast("steps", "threadId"),
    )
}
