//! One logged number of a metric, as files of training programs have them.

/// A value, and the step it was logged at where the log has steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Where it is on the metric's step axis; always finite.
    pub step: Option<f64>,
    /// The value; may be NaN or infinite.
    pub value: f64,
}
