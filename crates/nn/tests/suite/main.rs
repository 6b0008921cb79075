//! The library from outside, against a slow f64 version of the same networks.

mod adam;
mod gradients;
mod heads;
mod input_gradients;
mod network;
mod reference;
mod tensors;
