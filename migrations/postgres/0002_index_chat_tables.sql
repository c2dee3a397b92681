-- Chainlit's tables come without indexes: the list of somebody's threads and the steps of a thread must not scan.
create index if not exists rejoinder_threads_by_owner on threads ("userIdentifier");
create index if not exists rejoinder_steps_by_thread on steps ("threadId", "createdAt" collate "C");
create index if not exists rejoinder_elements_by_thread on elements ("threadId");
create index if not exists rejoinder_elements_by_step on elements ("forId");
create index if not exists rejoinder_feedbacks_by_step on feedbacks ("forId");
create index if not exists rejoinder_feedbacks_by_thread on feedbacks ("threadId");
