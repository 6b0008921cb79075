//! Pictures of ordinary and of strange inspections.

use super::*;
use crate::scene::Item;

fn ordinary(steps: usize) -> InspectionPicture {
    let wave = |step: usize| 20.0 + 5.0 * (step as f64 * 0.1).sin();
    let sure = |step: usize| 0.5 + 0.4 * (step as f64 * 0.3).cos();
    InspectionPicture {
        title: "run".into(),
        subtitle: "most likely actions".into(),
        values: (0..steps).map(wave).collect(),
        episode_starts: vec![steps / 2],
        states: (0..steps.min(6)).map(|at| PicturedState { at, words: format!("step {at}") }).collect(),
        actions: PicturedActions::Choices(vec![PicturedChoices {
            names: vec!["left".into(), "right".into()],
            probabilities: (0..steps).map(|step| vec![sure(step), 1.0 - sure(step)]).collect(),
        }]),
        question: "What the value depends on".into(),
        dimensions: ["a", "b"]
            .map(|name| PicturedDimension { name: name.into(), shares: [0.5, 0.5, 0.5] })
            .to_vec(),
        states_title: "States".into(),
        footnotes: vec!["all agree".into()],
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
fn everything_is_named_and_lies_within_the_picture() {
    let scene = inspection(&ordinary(100));
    let texts = texts(&scene);
    for words in ["run", "left", "right", "1  a", "saliency", "integrated gradients", "step 3", "all agree"] {
        assert!(texts.contains(&words), "{words} is missing: {texts:?}");
    }
    for item in &scene.items {
        if let Item::Text(text) = item {
            assert!(
                text.x >= 0.0 && text.x <= scene.width && text.y > 0.0 && text.y < scene.height,
                "{text:?}"
            );
        }
    }
    assert!(!scene.to_svg_element().contains("NaN"));
}

#[test]
fn strange_inspections_are_drawn_without_holes_in_the_file() {
    let mut strange = ordinary(10);
    strange.values[3] = f64::NAN;
    strange.values[7] = f64::INFINITY;
    strange.dimensions[0].shares = [f64::NAN, 0.0, f64::INFINITY];
    strange.states.push(PicturedState { at: 99, words: "beyond the end".into() });
    strange.title = "ein langer Name ".repeat(40);
    let level = InspectionPicture { values: vec![4.0; 10], ..ordinary(10) };
    let many = InspectionPicture {
        dimensions: vec![PicturedDimension { name: "x".repeat(300), shares: [0.0; 3] }; 900],
        states: vec![PicturedState { at: 0, words: "y".repeat(300) }; 900],
        ..ordinary(50_000)
    };
    let continuous = InspectionPicture {
        actions: PicturedActions::Normals(vec![PicturedNormal {
            name: "torque".into(),
            mean: vec![0.5, f64::NAN, -0.5],
            deviation: vec![1.0, 1.0, 2.0],
        }]),
        ..ordinary(3)
    };
    for picture in [InspectionPicture::default(), ordinary(1), ordinary(2), strange, level, many, continuous]
    {
        let scene = inspection(&picture);
        let svg = scene.to_svg_element();
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{}", picture.title);
        assert!(scene.height < 3000.0);
        let frame = scene.to_frame(0.25);
        assert!(frame.width > 0 && frame.height > 0);
    }
}

#[test]
fn the_picture_changes_with_what_it_shows() {
    let plain = inspection(&ordinary(30));
    let mut other = ordinary(30);
    other.values[10] += 3.0;
    assert_ne!(inspection(&other), plain);
    let mut other = ordinary(30);
    other.dimensions[1].shares[2] = 0.1;
    assert_ne!(inspection(&other), plain);
    let PicturedActions::Choices(parts) = &mut other.actions else { panic!("choices") };
    parts[0].probabilities[5] = vec![1.0, 0.0];
    assert_ne!(inspection(&other), plain);
}

#[test]
fn ticks_are_round_numbers() {
    assert_eq!(ticks(0.0, 10.0, 5), (vec![0.0, 2.0, 4.0, 6.0, 8.0, 10.0], 0));
    let (at, decimals) = ticks(71.62, 71.70, 4);
    assert_eq!(decimals, 2);
    assert_eq!(
        at.iter().map(|tick| format!("{tick:.2}")).collect::<Vec<_>>(),
        ["71.62", "71.64", "71.66", "71.68", "71.70"]
    );
    assert_eq!(ticks(3.0, 3.0, 4).0, [3.0]);
    assert_eq!(ticks(f64::NAN, 1.0, 4).0.len(), 1);
    assert!(ticks(-1e300, 1e300, 4).0.len() < 60);
}

#[test]
fn badges_keep_apart() {
    let mut crowded = ordinary(500);
    crowded.states = [0, 1, 2, 3, 4, 5].map(|at| PicturedState { at, words: String::new() }).to_vec();
    crowded.episode_starts.clear();
    let scene = inspection(&crowded);
    let numbers = scene.items.iter().filter_map(|item| match item {
        Item::Text(text) if text.bold && text.anchor == Anchor::Middle => Some((text.x, text.y)),
        _ => None,
    });
    let on_curve: Vec<(f32, f32)> = numbers.take(6).collect();
    for (index, one) in on_curve.iter().enumerate() {
        for other in &on_curve[..index] {
            assert!((one.0 - other.0).hypot(one.1 - other.1) > 17.0, "{one:?} {other:?}");
        }
    }
}
