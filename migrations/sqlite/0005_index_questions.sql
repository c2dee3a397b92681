-- A snapshot tells which questions are open: it must not look through every record of the thread for them.
create index rejoinder_records_of_questions on rejoinder_records (project_id, thread_id, entity_id)
    where record_type in ('interaction_request', 'interaction_response');
