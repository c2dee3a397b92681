//! The suite that every store passes. A new backend passes it as it is.

mod order;
