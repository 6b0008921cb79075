//! Whole runs under the supervisor: each limit ends a run for its own reason, and the files record what happened.

pub(crate) mod acts;
pub(crate) mod ends;
pub(crate) mod limits;
mod orders;
pub(crate) mod programs;

/// A secret, which the supervisor has in its environment.
pub(crate) const SECRET: (&str, &str) = (orders::SECRET_NAME, orders::SECRET);
