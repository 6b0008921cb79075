//! How well the value function fits: explained variance says whether it
//! follows the returns, bias whether it is off by a constant, which explained
//! variance can't see.

/// Fit of value estimates to returns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ValueFit {
    /// 1 − Var(returns − values) / Var(returns); NaN when returns are constant.
    pub(crate) explained_variance: f64,
    /// mean(values − returns) in deviations of the returns; NaN when they are constant.
    pub(crate) bias: f64,
    /// Mean value estimate.
    pub(crate) value_mean: f64,
    /// Mean return.
    pub(crate) return_mean: f64,
}

impl ValueFit {
    pub(crate) fn of(values: &[f32], returns: &[f32]) -> Self {
        let count = returns.len() as f64;
        let mean = |sum: f64| sum / count;
        let value_mean = mean(values.iter().map(|x| f64::from(*x)).sum());
        let return_mean = mean(returns.iter().map(|x| f64::from(*x)).sum());
        let error = value_mean - return_mean;
        let mut return_variance = 0.0;
        let mut error_variance = 0.0;
        for (value, target) in values.iter().zip(returns) {
            let (value, target) = (f64::from(*value), f64::from(*target));
            return_variance += (target - return_mean).powi(2);
            error_variance += (value - target - error).powi(2);
        }
        let (return_variance, error_variance) = (mean(return_variance), mean(error_variance));
        let defined = return_variance > 1e-12;
        Self {
            explained_variance: if defined { 1.0 - error_variance / return_variance } else { f64::NAN },
            bias: if defined { error / return_variance.sqrt() } else { f64::NAN },
            value_mean,
            return_mean,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explained_variance_is_blind_to_a_constant_that_bias_sees() {
        let returns = [1.0, 2.0, 3.0, 4.0];
        let close = ValueFit::of(&[1.1, 1.9, 3.2, 3.7], &returns);
        assert!((close.explained_variance - 0.9705).abs() < 1e-6, "{close:?}");
        let shifted = ValueFit::of(&[11.1, 11.9, 13.2, 13.7], &returns);
        assert!((shifted.explained_variance - 0.9705).abs() < 1e-5, "{shifted:?}");
        // mean(ŷ − y) = 9.975, std(y) = √1.25.
        assert!((shifted.bias - 9.975 / 1.25_f64.sqrt()).abs() < 1e-5, "{shifted:?}");
    }

    #[test]
    fn constant_returns_leave_both_undefined() {
        let fit = ValueFit::of(&[1.0, 2.0], &[3.0, 3.0]);
        assert!(fit.explained_variance.is_nan() && fit.bias.is_nan());
    }
}
