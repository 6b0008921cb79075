//! A picture of each environment, and all of them on one sheet:
//! `cargo run -p rlxp-draw --example environments -- docs/pictures`.
#![expect(clippy::disallowed_methods, reason = "an example that writes the pictures of the documentation")]

use std::path::PathBuf;

use rlxp_draw::environment::{HEIGHT, Look, WIDTH, scene};
use rlxp_draw::{Anchor, Color, Scene, Text};
use rlxp_env::{Passenger, Tile, View};

fn main() -> std::io::Result<()> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| "docs/pictures".to_owned()));
    std::fs::create_dir_all(&folder)?;
    let shown = examples();
    let (columns, scale, caption) = (3, 0.5, 26.0);
    let (across, down) = (WIDTH * scale + 14.0, HEIGHT * scale + caption);
    let rows = shown.len().div_ceil(columns);
    let mut sheet = Scene::new(across * columns as f32 + 14.0, down * rows as f32 + 14.0, Color::WHITE);
    "Every native environment".clone_into(&mut sheet.description);
    for (index, (id, view, action)) in shown.iter().enumerate() {
        let info = rlxp_env::NATIVE.find(id).ok();
        let look = Look {
            action: action.as_deref(),
            observation_names: info.map_or(&[], |info| info.observation_names),
            action_names: info.map_or(&[], |info| info.action_names),
        };
        let picture = scene(view, &look);
        std::fs::write(folder.join(format!("env-{id}.png")), picture.to_png(1.0))?;
        let (x, y) = (14.0 + across * (index % columns) as f32, 14.0 + down * (index / columns) as f32);
        sheet.place(&picture, x, y, scale);
        let words = Text::new(x + WIDTH * scale / 2.0, y + HEIGHT * scale + 16.0, *id, 13.0, Color::INK);
        sheet.text(words.anchored(Anchor::Middle).bold());
    }
    std::fs::write(folder.join("environments.png"), sheet.to_png(1.0))
}

/// Id, a state that shows much, and the action taken in it.
fn examples() -> Vec<(&'static str, View, Option<Vec<f32>>)> {
    vec![
        (
            "CartPole-v1",
            View::CartPole { position: 0.62, velocity: 1.1, angle: 0.11, angular_velocity: -1.4 },
            Some(vec![1.0]),
        ),
        (
            "Acrobot-v1",
            View::Acrobot { first_angle: 1.1, second_angle: 0.9, first_velocity: 3.0, second_velocity: -4.5 },
            Some(vec![2.0]),
        ),
        (
            "MountainCar-v0",
            View::MountainCar { position: 0.08, velocity: 0.042, goal_position: 0.5, continuous: false },
            Some(vec![2.0]),
        ),
        (
            "MountainCarContinuous-v0",
            View::MountainCar { position: -0.9, velocity: -0.03, goal_position: 0.45, continuous: true },
            Some(vec![-0.6]),
        ),
        ("Pendulum-v1", View::Pendulum { angle: 0.7, angular_velocity: -4.2 }, Some(vec![1.3])),
        ("FrozenLake-v1", lake("SFFFFHFHFFFHHFFG", 4, (2, 1)), Some(vec![2.0])),
        (
            "FrozenLake8x8-v1",
            lake("SFFFFFFFFFFFFFFFFFFHFFFFFFFFFHFFFFFHFFFFFHHFFFHFFHFFHFHFFFFHFFFG", 8, (3, 5)),
            None,
        ),
        (
            "Taxi-v4",
            View::Taxi {
                row: 2,
                column: 3,
                passenger: Passenger::InTaxi,
                destination: 1,
                raining: false,
                undecided: false,
            },
            Some(vec![1.0]),
        ),
        (
            "CliffWalking-v1",
            View::CliffWalking { rows: 4, columns: 12, slippery: false, row: 2, column: 4 },
            Some(vec![1.0]),
        ),
        (
            "CliffWalkingSlippery-v1",
            View::CliffWalking { rows: 4, columns: 12, slippery: true, row: 1, column: 8 },
            Some(vec![0.0]),
        ),
        (
            "Blackjack-v1",
            View::Blackjack {
                player_total: 17,
                player_cards: 3,
                usable_ace: true,
                dealer_shows: 10,
                dealer_hides: 6,
                dealer_total: None,
            },
            Some(vec![1.0]),
        ),
        ("ProbeBatching-v0", View::Observation(vec![1.0]), Some(vec![1.0])),
    ]
}

fn lake(map: &str, columns: usize, (row, column): (usize, usize)) -> View {
    let tiles: Vec<Tile> = map
        .chars()
        .map(|letter| match letter {
            'S' => Tile::Start,
            'H' => Tile::Hole,
            'G' => Tile::Goal,
            _ => Tile::Frozen,
        })
        .collect();
    View::FrozenLake { rows: tiles.len() / columns, columns, tiles, slippery: true, row, column }
}
