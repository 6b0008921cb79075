//! Charts from any input: well-formed SVG, pixels, nothing outside the picture,
//! no text over another.

use proptest::prelude::*;
use rlxp_draw::chart::{LOOKS, LineChart, Reference, Scale, ScoreChart, ScoreGroup, SeriesBand};
use rlxp_draw::{Anchor, Item, Scene, Text, font};

/// Fails unless `text` is one well-formed XML element: every tag closed in
/// turn, every attribute quoted, nothing unescaped between.
pub(crate) fn well_formed(text: &str) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = text.trim_end();
    let mut roots = 0;
    while let Some(start) = rest.find('<') {
        let (before, tag) = rest.split_at(start);
        check_content(before)?;
        if open.is_empty() && !before.trim().is_empty() {
            return Err(format!("text outside: {before:?}"));
        }
        let end = tag.find('>').ok_or("a tag without end")?;
        let inside = &tag[1..end];
        rest = &tag[end + 1..];
        if let Some(name) = inside.strip_prefix('/') {
            let expected = open.pop();
            if expected != Some(name) {
                return Err(format!("</{name}> closes {expected:?}"));
            }
            continue;
        }
        let (inside, closed) = inside.strip_suffix('/').map_or((inside, false), |inside| (inside, true));
        let name = inside.split(' ').next().unwrap_or_default();
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric()) {
            return Err(format!("a tag named {name:?}"));
        }
        check_attributes(&inside[name.len()..])?;
        roots += usize::from(open.is_empty());
        if !closed {
            open.push(name);
        }
    }
    check_content(rest)?;
    if !open.is_empty() || roots != 1 || !rest.is_empty() {
        return Err(format!("{open:?} stay open, {roots} roots, {rest:?} after them"));
    }
    Ok(())
}

fn check_content(text: &str) -> Result<(), String> {
    for part in text.split('&').skip(1) {
        let entity = part.split(';').next().unwrap_or_default();
        if !["amp", "lt", "gt", "quot", "#39"].contains(&entity) {
            return Err(format!("a bare & before {part:?}"));
        }
    }
    let bad = |c: char| (c.is_control() && c != '\n') || c == '\u{fffe}' || c == '\u{ffff}';
    if text.contains(bad) { Err(format!("a forbidden character in {text:?}")) } else { Ok(()) }
}

fn check_attributes(text: &str) -> Result<(), String> {
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (name, after) = rest.split_once("=\"").ok_or(format!("no attribute: {rest:?}"))?;
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphabetic() || c == '-') {
            return Err(format!("an attribute named {name:?}"));
        }
        let (value, after) = after.split_once('"').ok_or("a value without end")?;
        check_content(value)?;
        rest = after.trim_start();
    }
    Ok(())
}

/// The bounds of a horizontal text: left, top, right, bottom.
fn place(text: &Text) -> (f32, f32, f32, f32) {
    let width = font::text_width(&text.words, text.size, text.bold);
    let left = match text.anchor {
        Anchor::Start => text.x,
        Anchor::Middle => text.x - width / 2.0,
        Anchor::End => text.x - width,
    };
    (left, text.y - text.size * 0.75, left + width, text.y + text.size * 0.05)
}

/// Invariants of every chart.
pub(crate) fn check(scene: &Scene) {
    assert_eq!(well_formed(&scene.to_svg_element()), Ok(()));
    let texts: Vec<&Text> = scene
        .items
        .iter()
        .filter_map(|item| match item {
            Item::Text(text) if text.rotation == 0.0 && !text.words.is_empty() => Some(text),
            _ => None,
        })
        .collect();
    for (index, text) in texts.iter().enumerate() {
        let (left, top, right, bottom) = place(text);
        assert!(
            left >= -0.5 && top >= -0.5 && right <= scene.width + 0.5 && bottom <= scene.height + 0.5,
            "{:?} leaves the picture: {:?}",
            text.words,
            place(text)
        );
        for other in &texts[..index] {
            let (l, t, r, b) = place(other);
            let apart = right <= l + 0.5 || r <= left + 0.5 || bottom <= t + 0.5 || b <= top + 0.5;
            assert!(apart, "{:?} over {:?}", text.words, other.words);
        }
    }
}

fn curve(group: usize, seeds: usize, points: usize) -> SeriesBand {
    let value =
        |x: f64, shift: f64| 500.0 * (1.0 - (-x / 20_000.0).exp()) / (1.0 + group as f64 * 0.1) + shift;
    let xs: Vec<f64> = (0..points).map(|i| i as f64 * 100_000.0 / points as f64).collect();
    SeriesBand {
        label: format!("learning_rate={group}e-4"),
        also: format!("sweep_{group:03}"),
        detail: format!("n = {seeds}"),
        line: xs.iter().map(|x| (*x, value(*x, 0.0))).collect(),
        band: xs.iter().map(|x| (*x, value(*x, -20.0), value(*x, 20.0))).collect(),
        faint: (0..seeds)
            .map(|s| xs.iter().map(|x| (*x, value(*x, s as f64 * 9.0 - 20.0))).collect())
            .collect(),
        crosses: vec![(50_000.0, 300.0)],
    }
}

fn chart(groups: usize) -> LineChart {
    LineChart {
        title: "Evaluation return, CartPole-v1".to_owned(),
        caption: "Line: interquartile mean over seeds. Band: 95% bootstrap interval.".to_owned(),
        x_label: "steps".to_owned(),
        y_label: "mean return".to_owned(),
        series: (0..groups).map(|group| curve(group, 5, 50)).collect(),
        references: vec![Reference { value: 475.0, label: "solved at 475".to_owned(), pinned: false }],
        notes: vec!["Seed 3 failed.".to_owned()],
        ..LineChart::default()
    }
}

#[test]
fn any_number_of_groups_has_room_at_any_size() {
    for groups in [0, 1, 2, 3, 5, 7, 8, 10, 14, 15, 40] {
        for (width, height) in [(800.0, 500.0), (500.0, 320.0), (1600.0, 900.0), (360.0, 300.0)] {
            check(&LineChart { width, height, ..chart(groups) }.to_scene());
        }
    }
    check(&LineChart { width: 1.0, height: f32::NAN, ..chart(2) }.to_scene());
}

#[test]
fn lines_are_named_at_their_ends_or_below() {
    let texts = |groups: usize| {
        let scene = chart(groups).to_scene();
        let words = scene.items.iter().filter_map(|item| match item {
            Item::Text(text) if text.words.starts_with("learning_rate") => Some((text.x, text.y)),
            _ => None,
        });
        words.collect::<Vec<_>>()
    };
    assert_eq!(texts(3).len(), 3);
    assert!(texts(3).iter().all(|(x, _)| *x > 500.0), "at the right");
    assert_eq!(texts(10).len(), 10);
    assert!(texts(10).iter().all(|(_, y)| *y > 350.0), "below");
    assert_eq!(texts(30).len(), LOOKS);
}

#[test]
fn references_are_drawn_where_they_belong() {
    let shown = |value: f64, pinned: bool| {
        let references = vec![Reference { value, label: "held against".to_owned(), pinned }];
        LineChart { references, ..chart(1) }.to_scene().to_svg_element().contains("held against")
    };
    assert!(shown(475.0, false) && shown(500.0, false));
    assert!(!shown(5000.0, false) && shown(5000.0, true));
    assert!(!shown(f64::NAN, true));
}

#[test]
fn gaps_break_lines_and_nothing_is_nothing() {
    let gaps = SeriesBand {
        label: "gaps".to_owned(),
        line: vec![(0.0, 1.0), (1.0, 2.0), (2.0, f64::NAN), (3.0, f64::INFINITY), (4.0, 3.0), (5.0, 2.0)],
        ..SeriesBand::default()
    };
    let scene = LineChart { series: vec![gaps], ..LineChart::default() }.to_scene();
    let broken = scene.items.iter().any(|item| match item {
        Item::Shape { path, stroke: Some(stroke), .. } if stroke.width == 2.2 => {
            path.segments.iter().filter(|s| matches!(s, rlxp_draw::Segment::Move(..))).count() == 2
        }
        _ => false,
    });
    assert!(broken);
    check(&LineChart { series: vec![SeriesBand::default()], ..LineChart::default() }.to_scene());
}

#[test]
fn a_seed_far_out_does_not_press_the_rest_flat() {
    let mut series = curve(0, 5, 50);
    series.faint[0][25].1 = 1e9;
    let svg = LineChart { series: vec![series], ..chart(0) }.to_scene().to_svg_element();
    assert!(svg.contains("Single seeds extend beyond the plot: they range from −20 to 1G"), "{svg}");
    assert!(svg.contains(">400</text>"));
}

#[test]
fn scores_are_dots_in_rows() {
    let group = |label: &str, scores: &[f64]| ScoreGroup {
        label: label.to_owned(),
        detail: format!("n = {}", scores.len()),
        scores: scores.to_vec(),
        failed: vec![5.0],
        value: Some(400.0),
        interval: Some((350.0, 450.0)),
    };
    let chart = ScoreChart {
        title: "Final return".to_owned(),
        label: "return".to_owned(),
        groups: vec![group("a", &[300.0, 450.0, 500.0]), group("b", &[f64::NAN, 400.0])],
        references: vec![Reference { value: 475.0, label: "solved at 475".to_owned(), pinned: false }],
        ..ScoreChart::default()
    };
    let scene = chart.to_scene();
    check(&scene);
    let dots = |item: &&Item| matches!(item, Item::Shape { fill: Some(fill), stroke: Some(_), .. } if fill.alpha < 255);
    assert_eq!(scene.items.iter().filter(dots).count(), 4);
    assert!(scene.to_svg_element().contains("1 without a value"));
    check(&ScoreChart::default().to_scene());
}

/// Numbers as they come from broken trainings.
pub(crate) fn number() -> impl Strategy<Value = f64> {
    prop_oneof![4 => -1e3..1e3f64, 1 => proptest::num::f64::ANY, 1 => Just(f64::NAN), 1 => Just(0.0)]
}

/// Names as an attacker would choose them.
pub(crate) fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => ".{0,40}",
        1 => Just("</text><script>alert('x')</script> & \"q\" ]]> \u{0}\u{fffe}\u{ffff}\u{202e}".to_owned()),
        1 => Just("強化学習 агент 🤖 ñandú".to_owned()),
        1 => Just("wide ".repeat(60)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn hostile_input_gives_a_picture(
        names in proptest::collection::vec(words(), 6),
        points in proptest::collection::vec((number(), number(), number()), 0..30),
        groups in 0usize..18,
        logarithmic in any::<bool>(),
        width in 160.0..1200.0f32,
    ) {
        let name = |index: usize| names[index % names.len()].clone();
        let chart = LineChart {
            title: name(0),
            caption: name(1),
            x_label: name(2),
            y_label: name(3),
            y_scale: if logarithmic { Scale::Logarithmic } else { Scale::Linear },
            series: (0..groups).map(|group| SeriesBand {
                label: name(group),
                also: name(group + 2),
                detail: name(group + 1),
                line: points.iter().map(|(x, y, _)| (*x, *y)).collect(),
                band: points.clone(),
                faint: vec![points.iter().map(|(x, _, y)| (*x, *y)).collect(); 2],
                crosses: points.iter().map(|(_, x, y)| (*x, *y)).collect(),
            }).collect(),
            references: vec![Reference { value: points.first().map_or(1.0, |p| p.0), label: name(4), pinned: true }],
            notes: vec![name(5), name(0)],
            width,
            height: 400.0,
        };
        let scene = chart.to_scene();
        prop_assert!(well_formed(&scene.to_svg()).is_ok(), "{:?}", well_formed(&scene.to_svg()));
        let frame = scene.to_frame(0.5);
        prop_assert_eq!(frame.rgba.len(), (frame.width * frame.height * 4) as usize);
        let scores = ScoreChart {
            title: name(0),
            groups: (0..groups).map(|group| ScoreGroup {
                label: name(group),
                detail: name(group + 1),
                scores: points.iter().map(|p| p.0).collect(),
                failed: points.iter().map(|p| p.1).collect(),
                value: points.first().map(|p| p.0),
                interval: points.first().map(|p| (p.1, p.2)),
            }).collect(),
            ..ScoreChart::default()
        };
        prop_assert!(well_formed(&scores.to_scene().to_svg_element()).is_ok());
    }
}
