//! Statistics and curves: pure functions of their inputs. No I/O, no clock, no
//! random numbers.

mod band;

pub use band::{BandPoint, band};
