//! Files below HTTP: both storages, what goes and what stays, and how much memory it takes.

mod content;
mod memory;
mod storage;
mod sweep;
