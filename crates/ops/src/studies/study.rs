//! `rlx study`: opening, following and closing a study.

pub mod end;
pub mod export;
pub mod first_audit;
pub mod init;
pub mod next;
pub mod registry;
pub mod status;
