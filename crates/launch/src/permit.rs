//! The permission to start training or code of a project.
//!
//! Every function of this crate that does so asks for a [`Permit`], so no command can forget to ask whether a governed
//! study allows it. Only the guard of governed folders issues one (`ops::studies::files::guard`); a test of the
//! workspace makes sure of that.

/// Says that the guard allowed to start training or code of a project.
#[derive(Debug)]
pub struct Permit(());

impl Permit {
    /// A permit. Nothing but the guard of governed folders calls this.
    #[must_use]
    pub fn issue() -> Self {
        Self(())
    }
}
