//! How items of a chart are distinguished: by colour, and always by something
//! else too (dashes, the shape of markers), since colours look alike to some
//! people and on some paper.

use crate::color::{self, Color};
use crate::path::Path;
use crate::scene::{Rect, Scene, Stroke};

/// How many items have their own style.
pub const LOOKS: usize = 2 * color::PALETTE.len();

/// Dash patterns in units of the line's width; the first is solid.
const DASHES: [&[f32]; 5] = [&[], &[4.0, 1.6], &[1.4, 1.4], &[5.0, 1.6, 1.2, 1.6], &[8.0, 2.0]];

/// Shapes of markers, as many as there are colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Circle,
    Square,
    TriangleUp,
    Diamond,
    TriangleDown,
    Plus,
    Bar,
}

const SHAPES: [Shape; color::PALETTE.len()] = [
    Shape::Circle,
    Shape::Square,
    Shape::TriangleUp,
    Shape::Diamond,
    Shape::TriangleDown,
    Shape::Plus,
    Shape::Bar,
];

/// The look of one series or group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    index: usize,
}

impl Look {
    /// The look of the `index`th thing; after [`LOOKS`] they come again.
    pub fn at_index(index: usize) -> Self {
        Self { index: index % LOOKS }
    }

    /// Its colour.
    pub fn color(self) -> Color {
        color::at_index(self.index)
    }

    /// Its line.
    pub fn stroke(self, width: f32) -> Stroke {
        let dash = DASHES[self.index % DASHES.len()];
        Stroke { color: self.color(), width, dash: dash.iter().map(|length| length * width).collect() }
    }

    /// Draws its marker around a point.
    pub fn marker(self, scene: &mut Scene, (x, y): (f32, f32), radius: f32, clip: Option<Rect>) {
        let r = radius;
        let outline = match SHAPES[self.index % SHAPES.len()] {
            Shape::Circle => Path::circle(x, y, r),
            Shape::Square => Path::rect(x - 0.88 * r, y - 0.88 * r, 1.76 * r, 1.76 * r),
            Shape::TriangleUp => {
                Path::polygon([(x, y - 1.2 * r), (x + 1.1 * r, y + 0.8 * r), (x - 1.1 * r, y + 0.8 * r)])
            }
            Shape::TriangleDown => {
                Path::polygon([(x, y + 1.2 * r), (x + 1.1 * r, y - 0.8 * r), (x - 1.1 * r, y - 0.8 * r)])
            }
            Shape::Diamond => {
                Path::polygon([(x, y - 1.3 * r), (x + 1.3 * r, y), (x, y + 1.3 * r), (x - 1.3 * r, y)])
            }
            Shape::Plus => plus(x, y, 1.2 * r, 0.42 * r),
            Shape::Bar => Path::rect(x - 1.3 * r, y - 0.5 * r, 2.6 * r, r),
        };
        // The second round of colours has hollow markers.
        let hollow = self.index >= SHAPES.len();
        let (fill, edge, width) = if hollow {
            (Color::WHITE, self.color(), r * 0.42)
        } else {
            (self.color(), Color::WHITE, r * 0.3)
        };
        scene.shape(outline, Some(fill), Some(Stroke::solid(edge, width)), clip);
    }
}

fn plus(x: f32, y: f32, long: f32, thick: f32) -> Path {
    let corners = [
        (-thick, -long),
        (thick, -long),
        (thick, -thick),
        (long, -thick),
        (long, thick),
        (thick, thick),
        (thick, long),
        (-thick, long),
        (-thick, thick),
        (-long, thick),
        (-long, -thick),
        (-thick, -thick),
    ];
    Path::polygon(corners.map(|(dx, dy)| (x + dx, y + dy)))
}

/// A cross at the place where something ended before it should.
pub(super) fn cross(scene: &mut Scene, (x, y): (f32, f32), radius: f32, color: Color, clip: Option<Rect>) {
    let mut path = Path::line((x - radius, y - radius), (x + radius, y + radius));
    path.segments.extend(Path::line((x - radius, y + radius), (x + radius, y - radius)).segments);
    scene.shape(path.clone(), None, Some(Stroke::solid(Color::WHITE, 4.0)), clip);
    scene.shape(path, None, Some(Stroke::solid(color, 2.0)), clip);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Item;

    #[test]
    fn fourteen_things_look_different_even_without_colour() {
        let looks: Vec<(Path, bool, Vec<f32>)> = (0..LOOKS)
            .map(|index| {
                let mut scene = Scene::new(10.0, 10.0, Color::WHITE);
                Look::at_index(index).marker(&mut scene, (5.0, 5.0), 3.0, None);
                let Item::Shape { path, fill, .. } = scene.items.remove(0) else { unreachable!() };
                (path, fill == Some(Color::WHITE), Look::at_index(index).stroke(2.0).dash)
            })
            .collect();
        for (index, look) in looks.iter().enumerate() {
            for other in &looks[..index] {
                assert!((&look.0, look.1) != (&other.0, other.1), "marker of {index}");
            }
        }
        // Two lines of the same colour have other dashes too.
        for index in 0..color::PALETTE.len() {
            assert_ne!(looks[index].2, looks[index + color::PALETTE.len()].2);
        }
    }
}
