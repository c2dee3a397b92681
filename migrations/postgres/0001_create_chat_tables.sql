-- The chat itself, in the tables and columns of Chainlit's SQLAlchemy layer, so that either program can open a
-- database of the other. An existing table stays as it is; columns that it lacks are added by the code beside this.
-- PostgreSQL has no row number to order equal times by, so steps and elements keep the sequence they came with.
create table if not exists users (
    id text primary key,
    identifier text not null unique,
    metadata jsonb not null,
    "createdAt" text
);

create table if not exists threads (
    id text primary key,
    "createdAt" text,
    name text,
    "userId" text references users (id) on delete cascade,
    "userIdentifier" text,
    tags text[],
    metadata jsonb
);

create table if not exists steps (
    id text primary key,
    name text not null,
    type text not null,
    "threadId" text not null references threads (id) on delete cascade,
    "parentId" text,
    streaming boolean not null,
    "waitForAnswer" boolean,
    "isError" boolean,
    metadata jsonb,
    tags text[],
    input text,
    output text,
    "createdAt" text,
    command text,
    start text,
    "end" text,
    generation jsonb,
    "showInput" text,
    language text,
    indent int,
    "defaultOpen" boolean,
    "autoCollapse" boolean,
    modes jsonb,
    "rejoinderSequence" bigint
);

create table if not exists elements (
    id text primary key,
    "threadId" text references threads (id) on delete cascade,
    type text,
    url text,
    "chainlitKey" text,
    name text not null,
    display text,
    "objectKey" text,
    size text,
    page int,
    language text,
    "forId" text,
    mime text,
    props jsonb,
    "autoPlay" boolean,
    "playerConfig" jsonb,
    "rejoinderSequence" bigint
);

create table if not exists feedbacks (
    id text primary key,
    "forId" text not null,
    "threadId" text not null references threads (id) on delete cascade,
    value int not null,
    comment text
);
