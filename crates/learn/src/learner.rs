//! What every learning algorithm is to the rest of the program.

/// How a learner goes on from a saved state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resumed {
    /// As if it had never stopped.
    Exactly,
    /// Its environments can't save their state: every copy starts a new episode.
    WithNewEpisodes,
}
