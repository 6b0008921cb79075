//! Eight numbers as one value: with AVX2 a register, elsewhere an array.
//!
//! Both kinds do the same operations in the same order and never fuse a
//! multiplication with an addition, so they give the same bits; a test holds
//! them to it.

use crate::math;

pub(crate) const LANES: usize = 8;

/// What distributions need of eight numbers at once.
pub(crate) trait Vector: Copy {
    fn load(values: [f32; LANES]) -> Self;
    fn store(self) -> [f32; LANES];
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn div(self, other: Self) -> Self;
    /// `other` where it is greater, `self` elsewhere.
    fn larger(self, other: Self) -> Self;
    /// `yes` where a = b, `no` elsewhere.
    fn if_equal(a: Self, b: Self, yes: Self, no: Self) -> Self;
    /// `yes` where a ≤ b, `no` elsewhere.
    fn if_at_most(a: Self, b: Self, yes: Self, no: Self) -> Self;
    fn exp(self) -> Self;
    fn ln(self) -> Self;

    #[inline(always)]
    fn splat(value: f32) -> Self {
        Self::load([value; LANES])
    }
}

/// An array of eight.
#[derive(Clone, Copy)]
pub(crate) struct Plain([f32; LANES]);

impl Plain {
    #[inline(always)]
    fn zip(self, other: Self, combine: impl Fn(f32, f32) -> f32) -> Self {
        Self(std::array::from_fn(|lane| combine(self.0[lane], other.0[lane])))
    }
}

impl Vector for Plain {
    #[inline(always)]
    fn load(values: [f32; LANES]) -> Self {
        Self(values)
    }

    #[inline(always)]
    fn store(self) -> [f32; LANES] {
        self.0
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b)
    }

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.zip(other, |a, b| a - b)
    }

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.zip(other, |a, b| a * b)
    }

    #[inline(always)]
    fn div(self, other: Self) -> Self {
        self.zip(other, |a, b| a / b)
    }

    #[inline(always)]
    fn larger(self, other: Self) -> Self {
        self.zip(other, |a, b| if b > a { b } else { a })
    }

    #[inline(always)]
    fn if_equal(a: Self, b: Self, yes: Self, no: Self) -> Self {
        Self(std::array::from_fn(|lane| if a.0[lane] == b.0[lane] { yes.0[lane] } else { no.0[lane] }))
    }

    #[inline(always)]
    fn if_at_most(a: Self, b: Self, yes: Self, no: Self) -> Self {
        Self(std::array::from_fn(|lane| if a.0[lane] <= b.0[lane] { yes.0[lane] } else { no.0[lane] }))
    }

    #[inline(always)]
    fn exp(self) -> Self {
        Self(self.0.map(math::exp))
    }

    #[inline(always)]
    fn ln(self) -> Self {
        Self(self.0.map(math::ln))
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use wide::Wide;

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::*;

    use super::{LANES, Vector};
    use crate::math::{EXP_TAYLOR, LN_SERIES, LN2_HIGH, LN2_LOW, ROUND, SQRT_HALF_BITS};

    /// A 256-bit register. Only to be used inside functions that enable AVX2.
    #[derive(Clone, Copy)]
    pub(crate) struct Wide(__m256);

    /// A method that is one or several AVX2 instructions.
    macro_rules! avx2 {
        ($(fn $name:ident($($argument:ident: $kind:ty),*) -> $result:ty { $body:expr })*) => {
            $(
                #[inline(always)]
                fn $name($($argument: $kind),*) -> $result {
                    // SAFETY: `Wide` is only used where AVX2 is enabled.
                    unsafe { $body }
                }
            )*
        };
    }

    impl Vector for Wide {
        avx2! {
            fn load(values: [f32; LANES]) -> Self {
                // Built from the elements, so that freshly gathered ones need no
                // detour through memory.
                Self(_mm256_setr_ps(
                    values[0], values[1], values[2], values[3], values[4], values[5], values[6], values[7],
                ))
            }
            fn store(self: Self) -> [f32; LANES] {
                std::mem::transmute(self.0)
            }
            fn add(self: Self, other: Self) -> Self { Self(_mm256_add_ps(self.0, other.0)) }
            fn sub(self: Self, other: Self) -> Self { Self(_mm256_sub_ps(self.0, other.0)) }
            fn mul(self: Self, other: Self) -> Self { Self(_mm256_mul_ps(self.0, other.0)) }
            fn div(self: Self, other: Self) -> Self { Self(_mm256_div_ps(self.0, other.0)) }
            // max gives its second operand where one is NaN: `self`.
            fn larger(self: Self, other: Self) -> Self { Self(_mm256_max_ps(other.0, self.0)) }
            fn if_equal(a: Self, b: Self, yes: Self, no: Self) -> Self {
                Self(_mm256_blendv_ps(no.0, yes.0, _mm256_cmp_ps::<_CMP_EQ_OQ>(a.0, b.0)))
            }
            fn if_at_most(a: Self, b: Self, yes: Self, no: Self) -> Self {
                Self(_mm256_blendv_ps(no.0, yes.0, _mm256_cmp_ps::<_CMP_LE_OQ>(a.0, b.0)))
            }
        }

        /// The formula of `math::exp`.
        #[inline(always)]
        fn exp(self) -> Self {
            let constant = Self::splat;
            // SAFETY: as above. min and max give their second operand for NaN.
            let x = Self(unsafe {
                let x = _mm256_max_ps(_mm256_set1_ps(-87.0), self.0);
                _mm256_min_ps(_mm256_set1_ps(88.0), x)
            });
            let shifted = x.mul(constant(std::f32::consts::LOG2_E)).add(constant(ROUND));
            let n = shifted.sub(constant(ROUND));
            let r = x.sub(n.mul(constant(LN2_HIGH))).sub(n.mul(constant(LN2_LOW)));
            let mut q = constant(EXP_TAYLOR[0]);
            for coefficient in &EXP_TAYLOR[1..] {
                q = q.mul(r).add(constant(*coefficient));
            }
            let m = q.mul(r).mul(r).add(r);
            // SAFETY: as above.
            let scale = Self(unsafe {
                let offset = _mm256_set1_epi32(127_i32.wrapping_sub(ROUND.to_bits() as i32));
                let exponent = _mm256_add_epi32(_mm256_castps_si256(shifted.0), offset);
                _mm256_castsi256_ps(_mm256_slli_epi32::<23>(exponent))
            });
            scale.mul(m).add(scale)
        }

        /// The formula of `math::ln`.
        #[inline(always)]
        fn ln(self) -> Self {
            let constant = Self::splat;
            // SAFETY: as above.
            let (n, mantissa) = unsafe {
                let bits = _mm256_castps_si256(self.0);
                let shifted = _mm256_sub_epi32(bits, _mm256_set1_epi32(SQRT_HALF_BITS as i32));
                let exponent = _mm256_srai_epi32::<23>(shifted);
                let mantissa = _mm256_sub_epi32(bits, _mm256_slli_epi32::<23>(exponent));
                (Self(_mm256_cvtepi32_ps(exponent)), Self(_mm256_castsi256_ps(mantissa)))
            };
            let s = mantissa.sub(constant(1.0)).div(mantissa.add(constant(1.0)));
            let t = s.mul(s);
            let mut q = constant(LN_SERIES[0]);
            for coefficient in &LN_SERIES[1..] {
                q = q.mul(t).add(constant(*coefficient));
            }
            let series = q.mul(t).mul(s).add(constant(2.0).mul(s));
            let high = n.mul(constant(LN2_HIGH)).add(n.mul(constant(LN2_LOW)).add(series));
            high.add(constant(0.0).mul(self))
        }
    }
}

/// Runs `$body::<V>($arguments)` with the widest vectors that the CPU has.
macro_rules! with_vectors {
    ($(#[$attribute:meta])* $visible:vis fn $name:ident($($argument:ident: $kind:ty),* $(,)?) = $body:ident) => {
        $(#[$attribute])*
        $visible fn $name($($argument: $kind),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2")]
                fn wide($($argument: $kind),*) {
                    $body::<$crate::vector::Wide>($($argument),*);
                }
                if $crate::math::has_avx2() {
                    // SAFETY: the CPU was just found to have AVX2.
                    return unsafe { wide($($argument),*) };
                }
            }
            $body::<$crate::vector::Plain>($($argument),*);
        }
    };
}
pub(crate) use with_vectors;

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[target_feature(enable = "avx2")]
    fn wide(values: [f32; LANES]) -> [[f32; LANES]; 2] {
        [Wide::load(values).exp().store(), Wide::load(values).ln().store()]
    }

    #[test]
    fn both_kinds_give_the_same_bits() {
        if !math::has_avx2() {
            return;
        }
        let special = [0.5, 1.0, 3.0, 1e-20, 1e20, f32::INFINITY, f32::NAN, 88.5];
        let swept = (0..20_000)
            .map(|step| std::array::from_fn(|lane| (step as f32 - 10_000.0) * 0.0091 + lane as f32 * 0.001));
        for values in std::iter::once(special).chain(swept) {
            // SAFETY: the CPU was just found to have AVX2.
            let [exp, ln] = unsafe { wide(values) };
            let plain = Plain::load(values);
            let bits =
                |values: [f32; LANES]| values.map(|value| if value.is_nan() { 1 } else { value.to_bits() });
            assert_eq!(bits(exp), bits(plain.exp().store()), "exp of {values:?}");
            if values.iter().all(|value| value.is_nan() || *value > 0.0) {
                assert_eq!(bits(ln), bits(plain.ln().store()), "ln of {values:?}");
            }
        }
    }
}
