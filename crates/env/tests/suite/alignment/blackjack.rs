//! Blackjack: the same cards on both sides must give the same game.

use rlxp_env::toy::Blackjack;
use rlxp_env::{Dynamics, KwargInfo, NATIVE};
use rlxp_types::Stream;
use serde_json::{Value, json};

use super::oracle::ask;

const HANDS: usize = 5_000;

/// Cards and actions of one game, drawn so that naturals are common.
fn hand(stream: &mut Stream) -> (Vec<u8>, Vec<u8>) {
    let mut card = || match stream.below(4) {
        0 => [1, 10][stream.below(2) as usize],
        _ => (stream.below(13) as u8 + 1).min(10),
    };
    let cards = (0..44).map(|_| card()).collect();
    // Sticking ends a game, so hits come first.
    let hits = stream.below(5) as usize;
    (cards, (0..20).map(|step| u8::from(step < hits)).collect())
}

fn observe(game: &Blackjack) -> [u8; 3] {
    let mut row = [0.0; 3];
    game.observe_one(0, &mut row);
    row.map(|part| part as u8)
}

/// Our game in the form of the oracle's answer.
fn play(natural: bool, sab: bool, cards: &[u8], actions: &[u8]) -> Value {
    let mut game = Blackjack::new(1, natural, sab);
    let mut taken = 0;
    let mut draw = || {
        taken += 1;
        cards[taken - 1]
    };
    game.deal(0, &mut draw);
    let mut steps = vec![(observe(&game), 0.0, false)];
    let mut counts = vec![4];
    for action in actions {
        let mut used = 0;
        let (reward, over) = game.play(0, *action == 1, || {
            used += 1;
            draw()
        });
        steps.push((observe(&game), reward, over));
        counts.push(counts.last().unwrap() + used);
        if over {
            break;
        }
    }
    let rows = steps.iter().zip(&counts);
    rows.map(|((observation, reward, over), taken)| json!([observation, f64::from(*reward), over, taken]))
        .collect()
}

#[test]
fn the_same_cards_give_the_same_games() {
    let mut stream = Stream::new(2, "test", 0);
    let hands: Vec<_> = (0..HANDS).map(|_| hand(&mut stream)).collect();
    let variants = [(false, true), (false, false), (true, false), (true, true)];
    let hands_json: Vec<Value> =
        hands.iter().map(|(cards, actions)| json!({"cards": cards, "actions": actions})).collect();
    let cases: Vec<Value> = variants
        .iter()
        .map(|(natural, sab)| json!({"kwargs": {"natural": natural, "sab": sab}, "hands": hands_json}))
        .collect();
    let theirs = ask("blackjack.py", &[], &json!({"cases": cases}));
    let mut paid_more = 0;
    for ((natural, sab), theirs) in variants.iter().zip(theirs["cases"].as_array().unwrap()) {
        for ((cards, actions), theirs) in hands.iter().zip(theirs.as_array().unwrap()) {
            let ours = play(*natural, *sab, cards, actions);
            assert_eq!(&ours, theirs, "natural {natural}, sab {sab}, cards {cards:?}, actions {actions:?}");
            paid_more += usize::from(ours.as_array().unwrap().last().unwrap()[1] == 1.5);
        }
    }
    assert!(paid_more > 50, "naturals that pay 1.5 are among the hands: {paid_more}");
    let info = NATIVE.find("Blackjack-v1").unwrap();
    assert_eq!(json!(info.max_episode_steps), theirs["max_episode_steps"]);
    assert_eq!(json!(info.reward_threshold), theirs["reward_threshold"]);
    for KwargInfo { name, default, .. } in info.kwargs {
        assert_eq!(*default, theirs["defaults"][*name].to_string(), "default of {name}");
    }
    check_deck(&theirs["deck"]);
}

/// Cards come up as often as they occur in Gymnasium's deck.
fn check_deck(deck: &Value) {
    const DEALS: usize = 26_000;
    let mut stream = Stream::new(3, "env", 0);
    let mut game = Blackjack::new(1, false, true);
    let mut counts = [0usize; 11];
    for _ in 0..DEALS {
        game.reset_one(0, &mut stream);
        counts[observe(&game)[1] as usize] += 1;
    }
    let deck: Vec<u64> = deck.as_array().unwrap().iter().map(|card| card.as_u64().unwrap()).collect();
    for (card, count) in counts.iter().enumerate() {
        let share = deck.iter().filter(|in_deck| **in_deck == card as u64).count();
        let wanted = DEALS * share / deck.len();
        assert!(count.abs_diff(wanted) <= 400, "card {card} came {count} times instead of about {wanted}");
        assert!(share > 0 || *count == 0);
    }
}
