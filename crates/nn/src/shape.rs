//! What a network looks like: everything that decides how many parameters it
//! has and what they mean.

use crate::head::Head;

/// The function between layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// Hyperbolic tangent, accurate to 1e-6.
    Tanh,
    /// max(0, x).
    Relu,
    /// x above zero, exp(x) − 1 below.
    Elu,
    /// x·Φ(x) with the normal distribution function Φ.
    Gelu,
}

/// What one observation row holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// That many real numbers.
    Dense(usize),
    /// One index per part, as f32; a part has that many values. The first
    /// layer sums one weight row per part and never sees the zeros of a
    /// one-hot vector.
    OneHot(Vec<usize>),
}

impl Input {
    /// Floats in one observation row.
    pub fn width(&self) -> usize {
        match self {
            Input::Dense(width) => *width,
            Input::OneHot(parts) => parts.len(),
        }
    }

    /// Inputs of the first layer: as many as its weights have rows.
    pub fn features(&self) -> usize {
        match self {
            Input::Dense(width) => *width,
            Input::OneHot(parts) => parts.iter().sum(),
        }
    }
}

/// The shape of a policy and its value function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// What observations hold.
    pub input: Input,
    /// Widths of the hidden layers; may be empty.
    pub hidden: Vec<usize>,
    /// The function after each hidden layer.
    pub activation: Activation,
    /// Policy and value share the hidden layers.
    pub shared: bool,
    /// The action distribution.
    pub head: Head,
}
