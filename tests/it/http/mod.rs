//! What pages ask over plain HTTP.

mod body;
mod cors;
mod element;
mod feedback;
mod file;
mod health;
mod login;
mod metrics;
mod page;
mod records;
mod settings;
mod share;
mod thread;
mod token;
mod translation;
mod upload;
