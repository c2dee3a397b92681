-- Until when a run counts as alive without a word from its process.
alter table rejoinder_executions add column lease_until integer;
