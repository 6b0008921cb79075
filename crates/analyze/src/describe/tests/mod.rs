//! Every sentence about a run is true: its claims are recomputed from the raw
//! points of random curves and of real trainings.

mod oracle;
mod property;
mod real;
