//! Parameters as named tensors, for files that outlive a program version.
//!
//! `policy.0.weight` is the first hidden layer of the policy, [inputs, outputs]; `policy.out.weight` its output
//! layer, [outputs, inputs]; biases are next to them; a shared stack is called `trunk`; `log_std` are the head's own
//! parameters.

use std::fmt;

use crate::actor_critic::ActorCritic;
use crate::head::Head;
use crate::tensors::{Data, Tensor, Tensors};

/// A reason why tensors are not this network's parameters.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TensorProblem {
    /// The network has it, the file does not.
    #[error("{name} is missing; the network wants {wanted:?}")]
    Missing {
        /// The tensor.
        name: String,
        /// Its shape in the network.
        wanted: Vec<usize>,
    },
    /// The shapes differ.
    #[error("{name} has shape {found:?}, the network wants {wanted:?}")]
    Shape {
        /// The tensor.
        name: String,
        /// Its shape in the network.
        wanted: Vec<usize>,
        /// Its shape in the file.
        found: Vec<usize>,
    },
    /// It does not hold 32-bit floats.
    #[error("{name} holds {found}, the network wants F32")]
    Type {
        /// The tensor.
        name: String,
        found: &'static str,
    },
    /// A value is NaN or infinite.
    #[error("{name} holds {value} at position {position}")]
    NotFinite {
        /// The tensor.
        name: String,
        /// Index of the first such value.
        position: usize,
        value: f32,
    },
    /// The file has it, the network does not.
    #[error("{name} with shape {found:?} has no place in the network")]
    Unknown {
        /// The tensor.
        name: String,
        /// Its shape in the file.
        found: Vec<usize>,
    },
}

/// The tensors are not those of this network; every difference is listed.
#[derive(Clone, Debug, PartialEq)]
pub struct ShapeMismatch {
    pub problems: Vec<TensorProblem>,
}

impl fmt::Display for ShapeMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the parameters do not fit the network: ")?;
        for (index, problem) in self.problems.iter().enumerate() {
            write!(f, "{}{problem}", if index > 0 { "; " } else { "" })?;
        }
        Ok(())
    }
}

impl std::error::Error for ShapeMismatch {}

/// Name, shape and position of one tensor.
struct Entry {
    name: String,
    shape: Vec<usize>,
    start: usize,
}

impl Entry {
    fn range(&self) -> std::ops::Range<usize> {
        self.start..self.start + self.shape.iter().product::<usize>()
    }
}

impl ActorCritic {
    fn entries(&self) -> Vec<Entry> {
        let mut entries = Vec::new();
        let mut add = |name: String, shape, start| entries.push(Entry { name, shape, start });
        for stack in &self.stacks {
            for layer in &stack.hidden {
                add(format!("{}.weight", layer.name), vec![layer.inputs, layer.outputs], layer.weight);
                add(format!("{}.bias", layer.name), vec![layer.outputs], layer.bias);
            }
            for (_, layer) in &stack.outputs {
                add(format!("{}.weight", layer.name), vec![layer.outputs, layer.inputs], layer.weight);
                add(format!("{}.bias", layer.name), vec![layer.outputs], layer.bias);
            }
        }
        match self.shape().head {
            Head::Gaussian { size } => add("log_std".to_owned(), vec![size], self.head_start),
            Head::StateDependent { latent, size } => {
                add("log_std".to_owned(), vec![latent, size], self.head_start);
            }
            Head::Categorical { .. } | Head::MultiCategorical { .. } => {}
        }
        entries
    }

    pub fn tensors(&self, parameters: &[f32]) -> Tensors {
        let mut tensors = Tensors::new();
        for entry in self.entries() {
            let data = Data::F32(parameters[entry.range()].to_vec());
            tensors.insert(entry.name, Tensor { shape: entry.shape, data });
        }
        tensors
    }

    /// Loads parameters by name. On error nothing is changed.
    pub fn load(&self, tensors: &Tensors, parameters: &mut [f32]) -> Result<(), ShapeMismatch> {
        let entries = self.entries();
        let mut problems: Vec<TensorProblem> =
            entries.iter().filter_map(|entry| problem_of(entry, tensors.get(&entry.name))).collect();
        for (name, tensor) in tensors.iter() {
            if !entries.iter().any(|entry| entry.name == name) {
                problems.push(TensorProblem::Unknown { name: name.to_owned(), found: tensor.shape.clone() });
            }
        }
        if !problems.is_empty() {
            return Err(ShapeMismatch { problems });
        }
        for entry in entries {
            if let Some(Tensor { data: Data::F32(values), .. }) = tensors.get(&entry.name) {
                parameters[entry.range()].copy_from_slice(values);
            }
        }
        Ok(())
    }
}

fn problem_of(entry: &Entry, found: Option<&Tensor>) -> Option<TensorProblem> {
    let name = entry.name.clone();
    let wanted = entry.shape.clone();
    let Some(tensor) = found else { return Some(TensorProblem::Missing { name, wanted }) };
    if tensor.shape != wanted {
        return Some(TensorProblem::Shape { name, wanted, found: tensor.shape.clone() });
    }
    let Data::F32(values) = &tensor.data else {
        return Some(TensorProblem::Type { name, found: tensor.data.kind() });
    };
    let position = values.iter().position(|value| !value.is_finite())?;
    Some(TensorProblem::NotFinite { name, position, value: values[position] })
}
