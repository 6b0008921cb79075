//! The only crate that starts a process
