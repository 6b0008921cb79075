//! What the process's exit code says, the same for every command.

/// The meaning of an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done, or the answer is yes.
    Yes,
    /// The answer is no: reproduction differs, damage was found.
    No,
    /// Wrong usage or an invalid config.
    Usage,
    /// Refused: a gate, a stale plan, a missing confirmation.
    Refused,
    /// The run failed.
    RunFailed,
    /// A defect of rlx itself.
    Bug,
    /// Storage failed: disk full, unreadable, read-only.
    Storage,
    /// Interrupted by the user.
    Interrupted,
}

impl Exit {
    /// The number that the process returns.
    pub fn code(self) -> u8 {
        match self {
            Exit::Yes => 0,
            Exit::No => 1,
            Exit::Usage => 2,
            Exit::Refused => 3,
            Exit::RunFailed => 4,
            Exit::Bug => 70,
            Exit::Storage => 74,
            Exit::Interrupted => 130,
        }
    }

    /// The meaning of a code, where it has one.
    pub fn from_code(code: i32) -> Option<Self> {
        [
            Exit::Yes,
            Exit::No,
            Exit::Usage,
            Exit::Refused,
            Exit::RunFailed,
            Exit::Bug,
            Exit::Storage,
            Exit::Interrupted,
        ]
        .into_iter()
        .find(|exit| i32::from(exit.code()) == code)
    }
}
