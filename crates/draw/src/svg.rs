//! A scene as SVG. Texts stay texts, so that they can be searched and edited;
//! the fonts are embedded in the file.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rlxp_types::text::{is_hidden, trimmed};

use crate::color::Color;
use crate::font;
use crate::path::{Path, Segment};
use crate::scene::{Anchor, Item, Scene, Stroke, Text};

/// Name of the embedded fonts in SVG and HTML.
const FAMILY: &str = "DejaVu Sans";

/// Style rules that bring the embedded fonts; a page with several pictures
/// needs them once.
pub fn font_faces(with_bold: bool) -> String {
    let face = |bytes: &[u8], weight: u32| {
        format!(
            "@font-face{{font-family:'{FAMILY}';font-weight:{weight};src:url(data:font/ttf;base64,{}) format('truetype')}}",
            STANDARD.encode(bytes)
        )
    };
    let mut faces = face(font::REGULAR, 400);
    if with_bold {
        faces.push_str(&face(font::BOLD, 700));
    }
    faces
}

impl Scene {
    /// The scene as a standalone file, including fonts.
    pub fn to_svg(&self) -> String {
        let bold = self.items.iter().any(|item| matches!(item, Item::Text(text) if text.bold));
        self.svg(&format!("<style>{}</style>", font_faces(bold)))
    }

    /// The scene as an element of a page that has [`font_faces`] already.
    pub fn to_svg_element(&self) -> String {
        self.svg("")
    }

    fn svg(&self, style: &str) -> String {
        let mut out = String::new();
        let (width, height) = (Number(self.width), Number(self.height));
        put(
            &mut out,
            format_args!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" font-family=\"'{FAMILY}',sans-serif\" role=\"img\">"
            ),
        );
        if !self.description.is_empty() {
            put(&mut out, format_args!("<title>{}</title>", Escaped(&self.description)));
        }
        out.push_str(style);
        let ground = fill(self.background);
        put(&mut out, format_args!("<rect width=\"{width}\" height=\"{height}\"{ground}/>\n"));
        for item in &self.items {
            match item {
                Item::Shape { path, fill, stroke, clip } => {
                    // A nested picture cuts at its edges, so that no clip needs a name of its own:
                    // names would have to be unique over all pictures of a page.
                    if let Some(area) = clip {
                        let (x, y, w, h) =
                            (Number(area.x), Number(area.y), Number(area.width), Number(area.height));
                        put(
                            &mut out,
                            format_args!(
                                "<svg x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" viewBox=\"{x} {y} {w} {h}\">"
                            ),
                        );
                    }
                    shape(&mut out, path, *fill, stroke.as_ref());
                    out.push_str(if clip.is_some() { "</svg>\n" } else { "\n" });
                }
                Item::Text(text) => write_text(&mut out, text),
                Item::Image { area, pixels } => {
                    let (x, y, w, h) =
                        (Number(area.x), Number(area.y), Number(area.width), Number(area.height));
                    let data = STANDARD.encode(pixels.to_png());
                    put(
                        &mut out,
                        format_args!(
                            "<image x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" preserveAspectRatio=\"none\" href=\"data:image/png;base64,{data}\"/>\n"
                        ),
                    );
                }
            }
        }
        out.push_str("</svg>\n");
        out
    }
}

fn put(out: &mut String, arguments: std::fmt::Arguments<'_>) {
    out.write_fmt(arguments).expect("writing into a string can't fail");
}

fn shape(out: &mut String, path: &Path, color: Option<Color>, stroke: Option<&Stroke>) {
    out.push_str("<path d=\"");
    for segment in &path.segments {
        let (letter, numbers): (char, &[f32]) = match segment {
            Segment::Move(x, y) => ('M', &[*x, *y]),
            Segment::Line(x, y) => ('L', &[*x, *y]),
            Segment::Quad(a, b, x, y) => ('Q', &[*a, *b, *x, *y]),
            Segment::Cubic(a, b, c, d, x, y) => ('C', &[*a, *b, *c, *d, *x, *y]),
            Segment::Close => ('Z', &[]),
        };
        out.push(letter);
        for (index, number) in numbers.iter().enumerate() {
            put(out, format_args!("{}{}", if index == 0 { "" } else { " " }, Number(*number)));
        }
    }
    out.push('"');
    match color {
        Some(color) => out.push_str(&fill(color)),
        None => out.push_str(" fill=\"none\""),
    }
    if let Some(Stroke { color, width, dash }) = stroke {
        put(out, format_args!(" stroke=\"{}\" stroke-width=\"{}\"", hex(*color), Number(*width)));
        put(out, format_args!(" stroke-linejoin=\"round\""));
        if color.alpha < 255 {
            put(out, format_args!(" stroke-opacity=\"{}\"", opacity(*color)));
        }
        if dash.is_empty() {
            out.push_str(" stroke-linecap=\"round\"");
        } else {
            let lengths: Vec<String> = dash.iter().map(|length| Number(*length).to_string()).collect();
            put(out, format_args!(" stroke-dasharray=\"{}\"", lengths.join(" ")));
        }
    }
    out.push_str("/>");
}

fn write_text(out: &mut String, text: &Text) {
    let (x, y) = (Number(text.x), Number(text.y));
    put(
        out,
        format_args!("<text x=\"{x}\" y=\"{y}\" font-size=\"{}\"{}", Number(text.size), fill(text.color)),
    );
    match text.anchor {
        Anchor::Start => {}
        Anchor::Middle => out.push_str(" text-anchor=\"middle\""),
        Anchor::End => out.push_str(" text-anchor=\"end\""),
    }
    if text.bold {
        out.push_str(" font-weight=\"700\"");
    }
    if text.rotation != 0.0 {
        put(out, format_args!(" transform=\"rotate({} {x} {y})\"", Number(text.rotation)));
    }
    put(out, format_args!(">{}</text>\n", Escaped(&text.words)));
}

fn fill(color: Color) -> String {
    if color.alpha == 255 {
        format!(" fill=\"{}\"", hex(color))
    } else {
        format!(" fill=\"{}\" fill-opacity=\"{}\"", hex(color), opacity(color))
    }
}

fn hex(color: Color) -> String {
    format!("#{:02x}{:02x}{:02x}", color.red, color.green, color.blue)
}

fn opacity(color: Color) -> Number {
    Number(f32::from(color.alpha) / 255.0)
}

/// A coordinate with as many digits as are visible; NaN is 0.
struct Number(f32);

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let value = if self.0.is_finite() { self.0 } else { 0.0 };
        let text = format!("{value:.2}");
        let text = trimmed(&text);
        f.write_str(if text == "-0" { "0" } else { text })
    }
}

/// Text that can't end the element that holds it. Hidden characters are left
/// out: no XML may hold some of them, and others reorder what is read.
struct Escaped<'a>(&'a str);

impl std::fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for character in self.0.chars() {
            match character {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                hidden if is_hidden(hidden) => {}
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Rect;

    #[test]
    fn a_scene_is_written_with_few_digits_and_safe_texts() {
        let mut scene = Scene::new(100.0, 50.0, Color::WHITE);
        scene.description = "a < b & \u{1}\u{202e}c".to_owned();
        scene.fill(Path::rect(1.0, 2.5, 10.123_456, 5.0), Color::BLACK.with_opacity(0.5));
        scene.text(Text::new(5.0, 6.0, "</svg><script>", 10.0, Color::INK).anchored(Anchor::End));
        let clip = Some(Rect::new(0.0, 0.0, 5.0, 5.0));
        let line = Stroke::dashed(Color::BLACK, 1.0, &[4.0, 2.0]);
        scene.shape(Path::line((0.0, 0.0), (9.0, -0.001)), None, Some(line), clip);
        let svg = scene.to_svg_element();
        assert!(svg.contains("<title>a &lt; b &amp; c</title>"), "{svg}");
        assert!(
            svg.contains("M1 2.5L11.12 2.5L11.12 7.5L1 7.5Z\" fill=\"#000000\" fill-opacity=\"0.5\""),
            "{svg}"
        );
        assert!(svg.contains("text-anchor=\"end\">&lt;/svg&gt;&lt;script&gt;</text>"), "{svg}");
        assert!(svg.contains("viewBox=\"0 0 5 5\"><path d=\"M0 0L9 0\" fill=\"none\""), "{svg}");
        assert!(svg.contains("stroke-dasharray=\"4 2\""), "{svg}");
        assert!(!svg.contains("<script>") && !svg.contains("@font-face"));
    }

    #[test]
    fn a_file_of_its_own_brings_the_fonts_it_uses() {
        let mut scene = Scene::new(10.0, 10.0, Color::WHITE);
        scene.text(Text::new(0.0, 5.0, "x", 5.0, Color::INK));
        assert_eq!(scene.to_svg().matches("@font-face").count(), 1);
        scene.text(Text::new(0.0, 5.0, "x", 5.0, Color::INK).bold());
        assert_eq!(scene.to_svg().matches("@font-face").count(), 2);
    }
}
