//! The statements of an append on SQLite. Rows come as JSON arrays of objects, so a batch of any size is the same
//! few statements; what is written goes to the driver in few texts, since each hop to its thread costs more than a row.

/// $1 project, $2 threads, $3 records, $4 executions, $5 steps, $6 elements, $7 feedback, $8 threads whose metadata
/// change, $9 threads whose tree is needed.
pub(super) const READ: &str = r#"
select
    (select json_group_array(json_array(c.thread_id, c.epoch, c.latest_sequence, hex(c.mark), c.incomplete_why,
            c.step_count, c.step_newest, 0))
        from json_each($2) as j
        cross join rejoinder_cursors as c on c.project_id = $1 and c.thread_id = j.value),
    (select json_group_array(json_array(t.id, t."userIdentifier", t.name,
            case when t.id in (select value from json_each($8)) then cast(t.metadata as text) end,
            case when c.step_count is null then (select count(*) from steps where "threadId" = t.id) else 0 end,
            case when c.step_count is null then (select max("createdAt") from steps where "threadId" = t.id) end))
        from json_each($2) as j
        cross join threads as t on t.id = j.value
        left join rejoinder_cursors as c on c.project_id = $1 and c.thread_id = t.id),
    (select json_group_array(x.thread_id)
        from json_each($2) as j
        cross join rejoinder_tombstones as x on x.project_id = $1 and x.thread_id = j.value),
    (select json_group_array(json_array(r.thread_id, r.record_id, hex(r.content_hash), r.sequence,
            r.quarantined_at is not null))
        from json_each($3) as j
        cross join rejoinder_records as r
            on r.project_id = $1 and r.thread_id = j.value ->> 0 and r.record_id = j.value ->> 1),
    (select json_group_array(json_array(e.thread_id, e.execution_id, e.settled_by))
        from json_each($4) as j
        cross join rejoinder_executions as e
            on e.project_id = $1 and e.thread_id = j.value ->> 0 and e.execution_id = j.value ->> 1),
    (select json_group_array(json_array(s.id, s."threadId"))
        from json_each($5) as j cross join steps as s on s.id = j.value),
    (select json_group_array(json_array(e.id, e."threadId"))
        from json_each($6) as j cross join elements as e on e.id = j.value and e."threadId" is not null),
    (select json_group_array(json_array(f.id, f."threadId"))
        from json_each($7) as j cross join feedbacks as f on f.id = j.value),
    (select json_group_array(json_array(s."threadId", s.id, s."parentId"))
        from json_each($9) as j cross join steps as s on s."threadId" = j.value)
"#;

/// What comes before records and steps ([`super::insert`]). $1 project, $2 instance, $3 now, then lists of
/// [`super::super::writes::Writes`]: cursors, executions, new and changed threads, deleted steps, partials that are
/// finished, runs that were ended; then the end of a lease that begins now.
/// `or fail`: an error ends the transaction or goes back to a savepoint anyway, so no statement needs a journal of its
/// own, which costs a tenth of the time.
/// Parameters are spelled `$1`: with `?9` the driver counts eight that a statement does not use, and loses its place.
pub(super) const BEFORE: &str = r#"
insert or fail into rejoinder_cursors (project_id, thread_id, epoch, latest_sequence, mark, incomplete_at, incomplete_why,
        step_count, step_newest, created_at, updated_at)
    select $1, value ->> 'thread', value ->> 'epoch', value ->> 'latest', unhex(value ->> 'mark'),
        case when value ->> 'incomplete' is not null then $3 end, value ->> 'incomplete',
        value ->> 'step_count', value ->> 'step_newest', $3, $3
    from json_each($4) where true
    on conflict (project_id, thread_id) do update set latest_sequence = excluded.latest_sequence,
        mark = excluded.mark, incomplete_at = coalesce(incomplete_at, excluded.incomplete_at),
        incomplete_why = excluded.incomplete_why, step_count = excluded.step_count,
        step_newest = excluded.step_newest, updated_at = excluded.updated_at;

insert or fail into rejoinder_executions (project_id, thread_id, execution_id, instance_id, state, trigger_id, started_at,
        settled_at, settled_by, reason, lease_until)
    select $1, value ->> 'thread', value ->> 'id', $2, value ->> 'state', value ->> 'trigger',
        value ->> 'started_at', case when value ->> 'settled_by' is not null then $3 end, value ->> 'settled_by',
        value ->> 'reason', $11
    from json_each($5) where true
    on conflict (project_id, thread_id, execution_id) do update set state = excluded.state,
        settled_at = excluded.settled_at, settled_by = excluded.settled_by, reason = excluded.reason
    where rejoinder_executions.settled_at is null;

insert or fail into threads (id, "createdAt", name, "userId", "userIdentifier", tags, metadata)
    select value ->> 'id', value ->> 'createdAt', value ->> 'name',
        (select id from users where identifier = value ->> 'userIdentifier'), value ->> 'userIdentifier', value ->> 'tags', value ->> 'metadata'
    from json_each($6);

update threads set name = j.value ->> 'name',
        tags = case when j.value ->> 'setTags' then j.value ->> 'tags' else tags end,
        metadata = case when j.value ->> 'setMetadata' then j.value ->> 'metadata' else metadata end
    from json_each($7) as j where threads.id = j.value ->> 'id';

delete from elements where "forId" in (select value ->> 'id' from json_each($8))
    and "threadId" in (select value ->> 'thread' from json_each($8));
delete from feedbacks where "forId" in (select value ->> 'id' from json_each($8));
delete from steps where id in (select value ->> 'id' from json_each($8))
    and "threadId" in (select value ->> 'thread' from json_each($8));

delete from rejoinder_partials where project_id = $1 and (thread_id, step_id) in
    (select value ->> 'thread', value ->> 'id' from json_each($9));
delete from rejoinder_partials where project_id = $1 and (thread_id, execution_id) in
    (select value ->> 'thread', value ->> 'id' from json_each($10));
"#;

/// What comes after them, and seldom. $1 project, $2 now, then changed steps, deleted and written elements, deleted votes,
/// steps that were voted on, votes, rejects.
pub(super) const AFTER: &str = r#"
update steps set "end" = coalesce("end", j.value ->> 'end'),
        streaming = case when j.value ->> 'end' is null then streaming else 0 end,
        "waitForAnswer" = case when j.value ->> 'answered' then 0 else "waitForAnswer" end
    from json_each($3) as j where steps.id = j.value ->> 'id';

delete from elements where id in (select value from json_each($4));
insert or fail into elements (id, "threadId", type, url, "chainlitKey", name, display, "objectKey", size, page, language,
        "forId", mime, props, "autoPlay", "playerConfig")
    select value ->> 'id', value ->> 'threadId', value ->> 'type', value ->> 'url', value ->> 'chainlitKey',
        value ->> 'name', value ->> 'display', value ->> 'objectKey', value ->> 'size', value ->> 'page',
        value ->> 'language', value ->> 'forId', value ->> 'mime', value ->> 'props', value ->> 'autoPlay',
        value ->> 'playerConfig'
    from json_each($5) where true
    on conflict (id) do update set "threadId" = coalesce("threadId", excluded."threadId"), type = excluded.type, url = excluded.url, "chainlitKey" = excluded."chainlitKey",
        name = excluded.name, display = excluded.display, "objectKey" = excluded."objectKey", size = excluded.size,
        page = excluded.page, language = excluded.language, "forId" = excluded."forId", mime = excluded.mime,
        props = excluded.props, "autoPlay" = excluded."autoPlay", "playerConfig" = excluded."playerConfig";

delete from feedbacks where id in (select value from json_each($6));
delete from feedbacks where "forId" in (select value from json_each($7));
insert or fail into feedbacks (id, "forId", "threadId", value, comment)
    select value ->> 'id', value ->> 'forId', value ->> 'threadId', value ->> 'value', value ->> 'comment'
    from json_each($8) where true
    on conflict (id) do update set "forId" = excluded."forId", value = excluded.value, comment = excluded.comment;

insert or fail into rejoinder_rejects (project_id, thread_id, record_id, code, detail, body, rejected_at)
    select $1, value ->> 'thread', value ->> 'record', value ->> 'code', value ->> 'detail', value ->> 'body', $2
    from json_each($9) where true
    on conflict (project_id, thread_id, record_id) do nothing;
"#;
