//! The text on frames.

use rlxp_draw::environment::{CALM, HEIGHT, WIDTH};
use rlxp_draw::{Anchor, Color, Path, Scene, Text, font};
use rlxp_env::Space;
use rlxp_learn::Episode;
use rlxp_types::text::typeset;

const STRIP: Color = Color::hex(0x11_18_27);
/// Distance from the edge of the strip to its text.
const EDGE: f32 = 14.0;

/// The text in the strip at the top.
pub(super) struct Caption {
    /// Which episode this is.
    pub(super) title: Option<String>,
    /// Steps taken.
    pub(super) step: Option<u64>,
    /// Rewards so far.
    pub(super) so_far: f64,
    /// The action, or how the episode ended.
    pub(super) action: Option<String>,
}

/// Draws the caption over the empty part of a picture; `large` for pictures that will be shown small.
pub(super) fn caption(scene: &mut Scene, caption: &Caption, large: bool) {
    let (size, height) = if large { (24.0, CALM + 6.0) } else { (13.0, CALM - 8.0) };
    let base = height / 2.0 + size * 0.36;
    scene.fill(Path::rect(0.0, 0.0, WIDTH, height), STRIP);
    let mut put = |x: f32, words: &str, width: f32, anchor: Anchor, bold: bool| {
        let words = font::fitted(words, width, size, bold);
        let text = Text::new(x, base, words, size, Color::WHITE).anchored(anchor);
        scene.text(Text { bold, ..text });
    };
    let so_far = format!("return {}", number(caption.so_far));
    // Fixed positions, so that text doesn't jump from frame to frame.
    let (step_at, return_at) = if large { (EDGE, 170.0) } else { (256.0, 340.0) };
    if let Some(title) = &caption.title {
        put(EDGE, title, step_at - EDGE - 8.0, Anchor::Start, false);
    }
    let Some(step) = caption.step else {
        put(WIDTH - EDGE, &so_far, WIDTH / 2.0, Anchor::End, true);
        return;
    };
    put(step_at, &format!("step {step}"), return_at - step_at - 8.0, Anchor::Start, true);
    let action_width = if large { 190.0 } else { 114.0 };
    put(return_at, &so_far, WIDTH - return_at - EDGE - action_width - 8.0, Anchor::Start, true);
    if let Some(action) = &caption.action {
        put(WIDTH - EDGE, action, action_width, Anchor::End, true);
    }
}

/// Greys a picture whose episode is over and writes its return.
pub(super) fn finished(scene: &mut Scene, episode: &Episode, whole: bool) {
    scene.fill(Path::rect(0.0, 0.0, WIDTH, HEIGHT), Color::hex(0xe5_e7_eb).with_opacity(0.72));
    let middle = WIDTH / 2.0;
    scene.fill(Path::rounded_rect(middle - 210.0, 130.0, 420.0, 140.0, 20.0), STRIP.with_opacity(0.9));
    let words = format!("return {}", number(episode.total));
    let words = font::fitted(&words, 390.0, 50.0, true);
    scene.text(Text::new(middle, 196.0, words, 50.0, Color::WHITE).anchored(Anchor::Middle).bold());
    let words = format!("{} steps, {}", episode.length, ending(episode, whole));
    scene.text(Text::new(middle, 246.0, words, 29.0, Color::WHITE).anchored(Anchor::Middle));
}

/// How an episode ended, or that its end isn't shown.
pub(super) fn ending(episode: &Episode, whole: bool) -> &'static str {
    match (whole, episode.truncated) {
        (false, _) => "continues",
        (true, false) => "ended",
        (true, true) => "time is up",
    }
}

pub(super) fn action(space: &Space, names: &[&str], row: &[f32]) -> String {
    match (space, row) {
        (Space::Discrete { .. }, [index]) => {
            let name = names.get(*index as usize).map(|name| (*name).to_owned());
            name.unwrap_or_else(|| format!("action {index}"))
        }
        (Space::Box { .. }, row) => {
            let named = |(index, value): (usize, &f32)| match names.get(index) {
                Some(name) if row.len() <= 2 => format!("{name} {value:.2}"),
                _ => format!("{value:.2}"),
            };
            typeset(&row.iter().enumerate().map(named).collect::<Vec<_>>().join(", "))
        }
        (_, row) => row.iter().map(f32::to_string).collect::<Vec<_>>().join(", "),
    }
}

/// A number in as few characters as possible.
pub(super) fn number(value: f64) -> String {
    let whole = value.fract() == 0.0 && value.abs() < 1e15;
    let decimals = if whole {
        0
    } else if value.abs() >= 1000.0 {
        1
    } else {
        2
    };
    typeset(&format!("{value:.decimals$}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_and_numbers_are_said_in_words() {
        let discrete = Space::Discrete { n: 2 };
        assert_eq!(action(&discrete, &["push left", "push right"], &[1.0]), "push right");
        assert_eq!(action(&discrete, &[], &[1.0]), "action 1");
        let real = |n: usize| Space::vector(vec![-1.0; n], vec![1.0; n]);
        assert_eq!(action(&real(1), &["force"], &[-0.5]), "force −0.50");
        assert_eq!(action(&real(3), &["a", "b", "c"], &[-0.5, 0.0, 1.0]), "−0.50, 0.00, 1.00");
        assert_eq!((number(-200.0), number(0.123)), ("−200".to_owned(), "0.12".to_owned()));
    }
}
