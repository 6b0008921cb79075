//! The embedded fonts, DejaVu Sans in two weights, cut down to Latin, Greek,
//! Cyrillic and common signs (`fonts/LICENSE`). A character that they lack is
//! drawn as a box.

use std::sync::OnceLock;

use ttf_parser::{Face, GlyphId, OutlineBuilder};

use crate::path::{Path, Segment};

pub(crate) const REGULAR: &[u8] = include_bytes!("../fonts/DejaVuSans.ttf");
pub(crate) const BOLD: &[u8] = include_bytes!("../fonts/DejaVuSans-Bold.ttf");

fn face(bold: bool) -> &'static Face<'static> {
    static FACES: [OnceLock<Face<'static>>; 2] = [OnceLock::new(), OnceLock::new()];
    let bytes = if bold { BOLD } else { REGULAR };
    FACES[usize::from(bold)].get_or_init(|| Face::parse(bytes, 0).expect("the embedded font is whole"))
}

pub fn text_width(words: &str, size: f32, bold: bool) -> f32 {
    let face = face(bold);
    let units: f32 = words.chars().map(|c| advance(face, glyph(face, c))).sum();
    units * size / f32::from(face.units_per_em())
}

/// `words`, cut with an ellipsis where they would be wider than `width`.
pub fn fitted(words: &str, width: f32, size: f32, bold: bool) -> String {
    if text_width(words, size, bold) <= width {
        return words.to_owned();
    }
    let mut kept: Vec<char> = words.chars().collect();
    while !kept.is_empty() {
        kept.pop();
        let shown: String = kept.iter().chain(&['…']).collect();
        if text_width(&shown, size, bold) <= width {
            return shown;
        }
    }
    String::new()
}

/// The outlines of `words`, beginning at the origin, on the baseline y = 0.
pub(crate) fn outline(words: &str, size: f32, bold: bool) -> Path {
    let face = face(bold);
    let scale = size / f32::from(face.units_per_em());
    let mut pen = Pen { path: Path::default(), x: 0.0, scale };
    for character in words.chars() {
        let glyph = glyph(face, character);
        face.outline_glyph(glyph, &mut pen);
        pen.x += advance(face, glyph) * scale;
    }
    pen.path
}

/// Glyph 0 is the box for what the font lacks.
fn glyph(face: &Face<'_>, character: char) -> GlyphId {
    face.glyph_index(character).unwrap_or(GlyphId(0))
}

fn advance(face: &Face<'_>, glyph: GlyphId) -> f32 {
    f32::from(face.glyph_hor_advance(glyph).unwrap_or(0))
}

struct Pen {
    path: Path,
    x: f32,
    scale: f32,
}

impl Pen {
    /// Fonts count upwards, scenes downwards.
    fn point(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + x * self.scale, -y * self.scale)
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.point(x, y);
        self.path.segments.push(Segment::Move(x, y));
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.point(x, y);
        self.path.segments.push(Segment::Line(x, y));
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.point(x1, y1), self.point(x, y));
        self.path.segments.push(Segment::Quad(x1, y1, x, y));
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.point(x1, y1), self.point(x2, y2), self.point(x, y));
        self.path.segments.push(Segment::Cubic(x1, y1, x2, y2, x, y));
    }

    fn close(&mut self) {
        self.path.segments.push(Segment::Close);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_add_up_and_scale() {
        let ten = text_width("Return", 10.0, false);
        assert!((text_width("Return", 20.0, false) - 2.0 * ten).abs() < 1e-3);
        let parts = text_width("Ret", 10.0, false) + text_width("urn", 10.0, false);
        assert!((ten - parts).abs() < 1e-3);
        assert!(text_width("Return", 10.0, true) > ten);
    }

    #[test]
    fn every_sign_that_pictures_use_is_in_the_font() {
        let face = face(false);
        for sign in "aZ09 äßéøŁ αΩμσ Жя −×·±≤≥≈∞…–—→↑↓←▲▼■□●○★✓✗♠♥♦♣²³⁴⁵⁶".chars()
        {
            assert!(face.glyph_index(sign).is_some(), "{sign:?} is missing");
        }
    }

    #[test]
    fn unknown_characters_are_drawn_as_boxes() {
        assert!(!outline("強", 10.0, false).segments.is_empty());
    }

    #[test]
    fn long_texts_are_cut_to_their_place() {
        assert_eq!(fitted("short", 100.0, 10.0, false), "short");
        let cut = fitted("a very long name of a run", 60.0, 10.0, false);
        assert!(cut.ends_with('…') && text_width(&cut, 10.0, false) <= 60.0, "{cut}");
    }
}
