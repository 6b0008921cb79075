//! Helpers to read a learner's state out of named tensors, with errors that
//! name the tensor.

use rlxp_nn::Tensors;
use rlxp_types::{Stream, rng};

use crate::LearnError;

fn problem(name: &str, problem: impl Into<String>) -> LearnError {
    LearnError::State { name: name.to_owned(), problem: problem.into() }
}

/// The values, if there are as many as there should be.
pub(crate) fn sized<T: Clone>(name: &str, values: &[T], length: usize) -> Result<Vec<T>, LearnError> {
    if values.len() == length {
        return Ok(values.to_vec());
    }
    Err(problem(name, format!("{} long, where {length} is right", values.len())))
}

/// Finite f64 numbers.
pub(crate) fn numbers(tensors: &Tensors, name: &str, length: usize) -> Result<Vec<f64>, LearnError> {
    let values = tensors.f64s(name)?;
    if values.iter().any(|value| !value.is_finite()) {
        return Err(problem(name, "not finite"));
    }
    sized(name, values, length)
}

/// Saved random streams.
pub(crate) fn streams(tensors: &Tensors, name: &str, count: usize) -> Result<Vec<Stream>, LearnError> {
    let saved = sized(name, tensors.u8s(name)?, count * rng::SAVED_BYTES)?;
    let (streams, _) = saved.as_chunks::<{ rng::SAVED_BYTES }>();
    Ok(streams.iter().map(Stream::restore).collect())
}
