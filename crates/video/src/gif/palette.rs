//! The colours of one gif frame: all of them when they fit; otherwise those
//! that cover most pixels stay exact, so that flat areas keep their colour, and
//! the rest is shared out by where it varies most.

/// The last of the 256 places stays free for "nothing painted here".
const COLOURS_MAX: usize = 255;
/// How many of the most frequent colours stay exact when there are too many.
const EXACT: usize = 160;

type Rgb = [u8; 3];

/// A colour and how many pixels have it.
#[derive(Clone, Copy, Debug)]
struct Share {
    colour: Rgb,
    pixels: u64,
}

/// Maps each colour of a frame to one of at most 255 colours.
pub(super) struct Palette {
    entries: Vec<Rgb>,
    /// Every colour of the frame with its entry, in the order of colours.
    index: Vec<(Rgb, u8)>,
}

impl Palette {
    /// The palette for some RGBA pixels.
    pub(super) fn for_pixels(pixels: impl Iterator<Item = [u8; 4]>) -> Self {
        let shares = count(pixels);
        let mut entries: Vec<Rgb> = if shares.len() <= COLOURS_MAX {
            shares.iter().map(|share| share.colour).collect()
        } else {
            let mut ranked = shares.clone();
            // A stable sort: equally frequent colours stay in their order.
            ranked.sort_by_key(|share| std::cmp::Reverse(share.pixels));
            let (exact, rest) = ranked.split_at_mut(EXACT);
            let exact = exact.iter().map(|share| share.colour);
            exact.chain(gather(rest, COLOURS_MAX - EXACT)).collect()
        };
        entries.sort_unstable();
        entries.dedup();
        let index = shares.iter().map(|share| (share.colour, nearest(&entries, share.colour))).collect();
        Self { entries, index }
    }

    /// The index that paints nothing.
    pub(super) fn transparent(&self) -> u8 {
        self.entries.len() as u8
    }

    /// The colours as a gif stores them, the transparent one included.
    pub(super) fn bytes(&self) -> Vec<u8> {
        self.entries.iter().chain([&[0; 3]]).flatten().copied().collect()
    }

    /// A way to look up many pixels.
    pub(super) fn indices(&self) -> Indices<'_> {
        Indices { palette: self, last: None }
    }
}

/// Looks up entries; neighbours mostly have the same colour.
pub(super) struct Indices<'a> {
    palette: &'a Palette,
    last: Option<(Rgb, u8)>,
}

impl Indices<'_> {
    /// The entry for one of the pixels that the palette was made for.
    pub(super) fn entry(&mut self, [red, green, blue, _]: [u8; 4]) -> u8 {
        let colour = [red, green, blue];
        match self.last {
            Some((last, entry)) if last == colour => entry,
            _ => {
                let index = &self.palette.index;
                let place = index
                    .binary_search_by_key(&colour, |(known, _)| *known)
                    .expect("the palette was made for this pixel");
                let (_, entry) = *self.last.insert(index[place]);
                entry
            }
        }
    }
}

/// Every colour once, in the order of colours.
fn count(pixels: impl Iterator<Item = [u8; 4]>) -> Vec<Share> {
    let mut runs: Vec<Share> = Vec::new();
    for [red, green, blue, _] in pixels {
        let colour = [red, green, blue];
        match runs.last_mut() {
            Some(run) if run.colour == colour => run.pixels += 1,
            _ => runs.push(Share { colour, pixels: 1 }),
        }
    }
    runs.sort_unstable_by_key(|run| run.colour);
    runs.dedup_by(|run, kept| {
        let same = run.colour == kept.colour;
        kept.pixels += if same { run.pixels } else { 0 };
        same
    });
    runs
}

/// At most `most` colours for many: the group that varies most is split at
/// its mean until there are enough groups, and each group gives its mean.
fn gather(shares: &mut [Share], most: usize) -> Vec<Rgb> {
    let mut groups = vec![Group::new(shares)];
    while groups.len() < most {
        let widest = groups
            .iter()
            .enumerate()
            .max_by(|(_, a), (_, b)| a.spread.total_cmp(&b.spread))
            .map(|(place, _)| place)
            .expect("there is at least one group");
        if groups[widest].spread <= 0.0 {
            break;
        }
        let Group { shares, axis, mean, .. } = groups.swap_remove(widest);
        shares.sort_unstable_by_key(|share| (share.colour[axis], share.colour));
        let middle = shares.partition_point(|share| f64::from(share.colour[axis]) <= mean[axis]);
        let (below, above) = shares.split_at_mut(middle);
        groups.extend([Group::new(below), Group::new(above)]);
    }
    groups.iter().map(|group| group.mean.map(|value| value.round() as u8)).collect()
}

/// Colours that will become one.
struct Group<'a> {
    shares: &'a mut [Share],
    mean: [f64; 3],
    /// The channel that varies most, and by how much over all pixels.
    axis: usize,
    spread: f64,
}

impl<'a> Group<'a> {
    fn new(shares: &'a mut [Share]) -> Self {
        let pixels: f64 = shares.iter().map(|share| share.pixels as f64).sum();
        let over_all = |value: &dyn Fn(&Share) -> f64| -> f64 {
            shares.iter().map(|share| share.pixels as f64 * value(share)).sum()
        };
        let mean: [f64; 3] =
            std::array::from_fn(|axis| over_all(&|share| f64::from(share.colour[axis])) / pixels);
        let spread: [f64; 3] = std::array::from_fn(|axis| {
            over_all(&|share| (f64::from(share.colour[axis]) - mean[axis]).powi(2))
        });
        let axis = (0..3).max_by(|a, b| spread[*a].total_cmp(&spread[*b])).expect("there are three channels");
        // A single colour has nothing to split, whatever rounding says.
        let spread = if shares.len() < 2 { 0.0 } else { spread[axis] };
        Self { shares, mean, axis, spread }
    }
}

/// The entry that comes nearest; green counts most to the eye, blue least.
fn nearest(entries: &[Rgb], colour: Rgb) -> u8 {
    if let Ok(place) = entries.binary_search(&colour) {
        return place as u8;
    }
    let distance = |entry: &Rgb| -> i32 {
        let [red, green, blue] = std::array::from_fn(|i| (i32::from(entry[i]) - i32::from(colour[i])).pow(2));
        3 * red + 6 * green + 2 * blue
    };
    let place = (0..entries.len()).min_by_key(|place| distance(&entries[*place]));
    place.expect("a frame with colours has entries") as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pixel(colour: Rgb) -> [u8; 4] {
        [colour[0], colour[1], colour[2], 255]
    }

    fn shown(palette: &Palette, colour: Rgb) -> Rgb {
        palette.entries[palette.indices().entry(pixel(colour)) as usize]
    }

    #[test]
    fn colours_that_fit_stay_exact() {
        for colours in [0u8, 1, 2, 254, 255] {
            let all: Vec<Rgb> = (0..colours).map(|level| [level, 255 - level, level / 2]).collect();
            let palette = Palette::for_pixels(all.iter().rev().chain(&all).map(|colour| pixel(*colour)));
            assert_eq!(palette.transparent(), colours);
            assert_eq!(palette.bytes().len(), 3 * (usize::from(colours) + 1));
            assert!(all.iter().all(|colour| shown(&palette, *colour) == *colour));
        }
    }

    #[test]
    fn of_too_many_colours_the_frequent_stay_exact_and_the_rest_comes_close() {
        let flat = [[17, 34, 51], [255, 255, 255], [200, 30, 90]];
        let all: Vec<Rgb> =
            (0..=255u8).flat_map(|red| (0..=40u8).map(move |blue| [red, 128, blue])).collect();
        let pixels = all.iter().chain(flat.iter().flat_map(|colour| std::iter::repeat_n(colour, 500)));
        let palette = Palette::for_pixels(pixels.map(|colour| pixel(*colour)));
        assert!(palette.entries.len() <= COLOURS_MAX);
        assert!(flat.iter().all(|colour| shown(&palette, *colour) == *colour));
        let error = |colour: &Rgb| -> u32 {
            let shown = shown(&palette, *colour);
            (0..3).map(|i| u32::from(shown[i].abs_diff(colour[i]))).max().unwrap()
        };
        let worst = all.iter().map(error).max().unwrap();
        assert!(worst <= 24, "off by {worst}");
    }
}
