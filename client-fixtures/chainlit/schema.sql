-- The tables of Chainlit's SQLAlchemy layer on SQLite, with every column that 2.12.0 writes in a run of the reference app
-- (the documented schema has no autoCollapse: see tests/chainlit/database/documented.sql).

create table users (
  id text primary key,
  identifier text not null unique,
  metadata text not null,
  "createdAt" text
);

create table threads (
  id text primary key,
  "createdAt" text,
  name text,
  "userId" text references users (id) on delete cascade,
  "userIdentifier" text,
  tags text,
  metadata text
);

create table steps (
  id text primary key,
  name text not null,
  type text not null,
  "threadId" text not null references threads (id) on delete cascade,
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

create table elements (
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
  props text
);

create table feedbacks (
  id text primary key,
  "forId" text not null,
  "threadId" text not null references threads (id) on delete cascade,
  value int not null,
  comment text
);
