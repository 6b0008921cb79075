//! Colours, and a palette that colour-blind people can tell apart.

/// A colour with its opacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Color {
    pub red: u8,
    pub green: u8,
    pub blue: u8,
    /// Opacity, 255 for solid.
    pub alpha: u8,
}

impl Color {
    pub const BLACK: Color = Color::hex(0x00_00_00);
    pub const WHITE: Color = Color::hex(0xff_ff_ff);
    /// Text and axes: softer than black.
    pub const INK: Color = Color::hex(0x22_28_31);
    /// Less important parts: ticks, captions.
    pub const MUTED: Color = Color::hex(0x6b_72_80);
    /// Grid lines.
    pub const GRID: Color = Color::hex(0xe5_e7_eb);

    /// A solid colour written as 0xRRGGBB.
    pub const fn hex(value: u32) -> Self {
        Self { red: (value >> 16) as u8, green: (value >> 8) as u8, blue: value as u8, alpha: 255 }
    }

    /// The same colour, `opacity` from 0 to 1.
    #[must_use]
    pub fn with_opacity(self, opacity: f32) -> Self {
        Self { alpha: (opacity.clamp(0.0, 1.0) * 255.0).round() as u8, ..self }
    }

    /// Part of the way, 0 to 1, from this colour to `other`.
    #[must_use]
    pub fn mix(self, other: Self, part: f32) -> Self {
        let part = part.clamp(0.0, 1.0);
        let between = |a: u8, b: u8| (f32::from(a) + (f32::from(b) - f32::from(a)) * part).round() as u8;
        Self {
            red: between(self.red, other.red),
            green: between(self.green, other.green),
            blue: between(self.blue, other.blue),
            alpha: between(self.alpha, other.alpha),
        }
    }
}

/// Okabe and Ito's colours, the pale yellow left out because it vanishes on
/// white, ordered so that the first few differ most, also in grey.
pub const PALETTE: [Color; 7] = [
    Color::hex(0x00_72_b2),
    Color::hex(0xd5_5e_00),
    Color::hex(0x00_9e_73),
    Color::hex(0xcc_79_a7),
    Color::hex(0xe6_9f_00),
    Color::hex(0x56_b4_e9),
    Color::hex(0x4d_4d_4d),
];

/// The colour of the `index`th thing; beyond the palette it starts again, so
/// charts with more items must distinguish them by more than colour.
pub fn at_index(index: usize) -> Color {
    PALETTE[index % PALETTE.len()]
}

/// Matplotlib's viridis (van der Walt and Smith, released as CC0) at nine equal steps of its 256 colours. Its
/// lightness grows evenly, so that it also reads in grey and with any colour vision; colours between the steps are
/// mixed, which differs from the original by less than can be seen.
const VIRIDIS: [Color; 9] = [
    Color::hex(0x44_01_54),
    Color::hex(0x47_2d_7b),
    Color::hex(0x3b_52_8b),
    Color::hex(0x2c_72_8e),
    Color::hex(0x21_91_8c),
    Color::hex(0x28_ae_80),
    Color::hex(0x5e_c9_62),
    Color::hex(0xad_dc_30),
    Color::hex(0xfd_e7_25),
];

/// How far into [`VIRIDIS`] the ramp of scores goes: its yellow end vanishes on white.
const LIGHT_END: f64 = 0.93;

/// The colour of a score, from 0 for the lowest, which is light, to 1 for the highest, which is dark: on white paper the
/// best are seen first.
pub fn of_score(part: f64) -> Color {
    let part = if part.is_finite() { part.clamp(0.0, 1.0) } else { 0.5 };
    let place = (1.0 - part) * LIGHT_END * (VIRIDIS.len() - 1) as f64;
    let below = (place as usize).min(VIRIDIS.len() - 2);
    VIRIDIS[below].mix(VIRIDIS[below + 1], (place - below as f64) as f32)
}

impl Color {
    /// Relative luminance as WCAG 2 defines it: 0 for black, 1 for white.
    pub fn luminance(self) -> f32 {
        let linear = |byte: u8| {
            let value = f32::from(byte) / 255.0;
            if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(self.red) + 0.7152 * linear(self.green) + 0.0722 * linear(self.blue)
    }

    /// The colour of text on this ground: ink or white, whichever has more contrast.
    #[must_use]
    pub fn text_on(self) -> Self {
        let contrast = |other: Self| {
            let (a, b) = (self.luminance() + 0.05, other.luminance() + 0.05);
            a.max(b) / a.min(b)
        };
        if contrast(Self::WHITE) >= contrast(Self::INK) { Self::WHITE } else { Self::INK }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn better_scores_are_darker_without_a_break() {
        let ramp: Vec<f32> = (0..=100).map(|part| of_score(f64::from(part) / 100.0).luminance()).collect();
        assert!(ramp.windows(2).all(|pair| pair[0] > pair[1]), "{ramp:?}");
        assert!(ramp[0] < 0.75, "the worst is still seen on white");
        assert_eq!(of_score(1.0), VIRIDIS[0]);
        assert_eq!(of_score(f64::NAN), of_score(0.5));
        assert_eq!(of_score(-3.0), of_score(0.0));
    }

    #[test]
    fn text_is_readable_on_every_score() {
        for part in 0..=100 {
            let ground = of_score(f64::from(part) / 100.0);
            let (a, b) = (ground.luminance() + 0.05, ground.text_on().luminance() + 0.05);
            // WCAG asks for 4.5 for small text and for 3 for large text; no ground in the middle allows more than this.
            assert!(a.max(b) / a.min(b) >= 3.8, "{part}");
        }
        assert_eq!((Color::WHITE.text_on(), Color::BLACK.text_on()), (Color::INK, Color::WHITE));
    }
}
