//! The shape of the workspace, held by tests. `docs/ARCHITECTURE.md` says why
//! it has this shape, `docs/promises.md` what is promised.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "these tests look at the sources themselves"
)]

mod dependencies;
mod licences;
mod modules;
mod output;
mod programs;
mod promises;
mod workspace;
