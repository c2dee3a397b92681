//! The session layer alone: no socket, no database, a clock that the test moves.

mod ask;
mod bounds;
mod edit;
mod errand;
mod histories;
mod order;
mod promises;
mod resume;
mod world;
