//! Pages and their sockets, with a session that is played.

mod door;
mod end;
mod house;
mod load;
mod proof;
mod proxy;
mod talk;
