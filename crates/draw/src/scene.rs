//! What can be drawn: shapes with fill and stroke, and texts, one after the
//! other, later ones above earlier ones.

use std::sync::Arc;

use crate::color::Color;
use crate::path::Path;
use crate::raster::Frame;

/// A level rectangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rect {
    /// Left edge.
    pub x: f32,
    /// Upper edge.
    pub y: f32,
    pub width: f32,
    pub height: f32,
}

impl Rect {
    pub const fn new(x: f32, y: f32, width: f32, height: f32) -> Self {
        Self { x, y, width, height }
    }

    /// Right edge.
    pub fn right(&self) -> f32 {
        self.x + self.width
    }

    /// Lower edge.
    pub fn bottom(&self) -> f32 {
        self.y + self.height
    }
}

/// How a line is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Stroke {
    /// Colour.
    pub color: Color,
    pub width: f32,
    /// Lengths of dash and gap in turn; empty for a solid line.
    pub dash: Vec<f32>,
}

impl Stroke {
    /// A solid line.
    pub fn solid(color: Color, width: f32) -> Self {
        Self { color, width, dash: Vec::new() }
    }

    /// A dashed line.
    pub fn dashed(color: Color, width: f32, dash: &[f32]) -> Self {
        Self { color, width, dash: dash.to_vec() }
    }
}

/// Which part of a text is at its x.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Anchor {
    /// Its beginning.
    #[default]
    Start,
    Middle,
    End,
}

/// A line of text.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    /// The position of the anchor.
    pub x: f32,
    /// The baseline.
    pub y: f32,
    pub words: String,
    /// Size in units of the scene.
    pub size: f32,
    /// Colour.
    pub color: Color,
    /// Which part is at x.
    pub anchor: Anchor,
    pub bold: bool,
    /// Turn around (x, y), in degrees clockwise.
    pub rotation: f32,
}

impl Text {
    /// Text that begins at x on the baseline y.
    pub fn new(x: f32, y: f32, words: impl Into<String>, size: f32, color: Color) -> Self {
        let (anchor, bold, rotation) = (Anchor::Start, false, 0.0);
        Self { x, y, words: words.into(), size, color, anchor, bold, rotation }
    }

    /// The same with another anchor.
    #[must_use]
    pub fn anchored(self, anchor: Anchor) -> Self {
        Self { anchor, ..self }
    }

    /// The same in bold.
    #[must_use]
    pub fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    /// The same turned clockwise by `degrees`.
    #[must_use]
    pub fn rotated(self, degrees: f32) -> Self {
        Self { rotation: degrees, ..self }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    Shape {
        /// Its outline.
        path: Path,
        fill: Option<Color>,
        /// How its outline is drawn.
        stroke: Option<Stroke>,
        /// Only what is inside is visible.
        clip: Option<Rect>,
    },
    Text(Text),
    /// Pixels, stretched over an area.
    Image {
        area: Rect,
        /// Opaque pixels.
        pixels: Arc<Frame>,
    },
}

/// A picture before it is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// Width in units; pixels at scale 1.
    pub width: f32,
    /// Height in units.
    pub height: f32,
    pub background: Color,
    /// What the picture shows, for readers that can't see it.
    pub description: String,
    /// The things, lowest first.
    pub items: Vec<Item>,
}

impl Scene {
    /// An empty scene.
    pub fn new(width: f32, height: f32, background: Color) -> Self {
        Self { width, height, background, description: String::new(), items: Vec::new() }
    }

    /// Adds a filled shape.
    pub fn fill(&mut self, path: Path, color: Color) {
        self.shape(path, Some(color), None, None);
    }

    /// Adds a line.
    pub fn stroke(&mut self, path: Path, stroke: Stroke) {
        self.shape(path, None, Some(stroke), None);
    }

    /// Adds a shape.
    pub fn shape(&mut self, path: Path, fill: Option<Color>, stroke: Option<Stroke>, clip: Option<Rect>) {
        self.items.push(Item::Shape { path, fill, stroke, clip });
    }

    /// Adds an image, as large as fits into the middle of `area`.
    pub fn image(&mut self, area: Rect, pixels: Frame) {
        let (width, height) = (pixels.width as f32, pixels.height as f32);
        let scale = (area.width / width).min(area.height / height);
        let (width, height) = (width * scale, height * scale);
        let (x, y) = (area.x + (area.width - width) / 2.0, area.y + (area.height - height) / 2.0);
        self.items.push(Item::Image { area: Rect::new(x, y, width, height), pixels: Arc::new(pixels) });
    }

    /// Adds a text.
    pub fn text(&mut self, text: Text) {
        self.items.push(Item::Text(text));
    }

    /// Adds everything of `other`, moved by x and y and scaled; its background
    /// becomes a rectangle. For grids of pictures.
    pub fn place(&mut self, other: &Scene, x: f32, y: f32, scale: f32) {
        let moved = |(px, py): (f32, f32)| (x + px * scale, y + py * scale);
        let area = Rect::new(x, y, other.width * scale, other.height * scale);
        self.fill(Path::rect(area.x, area.y, area.width, area.height), other.background);
        for item in &other.items {
            self.items.push(match item.clone() {
                Item::Shape { path, fill, stroke, clip } => Item::Shape {
                    path: path.map(moved),
                    fill,
                    stroke: stroke.map(|stroke| Stroke {
                        color: stroke.color,
                        width: stroke.width * scale,
                        dash: stroke.dash.iter().map(|length| length * scale).collect(),
                    }),
                    clip: Some(clip.map_or(area, |clip| {
                        let (left, top) = moved((clip.x, clip.y));
                        Rect::new(left, top, clip.width * scale, clip.height * scale)
                    })),
                },
                Item::Image { area, pixels } => {
                    let (left, top) = moved((area.x, area.y));
                    Item::Image {
                        area: Rect::new(left, top, area.width * scale, area.height * scale),
                        pixels,
                    }
                }
                Item::Text(text) => {
                    let (left, top) = moved((text.x, text.y));
                    Item::Text(Text { x: left, y: top, size: text.size * scale, ..text })
                }
            });
        }
    }
}
