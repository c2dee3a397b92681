//! Pages and their sockets, with a session that is played.

mod house;
mod talk;
