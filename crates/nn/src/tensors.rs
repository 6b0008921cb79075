//! Named tensors and their file format, safetensors.
//!
//! The bytes are a function of the content alone: no metadata map, and an order
//! by type and name. Reading trusts nothing: a damaged file gives an error,
//! never a panic, and never an allocation larger than the file.

use std::borrow::Cow;
use std::collections::BTreeMap;

use safetensors::tensor::{Dtype, SafeTensors, View};

/// Longest header that is read; those of rlx have a few kilobytes.
const HEADER_LIMIT: u64 = 1 << 20;

#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// 32-bit floats.
    F32(Vec<f32>),
    /// 64-bit floats.
    F64(Vec<f64>),
    /// 64-bit whole numbers.
    U64(Vec<u64>),
    /// Bytes.
    U8(Vec<u8>),
}

/// Numbers with a shape, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Length of each axis.
    pub shape: Vec<usize>,
    pub data: Data,
}

/// Tensors by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tensors(BTreeMap<String, Tensor>);

/// Why bytes are not a tensors file.
#[derive(Debug, thiserror::Error)]
pub enum TensorsError {
    /// The header is longer than that of any valid file.
    #[error("the header claims {claimed} bytes, more than the {HEADER_LIMIT} that are allowed")]
    HeaderTooLong {
        /// The length in the first eight bytes.
        claimed: u64,
    },
    /// The format is invalid: truncated, overlapping, not covering the file.
    #[error("not a readable safetensors file")]
    Format(#[from] safetensors::SafeTensorError),
    /// A tensor has a type that is not used here.
    #[error("tensor {name:?} has type {found}; wanted F32, F64, U64 or U8")]
    Type {
        name: String,
        /// The type in the file.
        found: String,
    },
    #[error("there is no tensor {name:?}")]
    Missing { name: String },
    /// A tensor has another type than requested.
    #[error("tensor {name:?} holds {found}, wanted {wanted}")]
    Kind {
        name: String,
        /// The requested type.
        wanted: &'static str,
        /// Its type.
        found: &'static str,
    },
}

impl Data {
    /// Number of elements.
    pub fn len(&self) -> usize {
        match self {
            Data::F32(values) => values.len(),
            Data::F64(values) => values.len(),
            Data::U64(values) => values.len(),
            Data::U8(values) => values.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn kind(&self) -> &'static str {
        match self {
            Data::F32(_) => "F32",
            Data::F64(_) => "F64",
            Data::U64(_) => "U64",
            Data::U8(_) => "U8",
        }
    }

    fn dtype(&self) -> Dtype {
        match self {
            Data::F32(_) => Dtype::F32,
            Data::F64(_) => Dtype::F64,
            Data::U64(_) => Dtype::U64,
            Data::U8(_) => Dtype::U8,
        }
    }

    fn bytes(&self) -> Cow<'_, [u8]> {
        match self {
            Data::F32(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            Data::F64(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            Data::U64(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            Data::U8(values) => Cow::Borrowed(values),
        }
    }

    fn from_bytes(dtype: Dtype, bytes: &[u8]) -> Option<Self> {
        Some(match dtype {
            Dtype::F32 => Data::F32(numbers(bytes, f32::from_le_bytes)),
            Dtype::F64 => Data::F64(numbers(bytes, f64::from_le_bytes)),
            Dtype::U64 => Data::U64(numbers(bytes, u64::from_le_bytes)),
            Dtype::U8 => Data::U8(bytes.to_vec()),
            _ => return None,
        })
    }
}

fn numbers<T, const WIDTH: usize>(bytes: &[u8], read: fn([u8; WIDTH]) -> T) -> Vec<T> {
    let (chunks, _) = bytes.as_chunks::<WIDTH>();
    chunks.iter().map(|chunk| read(*chunk)).collect()
}

impl Tensor {
    /// A tensor; its shape must account for every element.
    pub fn new(shape: Vec<usize>, data: Data) -> Self {
        assert_eq!(shape.iter().product::<usize>(), data.len(), "the shape accounts for every element");
        Self { shape, data }
    }
}

impl View for &Tensor {
    fn dtype(&self) -> Dtype {
        self.data.dtype()
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        self.data.bytes()
    }

    fn data_len(&self) -> usize {
        self.data.len() * self.data.dtype().bitsize() / 8
    }
}

macro_rules! typed_access {
    ($get:ident, $insert:ident, $kind:ident, $number:ty) => {
        impl Tensors {
            #[doc = concat!("The elements of a tensor of type ", stringify!($kind), ".")]
            pub fn $get(&self, name: &str) -> Result<&[$number], TensorsError> {
                match &self.get(name).ok_or_else(|| TensorsError::Missing { name: name.to_owned() })?.data {
                    Data::$kind(values) => Ok(values),
                    other => Err(TensorsError::Kind {
                        name: name.to_owned(),
                        wanted: stringify!($kind),
                        found: other.kind(),
                    }),
                }
            }

            #[doc = concat!("Adds a one-dimensional tensor of type ", stringify!($kind), ".")]
            pub fn $insert(&mut self, name: impl Into<String>, values: Vec<$number>) {
                self.insert(name, Tensor::new(vec![values.len()], Data::$kind(values)));
            }
        }
    };
}
typed_access!(f32s, insert_f32s, F32, f32);
typed_access!(f64s, insert_f64s, F64, f64);
typed_access!(u64s, insert_u64s, U64, u64);
typed_access!(u8s, insert_u8s, U8, u8);

impl Tensors {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds or replaces a tensor.
    pub fn insert(&mut self, name: impl Into<String>, tensor: Tensor) {
        self.0.insert(name.into(), tensor);
    }

    pub fn get(&self, name: &str) -> Option<&Tensor> {
        self.0.get(name)
    }

    /// All tensors in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.0.iter().map(|(name, tensor)| (name.as_str(), tensor))
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The bytes of a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        safetensors::serialize(self.0.iter(), None)
            .expect("shapes account for every element, and a header of names is far below 100 MB")
    }

    /// Parses the bytes of a file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, TensorsError> {
        if let Some(length) = bytes.first_chunk::<8>() {
            let claimed = u64::from_le_bytes(*length);
            if claimed > HEADER_LIMIT {
                return Err(TensorsError::HeaderTooLong { claimed });
            }
        }
        let file = SafeTensors::deserialize(bytes)?;
        let mut tensors = BTreeMap::new();
        for (name, view) in file.iter() {
            let data = Data::from_bytes(view.dtype(), view.data()).ok_or_else(|| TensorsError::Type {
                name: name.to_owned(),
                found: view.dtype().to_string(),
            })?;
            tensors.insert(name.to_owned(), Tensor { shape: view.shape().to_vec(), data });
        }
        Ok(Self(tensors))
    }
}
