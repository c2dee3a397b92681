-- Records, the numbering of each thread, runs, and what must survive beside them. Times are microseconds since 1970.
create table rejoinder_project (
    project_id text primary key,
    created_at integer not null
) strict;

-- One row a thread that has records. It is locked before any record row is touched.
create table rejoinder_cursors (
    project_id text not null,
    thread_id text not null,
    epoch text not null,
    latest_sequence integer not null default 0 check (latest_sequence >= 0),
    mark blob not null,
    incomplete_at integer,
    incomplete_why text,
    step_count integer,
    step_newest text,
    created_at integer not null,
    updated_at integer not null,
    primary key (project_id, thread_id)
) strict, without rowid;

create table rejoinder_records (
    project_id text not null,
    thread_id text not null,
    record_id text not null,
    sequence integer check (sequence is null or sequence >= 1),
    execution_id text,
    origin_execution_id text,
    entity_id text,
    record_type text not null,
    record_source text not null
        check (record_source in ('user', 'assistant', 'system', 'tool', 'app', 'watchdog')),
    attributes text not null,
    content_hash blob not null,
    mark blob,
    produced_at integer not null,
    created_at integer not null,
    quarantined_at integer,
    erased_at integer,
    primary key (project_id, thread_id, record_id),
    check (not (quarantined_at is not null and sequence is not null))
) strict;
create unique index rejoinder_records_by_sequence on rejoinder_records (project_id, thread_id, sequence)
    where sequence is not null;

create table rejoinder_executions (
    project_id text not null,
    thread_id text not null,
    execution_id text not null,
    instance_id text not null,
    state text not null default 'running' check (state in ('running', 'stopped', 'failed', 'lost')),
    trigger_id text,
    started_at integer not null,
    settled_at integer,
    settled_by text check (settled_by in ('runner', 'user', 'watchdog')),
    reason text,
    primary key (project_id, thread_id, execution_id),
    check ((state = 'running') = (settled_at is null))
) strict, without rowid;
create index rejoinder_executions_running on rejoinder_executions (project_id, instance_id) where settled_at is null;

-- A step that is streaming, as it stood at most a second ago. Unnumbered; goes when its final record comes.
create table rejoinder_partials (
    project_id text not null,
    thread_id text not null,
    step_id text not null,
    execution_id text,
    instance_id text not null,
    step text not null,
    updated_at integer not null,
    primary key (project_id, thread_id, step_id)
) strict, without rowid;

-- Live tabs, for the process that comes after this one.
create table rejoinder_sessions (
    project_id text not null,
    hash text not null,
    thread_id text not null,
    owner text,
    greeted integer not null,
    stored integer not null,
    seen_at integer not null,
    primary key (project_id, hash)
) strict, without rowid;

-- What the database would not take: the reason why a thread says record_rejected.
create table rejoinder_rejects (
    project_id text not null,
    thread_id text not null,
    record_id text not null,
    code text not null,
    detail text,
    body text not null,
    rejected_at integer not null,
    primary key (project_id, thread_id, record_id)
) strict;

-- A deleted thread stays deleted.
create table rejoinder_tombstones (
    project_id text not null,
    thread_id text not null,
    deleted_at integer not null,
    primary key (project_id, thread_id)
) strict, without rowid;
