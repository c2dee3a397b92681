-- The chat itself, in the tables and columns of Chainlit's SQLAlchemy layer, so that either program can open a
-- database of the other. An existing table stays as it is; columns that it lacks are added by the code beside this.
-- No foreign keys: both programs delete by hand what hangs on a row, and checking them journals every statement.
create table if not exists users (
    id text primary key,
    identifier text not null unique,
    metadata text not null,
    "createdAt" text
);

create table if not exists threads (
    id text primary key,
    "createdAt" text,
    name text,
    "userId" text,
    "userIdentifier" text,
    tags text,
    metadata text
);

create table if not exists steps (
    id text primary key,
    name text not null,
    type text not null,
    "threadId" text not null,
    "parentId" text,
    streaming boolean not null,
    "waitForAnswer" boolean,
    "isError" boolean,
    metadata text,
    tags text,
    input text,
    output text,
    "createdAt" text,
    command text,
    start text,
    "end" text,
    generation text,
    "showInput" text,
    language text,
    indent int,
    "defaultOpen" boolean,
    "autoCollapse" boolean,
    modes text
);

create table if not exists elements (
    id text primary key,
    "threadId" text,
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
    props text,
    "autoPlay" boolean,
    "playerConfig" text
);

create table if not exists feedbacks (
    id text primary key,
    "forId" text not null,
    "threadId" text not null,
    value int not null,
    comment text
);
