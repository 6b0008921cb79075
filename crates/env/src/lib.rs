//! Environments: spaces, vectorisation, wrappers and the native catalogue.
//!
//! [`Sources`] turns a config's `env` section into a [`VectorEnv`], which steps
//! many copies at once. [`NATIVE`] has the environments of this crate; a program
//! that has others lists their [`Source`] beside it. Native environments are
//! [`native::Dynamics`] over arrays inside one [`Native`]; an environment of
//! your own implements [`Environment`] and is lifted by [`Vectorized`].

pub mod bridge;
pub mod catalogue;
pub mod classic;
mod kwargs;
pub mod make;
pub mod native;
pub mod own;
pub mod photo;
pub mod probe;
pub mod source;
pub mod space;
pub mod state;
pub mod toy;
pub mod trig;
pub mod vector;
pub mod view;
pub mod wrapper;

pub use catalogue::{EnvInfo, KwargInfo, KwargKind, UnknownEnv};
pub use make::{NATIVE, NativeSource};
pub use native::{Dynamics, Native};
pub use own::{Environment, Step, Vectorized};
pub use photo::{Photo, PhotoFormat};
pub use source::{Built, Copies, MakeError, Order, Problem, Source, Sources};
pub use space::{Dtype, Space};
pub use vector::{BadState, Call, EnvError, StepBatch, VectorEnv};
pub use view::{Passenger, Tile, View};
