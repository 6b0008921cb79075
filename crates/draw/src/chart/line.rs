//! Learning curves: for each group a bold line, a band around it and its seeds
//! faint behind.

use crate::chart::Reference;
use crate::chart::axis::{Axis, Scale, short_number};
use crate::chart::frame::{
    BOTTOM, EDGE, SMALL, TINY, bottom_axis, footer, ground, header, left_axis, shows, sides, widest,
    with_references,
};
use crate::chart::legend::{APART, Below, End, Entry, LEADER, at_ends, background};
use crate::chart::style::{LOOKS, Look, cross};
use crate::chart::thin::pieces;
use crate::color::Color;
use crate::font::fitted;
use crate::path::{Path, Segment};
use crate::scene::{Rect, Scene, Stroke, Text};

/// How strongly bands are tinted.
pub(super) const BAND_OPACITY: f32 = 0.17;

/// A chart of lines over x.
#[derive(Clone, Debug, PartialEq)]
pub struct LineChart {
    /// What it shows.
    pub title: String,
    /// What lines and bands mean, below the title.
    pub caption: String,
    /// Name and unit of x.
    pub x_label: String,
    /// Name and unit of y.
    pub y_label: String,
    /// How y is scaled; without a positive value it stays linear.
    pub y_scale: Scale,
    /// The groups; those beyond [`LOOKS`] are drawn in grey behind the others.
    pub series: Vec<SeriesBand>,
    /// Reference values for the lines.
    pub references: Vec<Reference>,
    /// What a reader must know, at the bottom.
    pub notes: Vec<String>,
    /// Width in units; pixels at scale 1.
    pub width: f32,
    /// Height in units.
    pub height: f32,
}

/// One group of a [`LineChart`]. Numbers that are not finite are gaps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeriesBand {
    /// Its name.
    pub label: String,
    /// Another name, shown where there is room.
    pub also: String,
    /// Added to the name in a quieter tone, such as the number of seeds.
    pub detail: String,
    /// The bold line, by x.
    pub line: Vec<(f64, f64)>,
    /// x, lower and upper end of the band, by x.
    pub band: Vec<(f64, f64, f64)>,
    /// The seeds, drawn faint.
    pub faint: Vec<Vec<(f64, f64)>>,
    /// Places where a seed ended too early, marked with a cross.
    pub crosses: Vec<(f64, f64)>,
}

impl Default for LineChart {
    fn default() -> Self {
        Self {
            title: String::new(),
            caption: String::new(),
            x_label: String::new(),
            y_label: String::new(),
            y_scale: Scale::Linear,
            series: Vec::new(),
            references: Vec::new(),
            notes: Vec::new(),
            width: 800.0,
            height: 500.0,
        }
    }
}

impl LineChart {
    /// The chart as a picture.
    pub fn to_scene(&self) -> Scene {
        let (width, height) = sides(self.width, self.height);
        let (mut scene, top) = header(width, height, &self.title, &self.caption);
        scene.description = self.description();
        let (range, outside) = self.y_range();
        let notes: Vec<String> = self.notes.iter().cloned().chain(outside).collect();
        let bottom = footer(&mut scene, &notes);
        let more = self.more();
        let entries = self.entries(&more);
        let plan = self.layout(&entries, range, top, bottom, width);
        if let Some(below) = &plan.below {
            below.draw(&mut scene, &entries, EDGE, bottom - below.height);
        }
        left_axis(&mut scene, plan.area, &plan.y, &self.y_label);
        bottom_axis(&mut scene, plan.area, &plan.x, &self.x_label, false);
        self.draw_references(&mut scene, &plan);
        self.draw_series(&mut scene, &plan);
        self.name_references(&mut scene, &plan);
        if plan.below.is_none() && !entries.is_empty() {
            let ends: Vec<End<'_>> = entries
                .into_iter()
                .zip(&self.series)
                .filter_map(|(entry, series)| {
                    let (x, y) = plan.place(last_of(series)?);
                    Some(End { entry, x, y: y.clamp(plan.area.y, plan.area.bottom()) })
                })
                .collect();
            at_ends(&mut scene, plan.area, &ends);
        }
        scene
    }

    /// A description of the picture, for readers who can't see it.
    fn description(&self) -> String {
        let ends = self.series.iter().filter_map(|series| {
            let (x, value) = last_of(series)?;
            let (x, value) = (short_number(x), short_number(value));
            Some(format!("{} ends at {value} ({}: {x})", series.label, self.x_label))
        });
        let mut sentences = vec![self.title.clone()];
        sentences.extend(ends.take(LOOKS));
        sentences.join(". ")
    }

    fn entries<'a>(&'a self, more: &'a str) -> Vec<Entry<'a>> {
        let named = self.series.iter().take(LOOKS).enumerate().map(|(index, series)| Entry {
            look: Some(Look::at_index(index)),
            label: &series.label,
            also: &series.also,
            detail: &series.detail,
            band: !series.band.is_empty(),
        });
        let rest = (!more.is_empty()).then_some(Entry {
            look: None,
            label: more,
            also: "",
            detail: "",
            band: false,
        });
        named.chain(rest).collect()
    }

    /// What the legend says of the lines without their own colour; empty if there are none.
    fn more(&self) -> String {
        match self.series.len().saturating_sub(LOOKS) {
            0 => String::new(),
            more => format!("and {more} more"),
        }
    }

    /// The range of y, and a note when some seeds leave it.
    fn y_range(&self) -> ((f64, f64), Option<String>) {
        let usable = |value: &f64| value.is_finite() && (self.scale() == Scale::Linear || *value > 0.0);
        let lines = self.series.iter().flat_map(|series| {
            let line = series.line.iter().map(|(_, y)| *y);
            let band = series.band.iter().flat_map(|(_, low, high)| [*low, *high]);
            line.chain(band)
        });
        let faint = self.series.iter().flat_map(|series| series.faint.iter().flatten().map(|(_, y)| *y));
        let crosses = self.series.iter().flat_map(|series| series.crosses.iter().map(|(_, y)| *y));
        let all = extent(faint.chain(crosses).chain(lines.clone()).filter(usable)).unwrap_or((0.0, 1.0));
        let main = extent(lines.filter(usable)).unwrap_or(all);
        let span = main.1 - main.0;
        // One seed far out must not press everything else into a line.
        let far = self.scale() == Scale::Linear && span > 0.0 && (all.1 - all.0) > 6.0 * span;
        if !far {
            return (with_references(all.0, all.1, &self.references), None);
        }
        let shown = (all.0.max(main.0 - 0.5 * span), all.1.min(main.1 + 0.5 * span));
        let (low, high) = (short_number(all.0), short_number(all.1));
        let note = format!("Single seeds extend beyond the plot: they range from {low} to {high}.");
        (with_references(shown.0, shown.1, &self.references), Some(note))
    }

    fn scale(&self) -> Scale {
        let positive = self.series.iter().any(|series| series.line.iter().any(|(_, y)| *y > 0.0));
        if positive { self.y_scale } else { Scale::Linear }
    }

    fn layout(&self, entries: &[Entry<'_>], range: (f64, f64), top: f32, bottom: f32, width: f32) -> Plan {
        let xs = self.series.iter().flat_map(|series| {
            let faint = series.faint.iter().flatten().map(|(x, _)| *x);
            series.line.iter().map(|(x, _)| *x).chain(faint).chain(series.band.iter().map(|(x, ..)| *x))
        });
        let (first, last) = extent(xs.filter(|x| x.is_finite())).unwrap_or((0.0, 1.0));
        // Training begins at nothing done, unless the data are from far beyond.
        let first = if first > 0.0 && first <= 0.25 * last { 0.0 } else { first };
        let axis_of = |height: f32| {
            Axis::rounded(range.0, range.1, (height / 42.0).clamp(3.0, 8.0) as usize, self.scale())
        };
        let full = bottom - top - BOTTOM;
        let margin = |axis: &Axis| EDGE + SMALL + 14.0 + widest(&axis.ticks).min(width * 0.25);
        let right = entries.iter().map(Entry::width).fold(0.0, f32::max) + LEADER + EDGE * 0.75;
        let beside = self.labels_fit_beside(entries, right, full, width, (first, last));
        let below = (!beside && !entries.is_empty())
            .then(|| Below::plan(entries, width - 2.0 * EDGE, ((bottom - top) * 0.4).max(18.0)));
        let height = (full - below.as_ref().map_or(0.0, |below| below.height + 4.0)).max(30.0);
        let y = axis_of(height);
        let left = margin(&y);
        let right = if beside && !entries.is_empty() { right } else { EDGE + 8.0 };
        let area = Rect::new(left, top, (width - left - right).max(40.0), height);
        let x = Axis::tight(first, last, (area.width / 80.0).clamp(3.0, 10.0) as usize);
        Plan { area, x, y, below }
    }

    /// Whether each line can be named where it ends.
    fn labels_fit_beside(
        &self,
        entries: &[Entry<'_>],
        right: f32,
        height: f32,
        width: f32,
        (first, last): (f64, f64),
    ) -> bool {
        let ends_at_the_edge =
            |series: &SeriesBand| last_of(series).is_some_and(|(x, _)| x >= last - 0.08 * (last - first));
        entries.iter().all(|entry| entry.look.is_some())
            && entries.len() as f32 * APART <= height * 0.75
            && (2..=7).contains(&entries.len())
            && right <= width * 0.3
            && self.series.iter().all(ends_at_the_edge)
    }

    fn draw_references(&self, scene: &mut Scene, plan: &Plan) {
        let area = plan.area;
        for reference in self.references.iter().filter(|reference| shows(&plan.y, reference)) {
            let (_, y) = plan.place((plan.x.low, reference.value));
            let line = Path::line((area.x, y), (area.right(), y));
            scene.stroke(line, Stroke::dashed(Color::INK.with_opacity(0.6), 1.0, &[2.0, 3.0]));
        }
    }

    /// Above the lines, so that these can be read.
    fn name_references(&self, scene: &mut Scene, plan: &Plan) {
        let area = plan.area;
        for reference in self.references.iter().filter(|reference| shows(&plan.y, reference)) {
            let (_, y) = plan.place((plan.x.low, reference.value));
            let words = fitted(&reference.label, area.width - 12.0, TINY, false);
            // Above the line, or below it at the picture's upper edge.
            let baseline = if y - area.y < TINY + 6.0 { y + TINY + 3.0 } else { y - 4.5 };
            ground(scene, area.x + 6.0, baseline, &words, TINY);
            scene.text(Text::new(area.x + 6.0, baseline, words, TINY, Color::INK));
        }
    }

    fn draw_series(&self, scene: &mut Scene, plan: &Plan) {
        let clip = Some(plan.clip());
        let split = self.series.len().min(LOOKS);
        let (named, rest) = self.series.split_at(split);
        for series in rest {
            let stroke = Stroke::solid(background(), 1.2);
            draw_line(scene, plan, &series.line, &stroke, clip);
        }
        for (index, series) in named.iter().enumerate() {
            let tint = Look::at_index(index).color().with_opacity(BAND_OPACITY);
            draw_band(scene, plan, &series.band, tint, clip);
        }
        let opacity = faint_opacity(named, plan.area.width);
        for (index, series) in named.iter().enumerate() {
            let color = Look::at_index(index).color().with_opacity(opacity);
            for seed in &series.faint {
                draw_line(scene, plan, seed, &Stroke::solid(color, 0.9), clip);
            }
        }
        for (index, series) in named.iter().enumerate().rev() {
            let look = Look::at_index(index);
            // A bright edge lifts the line off the seeds and bands behind it.
            let halo = Stroke::solid(Color::WHITE.with_opacity(0.75), 4.6);
            draw_line(scene, plan, &series.line, &halo, clip);
            draw_line(scene, plan, &series.line, &look.stroke(2.2), clip);
            if named.len() > 1 {
                for place in marks(plan, &series.line, index) {
                    look.marker(scene, place, 3.6, clip);
                }
            }
        }
        for (index, series) in named.iter().enumerate() {
            for place in &series.crosses {
                cross(scene, plan.place(*place), 4.2, Look::at_index(index).color(), clip);
            }
        }
    }
}

/// How strongly seeds are drawn: the less, the more of them there are and the
/// more they go up and down, so that together they never hide the lines.
fn faint_opacity(series: &[SeriesBand], width: f32) -> f32 {
    let seeds = series.iter().flat_map(|series| &series.faint);
    // No column shows more of a line than its extremes.
    let drawn: f32 = seeds.clone().map(|seed| (seed.len() as f32).min(4.0 * width)).sum();
    let crowd = (seeds.count() as f32 / 12.0).max(drawn / width / 4.0).max(1.0);
    (0.34 / crowd.sqrt()).max(0.05)
}

struct Plan {
    area: Rect,
    x: Axis,
    y: Axis,
    below: Option<Below>,
}

impl Plan {
    /// A point of the data in the picture; NaN for gaps. What lies far outside
    /// stays near enough for arithmetic on pixels.
    fn place(&self, (x, y): (f64, f64)) -> (f32, f32) {
        let near = |part: f64| part.clamp(-20.0, 20.0) as f32;
        (
            self.area.x + near(self.x.part(x)) * self.area.width,
            self.area.bottom() - near(self.y.part(y)) * self.area.height,
        )
    }

    /// The area with room for the width of lines and marks at its edges.
    fn clip(&self) -> Rect {
        let Rect { x, y, width, height } = self.area;
        Rect::new(x - 1.0, y - 5.0, width + 6.0, height + 8.0)
    }
}

fn draw_line(scene: &mut Scene, plan: &Plan, points: &[(f64, f64)], stroke: &Stroke, clip: Option<Rect>) {
    let mut path = Path::default();
    let mut dots = Path::default();
    for piece in pieces(points.iter().map(|point| plan.place(gap(*point)))) {
        match piece.as_slice() {
            // Between two gaps, or all there is.
            [(x, y)] => dots.segments.extend(Path::circle(*x, *y, stroke.width.max(1.2)).segments),
            _ => path.segments.extend(Path::polyline(piece).segments),
        }
    }
    if !path.segments.is_empty() {
        scene.shape(path, None, Some(stroke.clone()), clip);
    }
    if !dots.segments.is_empty() {
        scene.shape(dots, Some(stroke.color), None, clip);
    }
}

/// Infinite numbers have no place in a picture.
fn gap((x, y): (f64, f64)) -> (f64, f64) {
    if y.is_finite() { (x, y) } else { (x, f64::NAN) }
}

fn draw_band(scene: &mut Scene, plan: &Plan, band: &[(f64, f64, f64)], tint: Color, clip: Option<Rect>) {
    let mut path = Path::default();
    let whole = |(x, low, high): &(f64, f64, f64)| {
        let ends = [plan.place((*x, *low)), plan.place((*x, *high))];
        low.is_finite() && high.is_finite() && ends.iter().all(|(x, y)| x.is_finite() && y.is_finite())
    };
    for piece in band.chunk_by(|a, b| whole(a) == whole(b)).filter(|piece| whole(&piece[0])) {
        let upper = piece.iter().map(|(x, _, high)| plan.place((*x, *high)));
        let lower = piece.iter().rev().map(|(x, low, _)| plan.place((*x, *low)));
        path.segments.extend(Path::polyline(upper.chain(lower)).segments);
        path.segments.push(Segment::Close);
    }
    if !path.segments.is_empty() {
        scene.shape(path, Some(tint), None, clip);
    }
}

/// Places for markers, evenly along x and for every series at other ones.
fn marks(plan: &Plan, line: &[(f64, f64)], index: usize) -> Vec<(f32, f32)> {
    let places: Vec<(f32, f32)> = line
        .iter()
        .map(|point| plan.place(gap(*point)))
        .filter(|(x, y)| x.is_finite() && y.is_finite())
        .collect();
    let apart = 84.0;
    let start = plan.area.x + apart * ((index as f32 * 0.381_966) % 1.0) + 8.0;
    let mut found = Vec::new();
    let mut wanted = start;
    for place in places {
        if place.0 >= wanted {
            found.push(place);
            wanted += apart * ((place.0 - wanted) / apart).floor() + apart;
        }
    }
    found
}

fn last_of(series: &SeriesBand) -> Option<(f64, f64)> {
    series.line.iter().rev().copied().find(|(x, y)| x.is_finite() && y.is_finite())
}

fn extent(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |found, value| {
        let (low, high) = found.unwrap_or((value, value));
        Some((low.min(value), high.max(value)))
    })
}
