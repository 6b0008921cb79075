//! FrozenLake: cross slippery ice from S to G without falling into a hole H.

use super::table::{Outcome, Table};
use crate::view::{Scene, Tile};

/// The map of FrozenLake-v1.
pub const MAP_4X4: &str = "SFFF,FHFH,FFFH,HFFG";
/// The map of FrozenLake8x8-v1.
pub const MAP_8X8: &str = "SFFFFFFF,FFFFFFFF,FFFHFFFF,FFFFFHFF,FFFHFFFF,FHHFFFHF,FHFFHFHF,FFFHFFFG";
/// More tiles than this are refused: the table would outgrow memory.
pub const TILES_MAX: usize = 65_536;

/// Rewards for reaching each kind of tile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rewards {
    pub goal: f32,
    pub hole: f32,
    /// For ice, the start included.
    pub ice: f32,
}

/// A map of equally long rows of S, F, H and G with at least one S.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    tiles: Vec<u8>,
    columns: usize,
}

impl Map {
    /// Parses comma-separated rows, or returns what is wrong with them.
    pub fn parse(text: &str) -> Result<Self, String> {
        let rows: Vec<&str> = text.split(',').map(str::trim).collect();
        let columns = rows[0].len();
        if let Some(row) = rows.iter().position(|row| row.len() != columns || row.is_empty()) {
            return Err(format!(
                "row {} has {} tiles, but the first has {columns}",
                row + 1,
                rows[row].len()
            ));
        }
        let tiles: Vec<u8> = rows.concat().into_bytes();
        if let Some(place) = tiles.iter().position(|tile| !b"SFHG".contains(tile)) {
            return Err(format!("row {} has a tile other than S, F, H and G", place / columns + 1));
        }
        if tiles.len() > TILES_MAX {
            return Err(format!("{} tiles exceed the maximum of {TILES_MAX}", tiles.len()));
        }
        if !tiles.contains(&b'S') {
            return Err("the map has no start tile S".to_owned());
        }
        Ok(Self { tiles, columns })
    }

    /// The tile reached by moving left (0), down (1), right (2) or up (3).
    fn neighbour(&self, tile: usize, direction: usize) -> usize {
        let (row, column) = (tile / self.columns, tile % self.columns);
        let rows = self.tiles.len() / self.columns;
        let (row, column) = match direction {
            0 => (row, column.saturating_sub(1)),
            1 => ((row + 1).min(rows - 1), column),
            2 => (row, (column + 1).min(self.columns - 1)),
            _ => (row.saturating_sub(1), column),
        };
        row * self.columns + column
    }

    fn scene(&self, slippery: bool) -> Scene {
        let tile = |letter: &u8| match letter {
            b'S' => Tile::Start,
            b'H' => Tile::Hole,
            b'G' => Tile::Goal,
            _ => Tile::Frozen,
        };
        Scene::Lake { columns: self.columns, tiles: self.tiles.iter().map(tile).collect(), slippery }
    }
}

/// The table of a lake. On slippery ice a move succeeds with `success_rate`
/// and goes to either side with half of the rest.
pub fn table(map: &Map, slippery: bool, success_rate: f64, rewards: Rewards) -> Table {
    let is_start = |tile: &u8| f64::from(u8::from(*tile == b'S'));
    let starts: f64 = map.tiles.iter().map(is_start).sum();
    let side_rate = (1.0 - success_rate) / 2.0;
    let move_to = |probability: f64, tile: usize, direction: usize| {
        let next = map.neighbour(tile, direction);
        let (reward, terminated) = match map.tiles[next] {
            b'G' => (rewards.goal, true),
            b'H' => (rewards.hole, true),
            _ => (rewards.ice, false),
        };
        Outcome { probability, next: next as u32, reward, terminated }
    };
    Table::new(4, map.tiles.iter().map(|tile| is_start(tile) / starts).collect(), |tile, action| {
        if matches!(map.tiles[tile], b'G' | b'H') {
            vec![Outcome { probability: 1.0, next: tile as u32, reward: 0.0, terminated: true }]
        } else if slippery {
            vec![
                move_to(side_rate, tile, (action + 3) % 4),
                move_to(success_rate, tile, action),
                move_to(side_rate, tile, (action + 1) % 4),
            ]
        } else {
            vec![move_to(1.0, tile, action)]
        }
    })
    .looking_like(map.scene(slippery))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_must_be_a_rectangle_of_known_tiles_with_a_start() {
        assert!(Map::parse(MAP_8X8).is_ok());
        assert!(Map::parse("S, G").is_ok_and(|map| map.columns == 1));
        for bad in ["", ",", "SF,F", "SX", "FG", "S,", "Sé,FF", &"S".repeat(TILES_MAX + 1)] {
            assert!(Map::parse(bad).is_err(), "{bad:.20}");
        }
    }
}
