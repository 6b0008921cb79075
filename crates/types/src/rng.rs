//! Randomness: one counter-based generator (ChaCha8) keyed by
//! blake3(seed, stream, index).
//!
//! Every use of randomness has its own stream, so that drawing more in one place never shifts another. A stream's
//! whole state is its key and a position: it can be saved, restored and proven equal.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use crate::math;

/// A stream of random numbers that belongs to one purpose.
#[derive(Clone)]
pub struct Stream {
    generator: ChaCha8Rng,
}

/// Length of a saved stream in bytes.
pub const SAVED_BYTES: usize = 48;

impl Stream {
    /// The stream `name` number `index` of `seed`. The names in use are
    /// `init`, `action`, `env`, `shuffle`, `eval`, `eval/action` and
    /// `inspect/smoothgrad`.
    pub fn new(seed: u64, name: &str, index: u64) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("rlx 2026 random stream");
        hasher.update(&seed.to_le_bytes());
        hasher.update(&(name.len() as u64).to_le_bytes());
        hasher.update(name.as_bytes());
        hasher.update(&index.to_le_bytes());
        Self { generator: ChaCha8Rng::from_seed(*hasher.finalize().as_bytes()) }
    }

    /// The next 32 random bits.
    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        self.generator.next_u32()
    }

    /// The next 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// Uniform in [0, 1) with 24 random bits: every value is exact in f32.
    #[inline]
    pub fn uniform_f32(&mut self) -> f32 {
        (self.next_u32() >> 8) as f32 * (1.0 / 16_777_216.0)
    }

    /// Uniform in [0, 1) with 53 random bits.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// Uniform in [low, high).
    #[inline]
    pub fn uniform_in(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// Uniform among 0..n without bias (Lemire's multiply and reject).
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        assert!(n > 0, "below(0) has no answer");
        let mut product = u64::from(self.next_u32()) * u64::from(n);
        if (product as u32) < n {
            let threshold = n.wrapping_neg() % n;
            while (product as u32) < threshold {
                product = u64::from(self.next_u32()) * u64::from(n);
            }
        }
        (product >> 32) as u32
    }

    /// Two independent standard normal numbers (Box and Muller).
    #[inline]
    pub fn normal_pair(&mut self) -> (f64, f64) {
        // 1 - u is in (0, 1], so the logarithm is finite.
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        let (sin, cos) = (std::f64::consts::TAU * self.uniform()).sin_cos();
        (radius * cos, radius * sin)
    }

    /// Fills `out` with standard normal numbers (Box and Muller), eight pairs at a time.
    pub fn fill_normal(&mut self, out: &mut [f32]) {
        const PAIRS: usize = 8;
        for part in out.chunks_mut(2 * PAIRS) {
            let pairs = part.len().div_ceil(2);
            let (mut radii, mut turns) = ([1.0_f32; PAIRS], [0.0_f32; PAIRS]);
            for (radius, turn) in radii.iter_mut().zip(&mut turns).take(pairs) {
                // From 2^-32 to 1, so the logarithm is finite; a full turn has 2^24 places.
                *radius = (self.next_u32() as f32 + 1.0) * (1.0 / 4_294_967_296.0);
                *turn = self.uniform_f32();
            }
            let (mut firsts, mut seconds) = ([0.0; PAIRS], [0.0; PAIRS]);
            for pair in 0..PAIRS {
                let radius = (-2.0 * math::ln(radii[pair])).max(0.0).sqrt();
                let (sine, cosine) = math::sin_cos_of_turns(turns[pair]);
                (firsts[pair], seconds[pair]) = (radius * cosine, radius * sine);
            }
            let (first, second) = part.split_at_mut(pairs);
            first.copy_from_slice(&firsts[..pairs]);
            second.copy_from_slice(&seconds[..second.len()]);
        }
    }

    /// Shuffles `items` (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u32 + 1) as usize);
        }
    }

    /// The whole state: key and position.
    pub fn save(&self) -> [u8; SAVED_BYTES] {
        let mut saved = [0; SAVED_BYTES];
        saved[..32].copy_from_slice(&self.generator.get_seed());
        saved[32..].copy_from_slice(&self.generator.get_word_pos().to_le_bytes());
        saved
    }

    /// The stream that `save` described.
    pub fn restore(saved: &[u8; SAVED_BYTES]) -> Self {
        let mut key = [0; 32];
        key.copy_from_slice(&saved[..32]);
        let mut position = [0; 16];
        position.copy_from_slice(&saved[32..]);
        let mut generator = ChaCha8Rng::from_seed(key);
        generator.set_word_pos(u128::from_le_bytes(position));
        Self { generator }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_seed_name_and_index_and_repeat_exactly() {
        let first = |seed, name, index| Stream::new(seed, name, index).next_u64();
        assert_eq!(first(1, "env", 0), first(1, "env", 0));
        assert_ne!(first(1, "env", 0), first(2, "env", 0));
        assert_ne!(first(1, "env", 0), first(1, "env", 1));
        assert_ne!(first(1, "env", 0), first(1, "action", 0));
    }

    #[test]
    fn the_stream_is_the_same_in_every_build() {
        // A changed generator would silently break `reproduce` of older runs.
        let mut stream = Stream::new(42, "init", 7);
        let drawn: Vec<u32> = (0..4).map(|_| stream.next_u32()).collect();
        assert_eq!(drawn, GOLDEN);
    }
    const GOLDEN: [u32; 4] = [1_840_451_217, 2_725_815_744, 3_016_638_265, 1_919_819_604];

    #[test]
    fn a_saved_stream_goes_on_where_it_was() {
        let mut stream = Stream::new(3, "shuffle", 0);
        for drawn in 0..200 {
            let mut restored = Stream::restore(&stream.save());
            assert_eq!(restored.next_u32(), stream.next_u32(), "after {drawn} draws");
        }
    }

    #[test]
    fn numbers_have_the_right_moments() {
        let mut stream = Stream::new(0, "test", 0);
        let n = 200_000;
        let mut normals = vec![0.0; n];
        stream.fill_normal(&mut normals);
        let mean = normals.iter().map(|x| f64::from(*x)).sum::<f64>() / n as f64;
        let variance = normals.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>() / n as f64;
        assert!(mean.abs() < 0.01, "mean {mean}");
        assert!((variance - 1.0).abs() < 0.015, "variance {variance}");
        let mut counts = [0u32; 3];
        (0..n).for_each(|_| counts[stream.below(3) as usize] += 1);
        for count in counts {
            assert!((f64::from(count) / n as f64 - 1.0 / 3.0).abs() < 0.005);
        }
    }

    #[test]
    fn shuffle_keeps_every_item() {
        let mut items: Vec<u32> = (0..100).collect();
        Stream::new(1, "shuffle", 0).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
