-- The tables of Chainlit's SQLAlchemy layer on PostgreSQL, with every column that 2.12.0 writes in a run of the reference app
-- (the documented schema has no autoCollapse: see tests/chainlit/database/documented.sql).

create table users (
  id uuid primary key,
  identifier text not null unique,
  metadata jsonb not null,
  "createdAt" text
);

create table threads (
  id uuid primary key,
  "createdAt" text,
  name text,
  "userId" uuid references users (id) on delete cascade,
  "userIdentifier" text,
  tags text[],
  metadata jsonb
);

create table steps (
  id uuid primary key,
  name text not null,
  type text not null,
  "threadId" uuid not null references threads (id) on delete cascade,
  "parentId" uuid,
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
  modes jsonb
);

create table elements (
  id uuid primary key,
  "threadId" uuid references threads (id) on delete cascade,
  type text,
  url text,
  "chainlitKey" text,
  name text not null,
  display text,
  "objectKey" text,
  size text,
  page int,
  language text,
  "forId" uuid,
  mime text,
  props jsonb
);

create table feedbacks (
  id uuid primary key,
  "forId" uuid not null,
  "threadId" uuid not null references threads (id) on delete cascade,
  value int not null,
  comment text
);
