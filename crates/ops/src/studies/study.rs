//! `rlx study`: opening, auditing, following and closing a study.

pub mod audit;
pub mod end;
pub mod export;
pub mod init;
pub mod next;
pub mod registry;
pub mod status;
