//! What pages ask over plain HTTP.

mod body;
mod cors;
mod file;
mod health;
mod login;
mod page;
mod settings;
mod thread;
mod token;
mod translation;
mod upload;
