//! The inner loops: products of a tile of rows with a layer's weights, with
//! bias and activation in the same pass.
//!
//! Matrices are row-major with a stride. Hidden weights are [inputs, outputs],
//! output weights [outputs, inputs]: each is then read along contiguous memory
//! in the product that costs most. A tile's activations are padded to whole
//! vectors, and the padding stays zero.

mod activation;
#[cfg(target_arch = "x86_64")]
mod avx2;
mod portable;

use rlxp_types::cpu::uses_avx512;

use crate::aligned::Aligned;
use crate::math::{has_avx2, vectorised};
use crate::shape::Activation;

/// Rows of floats at a fixed distance.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    pub(crate) data: &'a [f32],
    pub(crate) stride: usize,
}

/// Rows of floats at a fixed distance, to write.
pub(crate) struct RowsMut<'a> {
    pub(crate) data: &'a mut [f32],
    pub(crate) stride: usize,
}

/// One linear layer: sizes, weights and bias.
#[derive(Clone, Copy)]
pub(crate) struct Linear<'a> {
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    pub(crate) weight: &'a [f32],
    pub(crate) bias: &'a [f32],
}

/// Where the slope of an activation comes from: its function and what it gave,
/// or the slopes themselves for a function that needs its input.
#[derive(Clone, Copy)]
pub(crate) struct SlopeOf<'a> {
    pub(crate) function: Activation,
    pub(crate) y: Rows<'a>,
    pub(crate) slopes: &'a [f32],
}

/// A layer's weights copied into the order in which a product reads them. The
/// `prepare_` functions decide whether that is of use; a copy is good until the
/// weights change.
pub(crate) struct Panels {
    memory: Aligned,
    used: bool,
}

impl Panels {
    /// Room for a hidden layer.
    pub(crate) fn hidden(inputs: usize, outputs: usize) -> Self {
        #[cfg(target_arch = "x86_64")]
        if has_avx2() {
            return Self { memory: Aligned::zeros(avx2::panels_length(inputs, outputs)), used: false };
        }
        let _ = (inputs, outputs);
        Self { memory: Aligned::zeros(0), used: false }
    }

    /// Room for an output layer.
    pub(crate) fn output(inputs: usize, outputs: usize) -> Self {
        Self { memory: Aligned::zeros(inputs.next_multiple_of(16) * outputs), used: false }
    }

    #[cfg(target_arch = "x86_64")]
    fn get(&self) -> Option<&[f32]> {
        self.used.then_some(&*self.memory)
    }
}

/// Calls the AVX2 version where the CPU has it and returns its result.
macro_rules! if_avx2 {
    ($name:ident($($argument:expr),*)) => {
        #[cfg(target_arch = "x86_64")]
        if has_avx2() {
            return avx2::$name($($argument),*);
        }
    };
}

/// Which SIMD path this CPU uses; recorded with a run, because the portable
/// one rounds differently.
pub fn kernels() -> &'static str {
    match (uses_avx512(), has_avx2()) {
        (true, _) => "own+avx512",
        (false, true) => "own+avx2-fma",
        (false, false) => "gemm+portable",
    }
}

/// Distance between activation rows of a layer `width` wide: whole vectors, and
/// never a multiple of 512 bytes, which would put a column into few cache sets.
pub(crate) fn padded(width: usize) -> usize {
    let whole = width.next_multiple_of(16);
    if whole.is_multiple_of(128) { whole + 16 } else { whole }
}

/// To be called before `hidden_forward`, with the number of rows to come.
pub(crate) fn prepare_forward(layer: Linear<'_>, rows: usize, panels: &mut Panels) {
    if_avx2!(prepare_forward(layer, rows, panels));
    let _ = (layer, rows, panels);
}

/// To be called before `hidden_input_gradient`.
pub(crate) fn prepare_backward(layer: Linear<'_>, panels: &mut Panels) {
    if_avx2!(prepare_backward(layer, panels));
    let _ = (layer, panels);
}

/// To be called before `output_forward` and `output_input_gradient`.
pub(crate) fn prepare_output(layer: Linear<'_>, panels: &mut Panels) {
    if_avx2!(prepare_output(layer, panels));
    let _ = (layer, panels);
}

/// y = f(x·W + b); `slopes` receives f' where it can't be had from y.
pub(crate) fn hidden_forward(
    rows: usize,
    x: Rows<'_>,
    layer: Linear<'_>,
    panels: &Panels,
    function: Activation,
    y: RowsMut<'_>,
    slopes: &mut [f32],
) {
    if_avx2!(hidden_forward(rows, x, layer, panels, function, y, slopes));
    portable::hidden_forward(rows, x, layer, function, y, slopes);
}

vectorised! {
    /// y = f(Σ_parts W[index of the part] + b).
    pub(crate) fn gather_forward(
        rows: usize,
        indices: &[f32],
        parts: &[usize],
        layer: Linear<'_>,
        function: Activation,
        y: RowsMut<'_>,
        slopes: &mut [f32],
    ) {
        let stride = y.stride;
        for row in 0..rows {
            let y = &mut y.data[row * stride..][..layer.outputs];
            y.copy_from_slice(layer.bias);
            for_indices(&indices[row * parts.len()..][..parts.len()], parts, |feature| {
                let weights = &layer.weight[feature * layer.outputs..][..layer.outputs];
                y.iter_mut().zip(weights).for_each(|(y, weight)| *y += weight);
            });
        }
        activation::forward(function, &mut y.data[..rows * stride], slopes);
    }
}

vectorised! {
    /// dW[index of the part] += dy, for every part of every row.
    pub(crate) fn gather_weight_gradient(
        rows: usize,
        indices: &[f32],
        parts: &[usize],
        dy: Rows<'_>,
        outputs: usize,
        d_weight: &mut [f32],
    ) {
        for row in 0..rows {
            let dy = &dy.data[row * dy.stride..][..outputs];
            for_indices(&indices[row * parts.len()..][..parts.len()], parts, |feature| {
                let gradient = &mut d_weight[feature * outputs..][..outputs];
                gradient.iter_mut().zip(dy).for_each(|(gradient, dy)| *gradient += dy);
            });
        }
    }
}

/// Calls `each` with the number of the feature that each part switches on.
#[inline(always)]
pub(crate) fn for_indices(indices: &[f32], parts: &[usize], mut each: impl FnMut(usize)) {
    let mut offset = 0;
    for (&index, &n) in indices.iter().zip(parts) {
        let index = index as usize;
        assert!(index < n, "observation index {index} of {n} values");
        each(offset + index);
        offset += n;
    }
}

/// y = x·Wᵀ + b with output weights; y is dense.
pub(crate) fn output_forward(rows: usize, x: Rows<'_>, layer: Linear<'_>, panels: &Panels, y: &mut [f32]) {
    // Observations that feed an output layer directly have no padding.
    if x.stride.is_multiple_of(16) {
        if_avx2!(output_forward(rows, x, layer, panels, y));
    }
    let _ = panels;
    portable::output_forward(rows, x, layer, y);
}

/// dx = dy·W, or dx += dy·W, with output weights, then times the slope if
/// there is one; dy is dense.
pub(crate) fn output_input_gradient(
    rows: usize,
    dy: &[f32],
    layer: Linear<'_>,
    panels: &Panels,
    slope: Option<SlopeOf<'_>>,
    dx: RowsMut<'_>,
    accumulate: bool,
) {
    if_avx2!(output_input_gradient(rows, dy, layer, panels, slope, dx, accumulate));
    let _ = panels;
    portable::output_input_gradient(rows, dy, layer, slope, dx, accumulate);
}

/// dx = (dy·Wᵀ) ∘ slope with hidden weights; the slope is that of the
/// activations that the layer read.
pub(crate) fn hidden_input_gradient(
    rows: usize,
    dy: Rows<'_>,
    layer: Linear<'_>,
    panels: &Panels,
    slope: SlopeOf<'_>,
    dx: RowsMut<'_>,
) {
    if_avx2!(hidden_input_gradient(rows, dy, layer, panels, slope, dx));
    let _ = panels;
    portable::hidden_input_gradient(rows, dy, layer, slope, dx);
}

/// dW += xᵀ·dy, `x_width` × `dy_width` and dense.
pub(crate) fn weight_gradient(
    rows: usize,
    x: Rows<'_>,
    x_width: usize,
    dy: Rows<'_>,
    dy_width: usize,
    d_weight: &mut [f32],
) {
    if dy.stride.is_multiple_of(16) {
        if_avx2!(weight_gradient(rows, x, x_width, dy, dy_width, d_weight));
    }
    portable::weight_gradient(rows, x, x_width, dy, dy_width, d_weight);
}

vectorised! {
    /// db += Σ_rows dy. Groups of 32 columns are summed in the order of the rows; a
    /// remaining column in eight parts, rows 0, 8, 16 … first, which don't wait for each other.
    pub(crate) fn bias_gradient(rows: usize, dy: Rows<'_>, d_bias: &mut [f32]) {
        // A group of columns is summed in registers over all rows.
        const GROUP: usize = 32;
        let (groups, rest) = d_bias.as_chunks_mut::<GROUP>();
        let whole = groups.len() * GROUP;
        for (group, d_bias) in groups.iter_mut().enumerate() {
            let mut sums = [0.0; GROUP];
            for row in 0..rows {
                let dy = &dy.data[row * dy.stride + group * GROUP..][..GROUP];
                sums.iter_mut().zip(dy).for_each(|(sum, dy)| *sum += dy);
            }
            d_bias.iter_mut().zip(sums).for_each(|(gradient, sum)| *gradient += sum);
        }
        for (column, d_bias) in rest.iter_mut().enumerate() {
            let mut parts = [0.0; 8];
            for row in 0..rows {
                parts[row % 8] += dy.data[row * dy.stride + whole + column];
            }
            let [a, b, c, d, e, f, g, h] = parts;
            *d_bias += ((a + b) + (c + d)) + ((e + f) + (g + h));
        }
    }
}

#[cfg(test)]
mod tests;
