-- Until when a run counts as alive without a word from its process: a database may have several servers.
alter table rejoinder_executions add column lease_until timestamptz;
