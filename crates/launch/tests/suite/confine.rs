//! Steps that try to escape, steps that won't end, and what they can see.

pub(crate) mod ends;
pub(crate) mod escapes;
pub(crate) mod levels;
mod stage;
pub(crate) mod tree;
