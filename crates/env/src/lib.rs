//! Environments: spaces, vectorisation, wrappers and the native catalogue.

pub mod space;
pub mod vector;

pub use space::Space;
pub use vector::{BadState, StepBatch, VectorEnv};
