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
