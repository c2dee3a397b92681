-- Files: whose they are and whether they are kept. Their bytes are in a folder or a bucket, under their ids.
create table rejoinder_files (
    project_id text not null,
    file_id text not null,
    -- The hash of the tab's id, as in rejoinder_sessions; never the id itself.
    session text not null,
    thread_id text not null,
    name text not null,
    mime text not null,
    size integer not null check (size >= 0),
    created_at integer not null,
    -- 0 while its bytes are being written, and again while they are being removed.
    kept integer not null default 0,
    -- Since when nobody refers to it.
    loose_since integer,
    primary key (project_id, file_id)
) strict, without rowid;
create index rejoinder_files_by_session on rejoinder_files (project_id, session);

-- Which element refers to a file.
create index if not exists rejoinder_elements_by_file on elements ("chainlitKey");
