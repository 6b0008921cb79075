//! A scene as pixels.

use tiny_skia::{
    FillRule, FilterQuality, LineCap, LineJoin, Mask, Paint, PathBuilder, Pixmap, PixmapPaint, StrokeDash,
    Transform,
};

use crate::color::Color;
use crate::font;
use crate::path::{Path, Segment};
use crate::scene::{Anchor, Item, Rect, Scene, Stroke, Text};

/// A picture of pixels, rows from top to bottom, four bytes (red, green, blue,
/// opacity) each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
    /// The bytes.
    pub rgba: Vec<u8>,
}

impl Scene {
    /// The scene's pixels, `scale` of them to each unit. Sides are rounded to
    /// whole pixels and are at least one.
    pub fn to_frame(&self, scale: f32) -> Frame {
        let pixmap = self.draw(scale);
        let (width, height) = (pixmap.width(), pixmap.height());
        let rgba = if self.background.alpha == 255 {
            // On a solid ground every pixel is solid, so nothing is premultiplied.
            pixmap.take()
        } else {
            pixmap
                .pixels()
                .iter()
                .flat_map(|pixel| {
                    let plain = pixel.demultiply();
                    [plain.red(), plain.green(), plain.blue(), plain.alpha()]
                })
                .collect()
        };
        Frame { width, height, rgba }
    }

    /// The scene as a PNG file, `scale` pixels to each unit.
    pub fn to_png(&self, scale: f32) -> Vec<u8> {
        self.draw(scale).encode_png().expect("a picture in memory can always be encoded")
    }

    fn draw(&self, scale: f32) -> Pixmap {
        let side = |length: f32| (length * scale).round().clamp(1.0, 16_384.0) as u32;
        let mut pixmap =
            Pixmap::new(side(self.width), side(self.height)).expect("both sides are at least one pixel");
        pixmap.fill(skia_color(self.background));
        let mut clip = ClipMask { area: None, mask: None };
        for item in &self.items {
            match item {
                Item::Shape { path, fill, stroke, clip: area } => {
                    clip.set(*area, &pixmap, scale);
                    draw_shape(&mut pixmap, path, *fill, stroke.as_ref(), scale, clip.mask.as_ref());
                }
                Item::Text(text) => draw_text(&mut pixmap, text, scale),
                Item::Image { area, pixels } => draw_image(&mut pixmap, *area, pixels, scale),
            }
        }
        pixmap
    }
}

impl Frame {
    /// The frame as a PNG file.
    ///
    /// # Panics
    /// When the bytes don't fit the size.
    pub fn to_png(&self) -> Vec<u8> {
        let size = tiny_skia::IntSize::from_wh(self.width, self.height).expect("a frame has pixels");
        let mut pixmap = Pixmap::new(size.width(), size.height()).expect("a frame has pixels");
        let source = tiny_skia::PixmapRef::from_bytes(&self.rgba, self.width, self.height)
            .expect("four bytes per pixel");
        let paint = PixmapPaint { quality: FilterQuality::Nearest, ..PixmapPaint::default() };
        pixmap.draw_pixmap(0, 0, source, &paint, Transform::identity(), None);
        pixmap.encode_png().expect("a picture in memory can always be encoded")
    }
}

/// Stretches pixels over an area.
fn draw_image(pixmap: &mut Pixmap, area: Rect, pixels: &Frame, scale: f32) {
    let source = tiny_skia::PixmapRef::from_bytes(&pixels.rgba, pixels.width, pixels.height)
        .expect("four bytes per pixel");
    let across = area.width * scale / pixels.width as f32;
    let down = area.height * scale / pixels.height as f32;
    let transform = Transform::from_row(across, 0.0, 0.0, down, area.x * scale, area.y * scale);
    // A few large pixels stay sharp.
    let quality = if across >= 2.0 { FilterQuality::Nearest } else { FilterQuality::Bilinear };
    let paint = PixmapPaint { quality, ..PixmapPaint::default() };
    pixmap.draw_pixmap(0, 0, source, &paint, transform, None);
}

/// The mask of the last clip: neighbours in a scene mostly share one.
struct ClipMask {
    area: Option<Rect>,
    mask: Option<Mask>,
}

impl ClipMask {
    fn set(&mut self, area: Option<Rect>, pixmap: &Pixmap, scale: f32) {
        if self.area == area {
            return;
        }
        self.area = area;
        self.mask = area.and_then(|area| {
            let mut mask = Mask::new(pixmap.width(), pixmap.height())?;
            let outline = Path::rect(area.x, area.y, area.width, area.height);
            if let Some(outline) = skia_path(&outline) {
                mask.fill_path(&outline, FillRule::Winding, true, Transform::from_scale(scale, scale));
            }
            Some(mask)
        });
    }
}

fn draw_shape(
    pixmap: &mut Pixmap,
    path: &Path,
    fill: Option<Color>,
    stroke: Option<&Stroke>,
    scale: f32,
    mask: Option<&Mask>,
) {
    let Some(path) = skia_path(path) else { return };
    let transform = Transform::from_scale(scale, scale);
    if let Some(color) = fill {
        pixmap.fill_path(&path, &paint(color), FillRule::Winding, transform, mask);
    }
    if let Some(stroke) = stroke {
        let style = tiny_skia::Stroke {
            width: stroke.width,
            line_cap: if stroke.dash.is_empty() { LineCap::Round } else { LineCap::Butt },
            line_join: LineJoin::Round,
            dash: if stroke.dash.is_empty() { None } else { StrokeDash::new(stroke.dash.clone(), 0.0) },
            ..tiny_skia::Stroke::default()
        };
        pixmap.stroke_path(&path, &paint(stroke.color), &style, transform, mask);
    }
}

fn draw_text(pixmap: &mut Pixmap, text: &Text, scale: f32) {
    let before = match text.anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => font::text_width(&text.words, text.size, text.bold) / 2.0,
        Anchor::End => font::text_width(&text.words, text.size, text.bold),
    };
    let Some(path) = skia_path(&font::outline(&text.words, text.size, text.bold)) else { return };
    let transform = Transform::from_translate(-before, 0.0)
        .post_rotate(text.rotation)
        .post_translate(text.x, text.y)
        .post_scale(scale, scale);
    pixmap.fill_path(&path, &paint(text.color), FillRule::Winding, transform, None);
}

/// The path in the rasteriser's own format; `None` if there is nothing to draw or a coordinate is NaN.
fn skia_path(path: &Path) -> Option<tiny_skia::Path> {
    let mut builder = PathBuilder::new();
    for segment in &path.segments {
        match *segment {
            Segment::Move(x, y) => builder.move_to(x, y),
            Segment::Line(x, y) => builder.line_to(x, y),
            Segment::Quad(a, b, x, y) => builder.quad_to(a, b, x, y),
            Segment::Cubic(a, b, c, d, x, y) => builder.cubic_to(a, b, c, d, x, y),
            Segment::Close => builder.close(),
        }
    }
    builder.finish()
}

fn paint(color: Color) -> Paint<'static> {
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    paint.set_color(skia_color(color));
    paint
}

fn skia_color(color: Color) -> tiny_skia::Color {
    tiny_skia::Color::from_rgba8(color.red, color.green, color.blue, color.alpha)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pixel(frame: &Frame, x: u32, y: u32) -> [u8; 4] {
        let at = ((y * frame.width + x) * 4) as usize;
        frame.rgba[at..at + 4].try_into().unwrap()
    }

    #[test]
    fn shapes_cover_their_area_and_nothing_else() {
        let mut scene = Scene::new(20.0, 10.0, Color::WHITE);
        scene.fill(Path::rect(5.0, 2.0, 10.0, 6.0), Color::hex(0xff_00_00));
        let frame = scene.to_frame(2.0);
        assert_eq!((frame.width, frame.height), (40, 20));
        assert_eq!(pixel(&frame, 20, 10), [255, 0, 0, 255]);
        assert_eq!(pixel(&frame, 9, 10), [255, 255, 255, 255]);
        assert_eq!(pixel(&frame, 30, 10), [255, 255, 255, 255]);
    }

    #[test]
    fn clips_cut() {
        let mut scene = Scene::new(20.0, 10.0, Color::WHITE);
        let clip = Some(Rect::new(0.0, 0.0, 10.0, 10.0));
        scene.shape(Path::rect(0.0, 0.0, 20.0, 10.0), Some(Color::BLACK), None, clip);
        let frame = scene.to_frame(1.0);
        assert_eq!(pixel(&frame, 5, 5), [0, 0, 0, 255]);
        assert_eq!(pixel(&frame, 15, 5), [255, 255, 255, 255]);
    }

    #[test]
    fn texts_leave_ink_where_they_stand() {
        let mut scene = Scene::new(60.0, 30.0, Color::WHITE);
        scene.text(Text::new(30.0, 20.0, "Hi", 16.0, Color::BLACK).anchored(Anchor::Middle));
        let frame = scene.to_frame(1.0);
        let dark = |from: u32, to: u32| {
            (from..to)
                .flat_map(|x| (0..30).map(move |y| (x, y)))
                .filter(|(x, y)| pixel(&frame, *x, *y)[0] < 128)
                .count()
        };
        assert!(dark(20, 40) > 20);
        assert_eq!(dark(0, 15) + dark(45, 60), 0);
    }

    #[test]
    fn coordinates_that_are_no_numbers_draw_nothing() {
        let mut scene = Scene::new(10.0, 10.0, Color::WHITE);
        scene.fill(Path::rect(f32::NAN, 0.0, 5.0, 5.0), Color::BLACK);
        scene.stroke(Path::line((0.0, 0.0), (f32::INFINITY, 1.0)), Stroke::solid(Color::BLACK, 1.0));
        assert!(scene.to_frame(1.0).rgba.iter().all(|byte| *byte == 255));
    }

    #[test]
    fn a_frame_and_its_scene_give_the_same_png() {
        let mut scene = Scene::new(30.0, 20.0, Color::WHITE);
        scene.fill(Path::circle(15.0, 10.0, 7.0), Color::hex(0x00_72_b2));
        assert_eq!(scene.to_png(1.0), scene.to_frame(1.0).to_png());
    }
}
