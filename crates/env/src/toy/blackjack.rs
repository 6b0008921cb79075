//! Blackjack with an endless deck (Sutton and Barto, example 5.1): hit for
//! another card, or stick and let the dealer draw to 17.

use rlxp_types::Stream;

use crate::native::Dynamics;
use crate::space::Space;
use crate::state::{StateReader, StateWriter};
use crate::vector::BadState;
use crate::view::View;

const DECK: [u8; 13] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10];

/// Cards in one hand; an ace is drawn as 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Hand {
    sum: u8,
    cards: u8,
    ace: bool,
}

impl Hand {
    fn add(&mut self, card: u8) {
        self.sum += card;
        self.cards += 1;
        self.ace |= card == 1;
    }

    fn usable_ace(self) -> bool {
        self.ace && self.sum + 10 <= 21
    }

    fn total(self) -> u8 {
        self.sum + if self.usable_ace() { 10 } else { 0 }
    }

    /// The total, or 0 when it is over 21.
    fn score(self) -> u8 {
        if self.total() > 21 { 0 } else { self.total() }
    }

    /// An ace and a ten as the first two cards.
    fn natural(self) -> bool {
        self.cards == 2 && self.ace && self.sum == 11
    }
}

/// One table.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Game {
    player: Hand,
    dealer_shows: u8,
    dealer_hides: u8,
    /// The dealer's final hand, for display; never saved, since a game that is
    /// over restarts within its step.
    dealer_total: Option<u8>,
}

/// Blackjack-v1 over many copies.
#[derive(Clone, Debug)]
pub struct Blackjack {
    games: Vec<Game>,
    natural: bool,
    sutton_barto: bool,
}

fn draw(stream: &mut Stream) -> u8 {
    DECK[stream.below(DECK.len() as u32) as usize]
}

impl Blackjack {
    /// `copies` tables. With `natural`, a win by ace and ten pays 1.5. With `sutton_barto`, that hand wins at once
    /// unless the dealer has it too, and `natural` is ignored.
    pub fn new(copies: usize, natural: bool, sutton_barto: bool) -> Self {
        Self { games: vec![Game::default(); copies], natural, sutton_barto }
    }

    /// Deals a fresh game, two cards to the dealer and then two to the
    /// player, from any source of cards.
    pub fn deal(&mut self, copy: usize, mut card: impl FnMut() -> u8) {
        let game = &mut self.games[copy];
        *game = Game { dealer_shows: card(), dealer_hides: card(), ..Game::default() };
        game.player.add(card());
        game.player.add(card());
    }

    /// Plays one action with cards from any source: the reward, and whether the game is over.
    #[inline]
    pub fn play(&mut self, copy: usize, hit: bool, mut card: impl FnMut() -> u8) -> (f32, bool) {
        let Game { player, dealer_shows, dealer_hides, dealer_total } = &mut self.games[copy];
        if hit {
            player.add(card());
            let bust = player.total() > 21;
            return (if bust { -1.0 } else { 0.0 }, bust);
        }
        let mut dealer = Hand::default();
        dealer.add(*dealer_shows);
        dealer.add(*dealer_hides);
        let dealer_natural = dealer.natural();
        while dealer.total() < 17 {
            dealer.add(card());
        }
        *dealer_total = Some(dealer.total());
        let reward = match player.score().cmp(&dealer.score()) {
            std::cmp::Ordering::Less => -1.0,
            std::cmp::Ordering::Equal => 0.0,
            std::cmp::Ordering::Greater => 1.0,
        };
        let reward = if self.sutton_barto && player.natural() && !dealer_natural {
            1.0
        } else if !self.sutton_barto && self.natural && player.natural() && reward == 1.0 {
            1.5
        } else {
            reward
        };
        (reward, true)
    }
}

impl Dynamics for Blackjack {
    const KIND: &'static str = "Blackjack";

    fn copies(&self) -> usize {
        self.games.len()
    }

    fn observation_space(&self) -> Space {
        Space::MultiDiscrete { nvec: vec![32, 11, 2] }
    }

    fn action_space(&self) -> Space {
        Space::Discrete { n: 2 }
    }

    fn reset_one(&mut self, copy: usize, stream: &mut Stream) {
        self.deal(copy, || draw(stream));
    }

    fn step(
        &mut self,
        actions: &[f32],
        streams: &mut [Stream],
        rewards: &mut [f32],
        terminated: &mut [bool],
    ) {
        for (copy, (action, stream)) in actions.iter().zip(streams).enumerate() {
            (rewards[copy], terminated[copy]) = self.play(copy, *action == 1.0, || draw(stream));
        }
    }

    #[inline]
    fn observe_one(&self, copy: usize, row: &mut [f32]) {
        let Game { player, dealer_shows, .. } = self.games[copy];
        row.copy_from_slice(&[player.total(), dealer_shows, u8::from(player.usable_ace())].map(f32::from));
    }

    fn view(&self, copy: usize) -> View {
        let Game { player, dealer_shows, dealer_hides, dealer_total } = self.games[copy];
        View::Blackjack {
            player_total: player.total(),
            player_cards: player.cards,
            usable_ace: player.usable_ace(),
            dealer_shows,
            dealer_hides,
            dealer_total,
        }
    }

    fn save(&self, writer: &mut StateWriter) {
        for Game { player, dealer_shows, dealer_hides, .. } in &self.games {
            for byte in [player.sum, player.cards, u8::from(player.ace), *dealer_shows, *dealer_hides] {
                writer.u8(byte);
            }
        }
    }

    fn restore(&mut self, reader: &mut StateReader<'_>) -> Result<(), BadState> {
        for game in &mut self.games {
            // A saved player is never bust: such a game restarted within its step.
            game.player.sum = reader.u8_to(21, "the player's sum")?;
            game.player.cards = reader.u8_to(21, "the number of cards")?;
            game.player.ace = reader.u8_to(1, "a flag")? == 1;
            for card in [&mut game.dealer_shows, &mut game.dealer_hides] {
                *card = reader.u8_to(10, "a card")?;
                if *card == 0 {
                    return Err(BadState("a card is 0".to_owned()));
                }
            }
        }
        Ok(())
    }
}
