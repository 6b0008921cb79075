//! Charts of scores over settings: what they draw, at any size and from any input.

use proptest::prelude::*;
use rlxp_draw::chart::{
    HeatCell, HeatMap, ParallelChart, ParallelLine, ScoreDot, SettingAxis, SettingChart, SettingMean,
    SettingPanel, Spacing,
};
use rlxp_draw::{Color, Item, Scene, color};

use crate::charts::{check, number, well_formed, words};

const SIZES: [(f32, f32); 4] = [(800.0, 0.0), (500.0, 320.0), (1600.0, 900.0), (360.0, 300.0)];

fn rates(count: usize) -> SettingAxis {
    let values: Vec<f64> = (0..count).map(|index| 1e-5 * 3f64.powi(index as i32)).collect();
    SettingAxis {
        label: "algo.learning_rate".to_owned(),
        spacing: Spacing::Logarithmic,
        range: (values[0], values[count - 1]),
        values: values.into_iter().map(|value| (value, format!("{value:.0e}"))).collect(),
        edges: Vec::new(),
    }
}

fn sizes(count: usize) -> SettingAxis {
    let values = (0..count).map(|index| (index as f64, format!("[{0}, {0}]", 8 << (index % 8))));
    SettingAxis {
        label: "policy.hidden_sizes".to_owned(),
        values: values.collect(),
        ..SettingAxis::default()
    }
}

fn panel(axis: SettingAxis) -> SettingPanel {
    let score = |index: usize, seed: usize| 100.0 + 37.0 * ((index * 5 + seed * 3) % 11) as f64;
    let places: Vec<f64> = axis.values.iter().map(|(place, _)| *place).collect();
    let dots = places.iter().enumerate().flat_map(|(index, place)| {
        (0..3).map(move |seed| ScoreDot {
            place: *place,
            score: score(index, seed),
            failed: seed == 2 && index == 1,
        })
    });
    let means = places.iter().enumerate().map(|(index, place)| SettingMean {
        place: *place,
        mean: score(index, 1),
        interval: (index.is_multiple_of(2)).then(|| (score(index, 1) - 30.0, score(index, 1) + 30.0)),
        seeds: if index.is_multiple_of(2) { "n = 3".to_owned() } else { "1 seed".to_owned() },
    });
    SettingPanel { dots: dots.collect(), means: means.collect(), axis }
}

fn panels(count: usize) -> SettingChart {
    let of = |index: usize| {
        if index.is_multiple_of(2) { panel(rates(3 + index)) } else { panel(sizes(2 + index)) }
    };
    SettingChart {
        title: "Last evaluation, CartPole-v1".to_owned(),
        caption: "Dot: a seed. Bold dot: mean of the n seeds with that value.".to_owned(),
        label: "mean return of the last evaluation".to_owned(),
        panels: (0..count).map(of).collect(),
        notes: vec!["Each panel pools runs that differ in the keys of the others.".to_owned()],
        ..SettingChart::default()
    }
}

fn grid(columns: usize, rows: usize) -> HeatMap {
    let all = (0..rows).flat_map(|row| (0..columns).map(move |column| (column, row)));
    let cells = all.filter(|(column, row)| (column + row) % 4 != 3).map(|(column, row)| HeatCell {
        column,
        row,
        score: (column * 13 + row * 29) as f64 % 500.0,
        detail: "n = 2".to_owned(),
    });
    HeatMap {
        title: "Last evaluation, CartPole-v1".to_owned(),
        label: "mean return of the last evaluation".to_owned(),
        x: rates(columns),
        y: sizes(rows),
        cells: cells.collect(),
        ..HeatMap::default()
    }
    .side_by_side()
}

/// Test data come with places on a scale.
trait SideBySide {
    fn side_by_side(self) -> Self;
}

impl SideBySide for HeatMap {
    fn side_by_side(mut self) -> Self {
        for axis in [&mut self.x, &mut self.y] {
            axis.spacing = Spacing::Even;
            axis.values.iter_mut().enumerate().for_each(|(index, value)| value.0 = index as f64);
        }
        self
    }
}

fn parallel(axes: usize, lines: usize) -> ParallelChart {
    let axes: Vec<SettingAxis> =
        (0..axes).map(|index| if index.is_multiple_of(2) { rates(4) } else { sizes(3) }).collect();
    let line = |index: usize| ParallelLine {
        places: axes
            .iter()
            .enumerate()
            .map(|(at, axis)| axis.values[(index + at) % axis.values.len()].0)
            .collect(),
        score: (index * 37 % 500) as f64,
    };
    let lines = (0..lines).map(line).collect();
    ParallelChart {
        title: "Last evaluation, CartPole-v1".to_owned(),
        label: "mean return of the last evaluation".to_owned(),
        axes,
        lines,
        ..ParallelChart::default()
    }
}

fn texts(scene: &Scene) -> Vec<&str> {
    let words = scene.items.iter().filter_map(|item| match item {
        Item::Text(text) => Some(text.words.as_str()),
        Item::Shape { .. } | Item::Image { .. } => None,
    });
    words.collect()
}

#[test]
fn every_chart_has_room_at_any_size() {
    for (width, height) in SIZES {
        for count in [0, 1, 2, 3, 4, 6, 9, 12] {
            check(&SettingChart { width, height, ..panels(count) }.to_scene());
        }
        for (columns, rows) in [(1, 1), (4, 3), (8, 8), (16, 16)] {
            check(&HeatMap { width, height, ..grid(columns, rows) }.to_scene());
        }
        for (axes, lines) in [(1, 1), (3, 60), (9, 500)] {
            check(&ParallelChart { width, height, ..parallel(axes, lines) }.to_scene());
        }
    }
    check(&SettingChart::default().to_scene());
    check(&HeatMap::default().to_scene());
    check(&ParallelChart::default().to_scene());
}

#[test]
fn a_panel_shows_every_seed_every_mean_and_how_many_seeds_there_are() {
    let scene = SettingChart { panels: vec![panel(rates(3))], ..panels(0) }.to_scene();
    let fills = |of: Color| {
        let same = |item: &&Item| matches!(item, Item::Shape { fill: Some(fill), .. } if *fill == of);
        scene.items.iter().filter(same).count()
    };
    let blue = color::at_index(0).with_opacity(0.5);
    assert_eq!((fills(blue), fills(Color::INK)), (8, 3), "eight dots, one cross, three means");
    let words = texts(&scene);
    assert_eq!(words.iter().filter(|word| **word == "n = 3").count(), 2);
    for word in ["1 seed", "algo.learning_rate", "1e-5", "9e-5"] {
        assert!(words.contains(&word), "{word} is not in {words:?}");
    }
    assert!(
        scene
            .to_svg_element()
            .contains("<title>Last evaluation, CartPole-v1. algo.learning_rate: 1e-5 gives")
    );
}

#[test]
fn cells_are_coloured_and_labelled_so_that_both_can_be_read() {
    let map = grid(4, 3);
    let scene = map.to_scene();
    let words = texts(&scene);
    assert_eq!(words.iter().filter(|word| **word == "n = 2").count(), map.cells.len());
    // Ink on light cells, white on dark ones.
    let colors: Vec<Color> = scene
        .items
        .iter()
        .filter_map(|item| match item {
            Item::Text(text) if text.words == "n = 2" => Some(text.color),
            _ => None,
        })
        .collect();
    assert!(colors.contains(&Color::WHITE) && colors.contains(&Color::INK));
    let small = HeatMap { width: 360.0, height: 300.0, ..grid(16, 16) }.to_scene();
    assert!(!texts(&small).contains(&"n = 2"));
    assert!(texts(&small).iter().any(|word| word.starts_with("The cells are too small")));
}

#[test]
fn the_best_lines_are_last_and_thicker() {
    let scene = parallel(3, 50).to_scene();
    let widths: Vec<f32> = scene
        .items
        .iter()
        .filter_map(|item| match item {
            Item::Shape { path, stroke: Some(stroke), .. } if path.segments.len() == 4 => Some(stroke.width),
            _ => None,
        })
        .filter(|width| *width != 4.6)
        .collect();
    assert_eq!(widths.len(), 50);
    assert!(widths[..45].iter().all(|width| *width == 1.3) && widths[45..].iter().all(|width| *width == 2.8));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn hostile_settings_give_a_picture(
        names in proptest::collection::vec(words(), 4),
        points in proptest::collection::vec((number(), number(), number()), 0..20),
        spacing in prop_oneof![Just(Spacing::Even), Just(Spacing::Linear), Just(Spacing::Logarithmic)],
        ranges in 0usize..6,
        width in 160.0..1200.0f32,
    ) {
        let name = |index: usize| names[index % names.len()].clone();
        let axis = SettingAxis {
            label: name(0),
            spacing,
            values: points.iter().enumerate().map(|(index, (place, ..))| (*place, name(index))).collect(),
            range: points.first().map_or((0.0, 0.0), |(low, high, _)| (*low, *high)),
            edges: points.iter().take(ranges).map(|(end, ..)| (*end, name(2))).collect(),
        };
        let dot = |(place, score, _): &(f64, f64, f64)| ScoreDot { place: *place, score: *score, failed: *score > 0.0 };
        let mean = |(place, mean, end): &(f64, f64, f64)| {
            SettingMean { place: *place, mean: *mean, interval: Some((*mean, *end)), seeds: name(1) }
        };
        let panel = SettingPanel {
            axis: axis.clone(),
            dots: points.iter().map(dot).collect(),
            means: points.iter().map(mean).collect(),
        };
        let scenes = [
            SettingChart { title: name(1), panels: vec![panel; 3], width, ..SettingChart::default() }.to_scene(),
            HeatMap {
                title: name(2),
                x: axis.clone(),
                y: axis.clone(),
                cells: points.iter().enumerate().map(|(index, point)| HeatCell {
                    column: index, row: index / 2, score: point.1, detail: name(3),
                }).collect(),
                width,
                ..HeatMap::default()
            }.to_scene(),
            ParallelChart {
                title: name(3),
                axes: vec![axis; 3],
                lines: points.iter().map(|(a, b, c)| ParallelLine { places: vec![*a, *b], score: *c }).collect(),
                width,
                ..ParallelChart::default()
            }.to_scene(),
        ];
        for scene in scenes {
            prop_assert!(well_formed(&scene.to_svg()).is_ok(), "{:?}", well_formed(&scene.to_svg()));
            let frame = scene.to_frame(0.5);
            prop_assert_eq!(frame.rgba.len(), (frame.width * frame.height * 4) as usize);
        }
    }
}
