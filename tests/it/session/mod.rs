//! The session layer alone: no socket, no database, a clock that the test moves.

mod histories;
mod promises;
mod resume;
mod world;
