//! What a person would see of one copy of an environment: the state of a native one as plain data, without colours
//! or pixels; the picture that an environment of Python draws of itself.
//!
//! Observations are made for networks and leave out what a picture needs: a
//! FrozenLake observation is a bare number that doesn't know its map. A view
//! is exact, so two states that differ in anything that matters give views
//! that differ.

use crate::photo::Photo;

/// One copy as a person would see it. Lengths, angles (radians) and velocities
/// are those of the environment's own physics; rows count from the top and
/// columns from the left.
#[derive(Clone, Debug, PartialEq)]
pub enum View {
    /// A cart with a pole; the track and the angle at which the pole counts as
    /// fallen are [`crate::classic::cart_pole::POSITION_LIMIT`] and
    /// [`crate::classic::cart_pole::ANGLE_LIMIT`].
    CartPole {
        /// Of the cart; 0 is the middle of the track.
        position: f64,
        /// Of the cart.
        velocity: f64,
        /// Of the pole; 0 is upright, positive leans to the right.
        angle: f64,
        /// Of the pole.
        angular_velocity: f64,
    },
    /// Two links of length 1, the first hanging from a fixed joint. The goal is a
    /// tip higher than 1 above that joint.
    Acrobot {
        /// Of the first link; 0 hangs down, positive turns counter-clockwise.
        first_angle: f64,
        /// Of the second link against the first; 0 goes straight on.
        second_angle: f64,
        /// Of the first link.
        first_velocity: f64,
        /// Of the second link against the first.
        second_velocity: f64,
    },
    /// A car in the valley of height sin(3 · position), from −1.2 to 0.6.
    MountainCar {
        /// Along the ground.
        position: f64,
        /// Along the ground.
        velocity: f64,
        /// Where the flag stands.
        goal_position: f64,
        /// The push may have any strength.
        continuous: bool,
    },
    /// A pole of length 1 that turns around a fixed end.
    Pendulum {
        /// 0 is upright, positive turns counter-clockwise; not wrapped.
        angle: f64,
        /// At most 8 either way.
        angular_velocity: f64,
    },
    /// A walker on a lake.
    FrozenLake {
        /// Height of the map.
        rows: usize,
        /// Width of the map.
        columns: usize,
        /// The map, row after row.
        tiles: Vec<Tile>,
        /// Moves may go to the side.
        slippery: bool,
        /// The walker's row.
        row: usize,
        /// The walker's column.
        column: usize,
    },
    /// A walker on a cliff: start at the bottom left, goal at the bottom right,
    /// and everything between the two is the drop.
    CliffWalking {
        /// Height of the map.
        rows: usize,
        /// Width of the map.
        columns: usize,
        /// Moves may go to the side.
        slippery: bool,
        /// The walker's row.
        row: usize,
        /// The walker's column.
        column: usize,
    },
    /// A taxi in a town of five rows and five columns. Where the four places and
    /// the walls are say [`crate::toy::taxi::PLACES`] and
    /// [`crate::toy::taxi::WALLS_EAST`].
    Taxi {
        /// The taxi's row.
        row: usize,
        /// The taxi's column.
        column: usize,
        passenger: Passenger,
        /// Which of the four places the passenger wants to reach.
        destination: usize,
        /// Moves may drift to the side.
        raining: bool,
        /// The passenger will still change their mind.
        undecided: bool,
    },
    /// A game of cards.
    Blackjack {
        /// What the player's hand counts, a usable ace as 11; over 21 is bust.
        player_total: u8,
        /// How many cards the player holds.
        player_cards: u8,
        /// An ace in the player's hand counts as 11.
        usable_ace: bool,
        /// The dealer's open card; an ace is 1, a face is 10.
        dealer_shows: u8,
        /// The dealer's second card, face down until the dealer has played.
        dealer_hides: u8,
        /// What the dealer's hand counts in the end; over 21 is bust. Known once
        /// the player has stuck, which only a final view shows.
        dealer_total: Option<u8>,
    },
    /// An environment without its own picture: its observation row.
    Observation(Vec<f32>),
    /// A picture that the environment drew of itself.
    Photo(Photo),
}

/// A piece of a lake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tile {
    /// Where an episode starts.
    Start,
    /// Ice that holds.
    Frozen,
    /// Falling in ends the episode.
    Hole,
    /// Reaching it ends the episode.
    Goal,
}

/// Where the passenger of a taxi is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passenger {
    /// At one of the four places.
    At(usize),
    /// On board.
    InTaxi,
}

/// What a world that is one table looks like, apart from where its walker is.
#[derive(Clone, Debug, Default)]
pub(crate) enum Scene {
    /// Nothing is known but the number of the state.
    #[default]
    Plain,
    Lake {
        columns: usize,
        tiles: Vec<Tile>,
        slippery: bool,
    },
    Cliff {
        rows: usize,
        columns: usize,
        slippery: bool,
    },
}

impl Scene {
    /// The scene with its walker in a state.
    pub(crate) fn view(&self, state: usize) -> View {
        match self {
            Self::Plain => View::Observation(vec![state as f32]),
            Self::Lake { columns, tiles, slippery } => View::FrozenLake {
                rows: tiles.len() / columns,
                columns: *columns,
                tiles: tiles.clone(),
                slippery: *slippery,
                row: state / columns,
                column: state % columns,
            },
            Self::Cliff { rows, columns, slippery } => View::CliffWalking {
                rows: *rows,
                columns: *columns,
                slippery: *slippery,
                row: state / columns,
                column: state % columns,
            },
        }
    }
}
