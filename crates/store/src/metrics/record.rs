//! One line of the metrics.

use serde::Deserialize;
use serde_json::{Map, Value};

/// A value to log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MetricValue<'a> {
    /// A number.
    Float(f64),
    /// A number of single precision, written with the few digits it needs.
    Single(f32),
    /// A count.
    Count(u64),
    /// A whole number.
    Integer(i64),
    /// Yes or no.
    Flag(bool),
    /// A text.
    Text(&'a str),
}

macro_rules! from {
    ($($type:ty => $variant:ident),*) => {$(
        impl From<$type> for MetricValue<'_> {
            fn from(value: $type) -> Self {
                MetricValue::$variant(value)
            }
        }
    )*};
}
from!(f64 => Float, f32 => Single, u64 => Count, i64 => Integer, bool => Flag);

impl<'a> From<&'a str> for MetricValue<'a> {
    fn from(value: &'a str) -> Self {
        MetricValue::Text(value)
    }
}

impl MetricValue<'_> {
    fn write(self, out: &mut Vec<u8>) {
        match self {
            MetricValue::Float(value) => write_float(value, value.is_finite(), value, out),
            MetricValue::Single(value) => write_float(value, value.is_finite(), f64::from(value), out),
            MetricValue::Count(value) => json(&value, out),
            MetricValue::Integer(value) => json(&value, out),
            MetricValue::Flag(value) => json(&value, out),
            MetricValue::Text(value) => json(value, out),
        }
    }
}

fn write_float(value: impl serde::Serialize, finite: bool, wide: f64, out: &mut Vec<u8>) {
    if finite {
        json(&value, out);
    } else if wide.is_nan() {
        out.extend_from_slice(b"\"NaN\"");
    } else {
        out.extend_from_slice(if wide > 0.0 { b"\"inf\"" } else { b"\"-inf\"" });
    }
}

fn json<T: serde::Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) {
    serde_json::to_writer(out, value).expect("writing plain data to memory can't fail");
}

/// Appends one line to `out`.
pub(super) fn write_line(
    out: &mut Vec<u8>,
    seq: u64,
    step: u64,
    wall: f64,
    kind: &str,
    values: &[(&str, MetricValue<'_>)],
) {
    out.extend_from_slice(b"{\"seq\":");
    json(&seq, out);
    out.extend_from_slice(b",\"step\":");
    json(&step, out);
    out.extend_from_slice(b",\"wall\":");
    MetricValue::Float(wall).write(out);
    out.extend_from_slice(b",\"kind\":");
    json(kind, out);
    out.extend_from_slice(b",\"values\":{");
    for (index, (key, value)) in values.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        json(*key, out);
        out.push(b':');
        value.write(out);
    }
    out.extend_from_slice(b"}}\n");
}

/// A line read back. Keys are in the order in which they were written.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Record {
    /// Its number in the file.
    pub seq: u64,
    /// Training steps done.
    pub step: u64,
    /// Seconds since 1970; a label only.
    #[serde(deserialize_with = "lenient_number")]
    pub wall: f64,
    /// Its kind: `train`, `eval`, `timing`, …
    pub kind: String,
    /// The values.
    pub values: Map<String, Value>,
}

impl Record {
    /// A value as a number; the texts for NaN and infinity included.
    pub fn number(&self, key: &str) -> Option<f64> {
        number(self.values.get(key)?)
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => number_of_text(text),
        _ => None,
    }
}

/// The numbers that JSON can't represent.
pub(super) fn number_of_text(text: &str) -> Option<f64> {
    match text {
        "NaN" => Some(f64::NAN),
        "inf" => Some(f64::INFINITY),
        "-inf" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

fn lenient_number<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let value = Value::deserialize(deserializer)?;
    number(&value).ok_or_else(|| serde::de::Error::custom("wall is not a number"))
}
