//! The store from outside: real folders, and disks in memory that fail on purpose.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
mod damage;
mod faults;
mod hostile;
mod index;
mod ledger_file;
mod oracles;
mod run_folder;
