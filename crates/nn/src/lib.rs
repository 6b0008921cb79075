//! Networks with explicit forward and backward passes, action distributions,
//! the Adam optimiser and tensors on disk.
//!
//! Everything works on plain slices: a network is a layout of offsets into one flat buffer of parameters, gradients
//! and optimiser moments have the same layout, and all working memory is allocated once. Nothing here starts a
//! thread; to use two cores, give each its own [`Scratch`] and gradient buffer.

mod activity;
mod actor_critic;
mod adam;
mod aligned;
mod backward;
mod forward;
mod head;
mod input_gradient;
mod kernel;
mod math;
mod named;
mod orthogonal;
mod scratch;
mod shape;
mod tensors;
mod vector;

pub use actor_critic::ActorCritic;
pub use adam::{Adam, MomentsMismatch, clip_global_norm, global_norm};
pub use head::{Head, Noise};
pub use kernel::kernels;
pub use named::{ShapeMismatch, TensorProblem};
#[doc(hidden)]
pub use rlxp_types::cpu::without_avx512;
pub use scratch::Scratch;
pub use shape::{Activation, Input, Shape};
pub use tensors::{Data, Tensor, Tensors, TensorsError};
