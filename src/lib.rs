//! rejoinder
