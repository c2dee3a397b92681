-- Tables as an operator makes them who follows Chainlit's documentation for its SQLAlchemy layer, on PostgreSQL or SQLite
-- (which takes any type's name), in a database that is some years old: the documentation never had autoCollapse, which
-- Chainlit writes since 2.10, nor autoPlay and playerConfig; and disableFeedback was there once, not null.

create table if not exists users (
  "id" uuid primary key,
  "identifier" text not null unique,
  "metadata" jsonb not null,
  "createdAt" text
);

create table if not exists threads (
  "id" uuid primary key,
  "createdAt" text,
  "name" text,
  "userId" uuid,
  "userIdentifier" text,
  "tags" text[],
  "metadata" jsonb,
  foreign key ("userId") references users ("id") on delete cascade
);

create table if not exists steps (
  "id" uuid primary key,
  "name" text not null,
  "type" text not null,
  "threadId" uuid not null,
  "parentId" uuid,
  "disableFeedback" boolean not null,
  "streaming" boolean not null,
  "waitForAnswer" boolean,
  "isError" boolean,
  "metadata" jsonb,
  "tags" text[],
  "input" text,
  "output" text,
  "createdAt" text,
  "command" text,
  "start" text,
  "end" text,
  "generation" jsonb,
  "showInput" text,
  "language" text,
  "indent" int,
  "defaultOpen" boolean,
  foreign key ("threadId") references threads ("id") on delete cascade
);

create table if not exists elements (
  "id" uuid primary key,
  "threadId" uuid,
  "type" text,
  "url" text,
  "chainlitKey" text,
  "name" text not null,
  "display" text,
  "objectKey" text,
  "size" text,
  "page" int,
  "language" text,
  "forId" uuid,
  "mime" text,
  "props" jsonb,
  foreign key ("threadId") references threads ("id") on delete cascade
);

create table if not exists feedbacks (
  "id" uuid primary key,
  "forId" uuid not null,
  "threadId" uuid not null,
  "value" int not null,
  "comment" text,
  foreign key ("threadId") references threads ("id") on delete cascade
);
