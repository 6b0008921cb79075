//! Spaces of observations and actions, as Gymnasium names them.
//!
//! Both are carried as rows of f32, row-major: a Discrete value is one float
//! that holds the index, MultiDiscrete one index per part, MultiBinary and Box
//! one float per element. f32 holds every index below 2^24 exactly, and one
//! storage type keeps the hot loop free of dispatch. Shape and type say what the
//! environment itself has: an image of 84×84×4 bytes is a row of 28224 floats,
//! and what stores many of them may go back to bytes.

use std::borrow::Cow;

use serde::Serialize;

/// Indices from here on are not exact in f32.
const MOST_VALUES: usize = 1 << 24;

/// What observations or actions look like.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Space {
    /// One of n values.
    Discrete { n: usize },
    /// Several choices at once.
    MultiDiscrete {
        /// Number of values of each part.
        nvec: Vec<usize>,
    },
    /// Several yes/no values.
    MultiBinary { n: usize },
    /// Real numbers within bounds.
    Box {
        /// Lengths of its axes; left out of JSON where there is only one.
        #[serde(skip_serializing_if = "is_flat")]
        shape: Vec<usize>,
        /// What the environment's own numbers are; left out of JSON for float32.
        #[serde(skip_serializing_if = "Dtype::is_default")]
        dtype: Dtype,
        /// Lower bounds; may be infinite.
        low: Vec<f32>,
        /// Upper bounds; may be infinite.
        high: Vec<f32>,
    },
}

/// The type of an environment's own numbers, before they become f32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    /// Yes or no.
    Bool,
    /// Bytes, such as the pixels of images.
    Uint8,
    /// Whole numbers; f32 holds those up to 2^24 exactly.
    Int64,
    /// Single precision.
    #[default]
    Float32,
    /// Double precision, rounded to single.
    Float64,
}

impl Dtype {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The name that NumPy and Gymnasium use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Uint8 => "uint8",
            Self::Int64 => "int64",
            Self::Float32 => "float32",
            Self::Float64 => "float64",
        }
    }
}

fn is_flat(shape: &[usize]) -> bool {
    shape.len() == 1
}

impl Space {
    /// A vector of real numbers within bounds.
    pub fn vector(low: Vec<f32>, high: Vec<f32>) -> Self {
        Space::Box { shape: vec![low.len()], dtype: Dtype::Float32, low, high }
    }

    /// Floats in one row.
    pub fn width(&self) -> usize {
        match self {
            Space::Discrete { .. } => 1,
            Space::MultiDiscrete { nvec } => nvec.len(),
            Space::MultiBinary { n } => *n,
            Space::Box { low, .. } => low.len(),
        }
    }

    /// Lengths of the axes of one value; none for a single index.
    pub fn shape(&self) -> Cow<'_, [usize]> {
        match self {
            Space::Discrete { .. } => Cow::Borrowed(&[]),
            Space::MultiDiscrete { nvec } => Cow::Owned(vec![nvec.len()]),
            Space::MultiBinary { n } => Cow::Owned(vec![*n]),
            Space::Box { shape, .. } => Cow::Borrowed(shape),
        }
    }

    /// What the environment's own numbers are.
    pub fn dtype(&self) -> Dtype {
        match self {
            Space::Discrete { .. } | Space::MultiDiscrete { .. } => Dtype::Int64,
            Space::MultiBinary { .. } => Dtype::Bool,
            Space::Box { dtype, .. } => *dtype,
        }
    }

    /// Why no learner can use this space: environments from outside can say anything.
    pub fn problem(&self) -> Option<String> {
        let of_choices = |n: usize| match n {
            0 => Some("a choice of 0 values".to_owned()),
            1..=MOST_VALUES => None,
            _ => Some(format!("a choice of {n} values; at most {MOST_VALUES} are supported")),
        };
        match self {
            Space::Discrete { n } => of_choices(*n),
            Space::MultiDiscrete { nvec } if nvec.is_empty() => Some("no parts".to_owned()),
            Space::MultiDiscrete { nvec } => nvec.iter().find_map(|n| of_choices(*n)),
            Space::MultiBinary { n: 0 } => Some("no parts".to_owned()),
            Space::MultiBinary { .. } => None,
            Space::Box { shape, low, high, .. } => {
                let size = shape.iter().try_fold(1_usize, |size, axis| size.checked_mul(*axis));
                if size == Some(0) || shape.is_empty() && low.is_empty() {
                    return Some(format!("no elements (shape {shape:?})"));
                }
                if size != Some(low.len()) || low.len() != high.len() {
                    let (low, high) = (low.len(), high.len());
                    return Some(format!("shape {shape:?} with {low} lower and {high} upper bounds"));
                }
                let wrong = low
                    .iter()
                    .zip(high)
                    .position(|(low, high)| low.is_nan() || high.is_nan() || low > high)?;
                Some(format!("bounds from {} to {} at element {wrong}", low[wrong], high[wrong]))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image() -> Space {
        let size = 84 * 84 * 4;
        let (low, high) = (vec![0.0; size], vec![255.0; size]);
        Space::Box { shape: vec![84, 84, 4], dtype: Dtype::Uint8, low, high }
    }

    #[test]
    fn every_space_has_a_width_a_shape_and_a_type() {
        let check = |space: Space, width: usize, shape: &[usize], dtype: Dtype| {
            assert_eq!((space.width(), space.shape().as_ref(), space.dtype()), (width, shape, dtype));
            assert_eq!(space.problem(), None);
        };
        check(Space::Discrete { n: 6 }, 1, &[], Dtype::Int64);
        check(Space::MultiDiscrete { nvec: vec![3, 4] }, 2, &[2], Dtype::Int64);
        check(Space::MultiBinary { n: 5 }, 5, &[5], Dtype::Bool);
        check(Space::vector(vec![-1.0; 3], vec![f32::INFINITY; 3]), 3, &[3], Dtype::Float32);
        check(image(), 28224, &[84, 84, 4], Dtype::Uint8);
    }

    #[test]
    fn spaces_that_no_learner_can_use_are_found() {
        let real = |shape: &[usize], low: &[f32], high: &[f32]| Space::Box {
            shape: shape.to_vec(),
            dtype: Dtype::Float32,
            low: low.to_vec(),
            high: high.to_vec(),
        };
        for space in [
            Space::Discrete { n: 0 },
            Space::Discrete { n: MOST_VALUES + 1 },
            Space::MultiDiscrete { nvec: vec![] },
            Space::MultiDiscrete { nvec: vec![2, 0] },
            Space::MultiBinary { n: 0 },
            real(&[0], &[], &[]),
            real(&[], &[], &[]),
            real(&[2, 2], &[0.0; 3], &[1.0; 3]),
            real(&[2], &[0.0; 2], &[1.0; 3]),
            real(&[usize::MAX, 2], &[0.0], &[1.0]),
            real(&[2], &[0.0, 2.0], &[1.0, 1.0]),
            real(&[1], &[f32::NAN], &[1.0]),
        ] {
            assert!(space.problem().is_some(), "{space:?}");
        }
    }

    #[test]
    fn json_names_shape_and_type_only_where_they_say_something() {
        let json = |space: &Space| serde_json::to_string(space).unwrap();
        let vector = Space::vector(vec![-1.0], vec![1.0]);
        assert_eq!(json(&vector), r#"{"type":"box","low":[-1.0],"high":[1.0]}"#);
        let pixel = Space::Box { shape: vec![1, 1], dtype: Dtype::Uint8, low: vec![0.0], high: vec![255.0] };
        let expected = r#"{"type":"box","shape":[1,1],"dtype":"uint8","low":[0.0],"high":[255.0]}"#;
        assert_eq!(json(&pixel), expected);
    }
}
