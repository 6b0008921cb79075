//! Pictures. A [`Scene`] is a list of shapes and texts; it becomes SVG for
//! documents or anti-aliased pixels for PNG files and video frames, and both
//! look the same because both use the fonts that are embedded here.
//!
//! | module | what |
//! |---|---|
//! | `scene` | what can be drawn: paths, strokes, fills, texts, clips |
//! | `color` | colours, and a palette and a ramp that colour-blind people can tell apart |
//! | `font` | the embedded fonts: widths and outlines |
//! | `chart` | learning curves, scores, and scores over settings, laid out from numbers |
//! | `raster` | a scene as pixels and as PNG |
//! | `svg` | a scene as SVG |
//! | `environment` | what each environment looks like |
//! | `inspection` | what a policy thinks along an episode and what it looks at |
//!
//! Nothing here knows files or runs: plain data in, bytes out.

pub mod chart;
pub mod color;
pub mod environment;
pub mod font;
pub mod inspection;
mod path;
mod raster;
mod scene;
mod svg;

pub use color::Color;
pub use path::{Path, Segment};
pub use raster::Frame;
pub use scene::{Anchor, Item, Rect, Scene, Stroke, Text};
pub use svg::font_faces;
