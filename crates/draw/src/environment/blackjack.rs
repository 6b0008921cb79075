//! A game of cards on green felt.

use rlxp_env::View;

use crate::color::Color;
use crate::path::{Path, Segment};
use crate::scene::{Anchor, Scene, Stroke, Text};

use super::parts::canvas;
use super::{HEIGHT, WIDTH};

const FELT: Color = Color::hex(0x1f_6b_4a);
const LINE: Color = Color::hex(0x5f_a6_85);
const CARD: (f32, f32) = (82.0, 116.0);
const RED: Color = Color::hex(0xb8_2e_2e);
const BACK: Color = Color::hex(0x2b_4f_8c);

/// The state of a hand as text, if it is over.
fn outcome(player: u8, dealer: Option<u8>) -> Option<&'static str> {
    match dealer {
        _ if player > 21 => Some("bust: the dealer wins"),
        None => None,
        Some(dealer) if dealer > 21 => Some("dealer bust: the player wins"),
        Some(dealer) if dealer > player => Some("the dealer wins"),
        Some(dealer) if dealer < player => Some("the player wins"),
        Some(_) => Some("a draw"),
    }
}

/// `view` is a game of Blackjack; others give an empty table.
pub(super) fn scene(view: &View, choice: Option<usize>) -> Scene {
    let mut scene = canvas(FELT, "A game of cards on green felt");
    table(&mut scene);
    let View::Blackjack { player_total, player_cards, usable_ace, dealer_shows, dealer_hides, dealer_total } =
        *view
    else {
        return scene;
    };
    let top = 52.0;
    card(&mut scene, 201.0, top, rank(dealer_shows), "♠", Color::INK);
    if dealer_total.is_some() {
        card(&mut scene, 293.0, top, rank(dealer_hides), "♦", RED);
    } else {
        face_down(&mut scene, 293.0, top, rank(dealer_hides));
    }
    name(&mut scene, top + 66.0, "dealer");
    match dealer_total {
        Some(total) => badge(&mut scene, 500.0, top + 52.0, &total.to_string(), total > 21),
        None => badge(&mut scene, 500.0, top + 52.0, "?", false),
    }

    let low = 226.0;
    let cards = usize::from(player_cards.max(1));
    let step = (92.0_f32).min(230.0 / (cards - 1).max(1) as f32);
    let left = WIDTH / 2.0 - 12.0 - (step * (cards - 1) as f32 + CARD.0) / 2.0;
    for index in 0..cards {
        let x = left + step * index as f32;
        if index == 0 && usable_ace {
            card(&mut scene, x, low, "A", "♥", RED);
        } else {
            // Which cards make up the sum isn't part of the state.
            card(&mut scene, x, low, "", ["♣", "♦", "♠", "♥"][index % 4], LINE);
        }
    }
    name(&mut scene, low + 66.0, "player");
    let count = if player_cards == 1 { "1 card".to_owned() } else { format!("{player_cards} cards") };
    scene.text(Text::new(56.0, low + 84.0, count, 12.0, Color::hex(0xbf_e0_d0)));
    badge(&mut scene, 500.0, low + 52.0, &player_total.to_string(), player_total > 21);
    if usable_ace {
        let words = Text::new(500.0, low + 104.0, "usable ace: 11", 13.0, Color::WHITE);
        scene.text(words.anchored(Anchor::Middle).bold());
    }
    let words = outcome(player_total, dealer_total).map(str::to_owned).or_else(|| {
        choice.map(|choice| if choice == 0 { "the player sticks" } else { "the player hits" }.to_owned())
    });
    if let Some(words) = words {
        scene.fill(Path::rounded_rect(180.0, 183.0, 240.0, 30.0, 15.0), Color::hex(0x12_46_30));
        let text = Text::new(WIDTH / 2.0, 203.5, words, 15.0, Color::WHITE);
        scene.text(text.anchored(Anchor::Middle).bold());
    }
    scene
}

fn table(scene: &mut Scene) {
    scene.fill(Path::rect(0.0, 0.0, WIDTH, HEIGHT), Color::hex(0x18_56_3b));
    scene.fill(Path::rounded_rect(10.0, 10.0, WIDTH - 20.0, HEIGHT - 20.0, 26.0), FELT);
    let rim = Path::rounded_rect(18.0, 18.0, WIDTH - 36.0, HEIGHT - 36.0, 20.0);
    scene.stroke(rim, Stroke::solid(LINE.with_opacity(0.6), 1.5));
    scene.stroke(Path::line((40.0, 198.0), (WIDTH - 40.0, 198.0)), Stroke::dashed(LINE, 1.5, &[6.0, 6.0]));
}

fn name(scene: &mut Scene, y: f32, words: &str) {
    scene.text(Text::new(56.0, y, words, 17.0, Color::WHITE).bold());
}

fn badge(scene: &mut Scene, x: f32, y: f32, words: &str, bust: bool) {
    let rim = Stroke::solid(Color::WHITE, 2.5);
    let fill = if bust { RED } else { Color::hex(0x12_46_30) };
    scene.shape(Path::circle(x, y, 29.0), Some(fill), Some(rim), None);
    scene.text(Text::new(x, y + 9.0, words, 25.0, Color::WHITE).anchored(Anchor::Middle).bold());
    if bust {
        scene.text(Text::new(x + 36.0, y + 5.0, "bust", 14.0, Color::WHITE).bold());
    }
}

fn rank(card: u8) -> &'static str {
    const RANKS: [&str; 11] = ["?", "A", "2", "3", "4", "5", "6", "7", "8", "9", "10"];
    RANKS.get(usize::from(card)).copied().unwrap_or("?")
}

fn blank(scene: &mut Scene, x: f32, y: f32, color: Color) {
    let shadow = Path::rounded_rect(x + 2.5, y + 3.5, CARD.0, CARD.1, 8.0);
    scene.fill(shadow, Color::BLACK.with_opacity(0.22));
    let rim = Stroke::solid(Color::hex(0xc8_cd_d3), 1.0);
    scene.shape(Path::rounded_rect(x, y, CARD.0, CARD.1, 8.0), Some(color), Some(rim), None);
}

/// An open card; without a rank only its suit is seen, pale.
fn card(scene: &mut Scene, x: f32, y: f32, rank: &str, suit: &str, color: Color) {
    blank(scene, x, y, Color::WHITE);
    scene.text(Text::new(x + 8.0, y + 24.0, rank, 20.0, color).bold());
    let low = Text::new(x + CARD.0 - 8.0, y + CARD.1 - 24.0, rank, 20.0, color);
    scene.text(low.bold().rotated(180.0));
    scene.text(Text::new(x + CARD.0 / 2.0, y + 75.0, suit, 46.0, color).anchored(Anchor::Middle));
}

/// A face-down card with one corner bent up, so that viewers see it.
fn face_down(scene: &mut Scene, x: f32, y: f32, rank: &str) {
    blank(scene, x, y, Color::WHITE);
    scene.fill(Path::rounded_rect(x + 5.0, y + 5.0, CARD.0 - 10.0, CARD.1 - 10.0, 5.0), BACK);
    let lattice = Stroke::solid(Color::hex(0x6f_90_c6), 1.5);
    for line in 1..6 {
        let at = line as f32 * 12.0;
        scene.stroke(Path::line((x + 5.0 + at, y + 9.0), (x + 5.0 + at, y + CARD.1 - 9.0)), lattice.clone());
    }
    for line in 1..9 {
        let at = line as f32 * 12.0;
        scene.stroke(Path::line((x + 9.0, y + 4.0 + at), (x + CARD.0 - 9.0, y + 4.0 + at)), lattice.clone());
    }
    let (right, bottom) = (x + CARD.0, y + CARD.1);
    let fold = 36.0;
    scene.fill(
        Path::polygon([
            (right - fold, bottom + 1.0),
            (right + 1.0, bottom - fold),
            (right + 1.0, bottom + 1.0),
        ]),
        FELT,
    );
    let flap = Path {
        segments: vec![
            Segment::Move(right - fold, bottom),
            Segment::Line(right, bottom - fold),
            Segment::Quad(right - 6.0, bottom - fold - 2.0, right - fold + 3.0, bottom - fold - 3.0),
            Segment::Quad(right - fold - 2.0, bottom - 8.0, right - fold, bottom),
            Segment::Close,
        ],
    };
    let rim = Stroke::solid(Color::hex(0xc8_cd_d3), 1.0);
    scene.shape(flap, Some(Color::hex(0xfb_fb_f8)), Some(rim), None);
    let at = (right - fold * 0.68, bottom - fold * 0.5);
    scene.text(Text::new(at.0, at.1, rank, 14.0, RED).anchored(Anchor::Middle).bold());
}
