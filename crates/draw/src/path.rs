//! Outlines, and the shapes that pictures are made of.

/// A piece of an outline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Segment {
    /// Starts a new outline at x, y.
    Move(f32, f32),
    /// A straight line to x, y.
    Line(f32, f32),
    /// A quadratic curve: control point, end.
    Quad(f32, f32, f32, f32),
    /// A cubic curve: two control points, end.
    Cubic(f32, f32, f32, f32, f32, f32),
    /// Back to where the outline began.
    Close,
}

/// Distance of a cubic's control points that makes it a quarter of a circle.
const QUARTER: f32 = 0.552_284_8;

/// One or several outlines. y grows downwards, as on a screen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Path {
    /// The pieces in order.
    pub segments: Vec<Segment>,
}

impl Path {
    /// A straight line.
    pub fn line(from: (f32, f32), to: (f32, f32)) -> Self {
        Self::polyline([from, to])
    }

    /// Straight lines from point to point.
    pub fn polyline(points: impl IntoIterator<Item = (f32, f32)>) -> Self {
        let mut segments: Vec<Segment> = points.into_iter().map(|(x, y)| Segment::Line(x, y)).collect();
        if let Some(first) = segments.first_mut()
            && let Segment::Line(x, y) = *first
        {
            *first = Segment::Move(x, y);
        }
        Self { segments }
    }

    /// A closed shape with these corners.
    pub fn polygon(points: impl IntoIterator<Item = (f32, f32)>) -> Self {
        let mut path = Self::polyline(points);
        path.segments.push(Segment::Close);
        path
    }

    pub fn rect(x: f32, y: f32, width: f32, height: f32) -> Self {
        Self::polygon([(x, y), (x + width, y), (x + width, y + height), (x, y + height)])
    }

    /// A rectangle with round corners.
    pub fn rounded_rect(x: f32, y: f32, width: f32, height: f32, radius: f32) -> Self {
        use Segment::{Close, Cubic, Line, Move};
        let r = radius.min(width / 2.0).min(height / 2.0);
        let c = r * (1.0 - QUARTER);
        let (right, bottom) = (x + width, y + height);
        let segments = vec![
            Move(x + r, y),
            Line(right - r, y),
            Cubic(right - c, y, right, y + c, right, y + r),
            Line(right, bottom - r),
            Cubic(right, bottom - c, right - c, bottom, right - r, bottom),
            Line(x + r, bottom),
            Cubic(x + c, bottom, x, bottom - c, x, bottom - r),
            Line(x, y + r),
            Cubic(x, y + c, x + c, y, x + r, y),
            Close,
        ];
        Self { segments }
    }

    pub fn circle(x: f32, y: f32, radius: f32) -> Self {
        Self::ellipse(x, y, radius, radius)
    }

    /// An ellipse with level axes.
    pub fn ellipse(x: f32, y: f32, across: f32, down: f32) -> Self {
        use Segment::{Close, Cubic, Move};
        let (kx, ky) = (across * QUARTER, down * QUARTER);
        let segments = vec![
            Move(x + across, y),
            Cubic(x + across, y + ky, x + kx, y + down, x, y + down),
            Cubic(x - kx, y + down, x - across, y + ky, x - across, y),
            Cubic(x - across, y - ky, x - kx, y - down, x, y - down),
            Cubic(x + kx, y - down, x + across, y - ky, x + across, y),
            Close,
        ];
        Self { segments }
    }

    /// Part of a circle from angle `from` to `to`, in radians clockwise from
    /// the right, as seen on the screen.
    pub fn arc(x: f32, y: f32, radius: f32, from: f32, to: f32) -> Self {
        let pieces = ((to - from).abs() / 0.2).ceil().max(1.0) as usize;
        Self::polyline((0..=pieces).map(|piece| {
            let angle = from + (to - from) * piece as f32 / pieces as f32;
            (x + radius * angle.cos(), y + radius * angle.sin())
        }))
    }

    /// A line of some width with round ends, from point to point: limbs, poles.
    pub fn capsule(from: (f32, f32), to: (f32, f32), width: f32) -> Self {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let angle = dy.atan2(dx);
        let half_turn = std::f32::consts::PI;
        let mut path =
            Self::arc(from.0, from.1, width / 2.0, angle + half_turn / 2.0, angle + half_turn * 1.5);
        let end = Self::arc(to.0, to.1, width / 2.0, angle - half_turn / 2.0, angle + half_turn / 2.0);
        path.segments.extend(end.segments.into_iter().map(|segment| match segment {
            Segment::Move(x, y) => Segment::Line(x, y),
            other => other,
        }));
        path.segments.push(Segment::Close);
        path
    }

    /// The path with every point passed through `change`.
    #[must_use]
    pub fn map(mut self, change: impl Fn((f32, f32)) -> (f32, f32)) -> Self {
        for segment in &mut self.segments {
            *segment = match *segment {
                Segment::Move(x, y) => {
                    let (x, y) = change((x, y));
                    Segment::Move(x, y)
                }
                Segment::Line(x, y) => {
                    let (x, y) = change((x, y));
                    Segment::Line(x, y)
                }
                Segment::Quad(a, b, x, y) => {
                    let ((a, b), (x, y)) = (change((a, b)), change((x, y)));
                    Segment::Quad(a, b, x, y)
                }
                Segment::Cubic(a, b, c, d, x, y) => {
                    let ((a, b), (c, d), (x, y)) = (change((a, b)), change((c, d)), change((x, y)));
                    Segment::Cubic(a, b, c, d, x, y)
                }
                Segment::Close => Segment::Close,
            };
        }
        self
    }

    /// The path moved and turned: rotated by `angle` radians clockwise on the
    /// screen around the origin, then shifted.
    #[must_use]
    pub fn placed(self, x: f32, y: f32, angle: f32) -> Self {
        let (sin, cos) = angle.sin_cos();
        self.map(|(px, py)| (x + px * cos - py * sin, y + px * sin + py * cos))
    }
}
