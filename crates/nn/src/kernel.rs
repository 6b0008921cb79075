//! The inner loops: products of a tile of rows with a layer's weights, with
//! bias and activation in the same pass.
//!
//! Matrices are row-major with a stride. Hidden weights are [inputs, outputs],
//! output weights [outputs, inputs]: each is then read along contiguous memory
//! in the product that costs most. A tile's activations are padded to whole
//! vectors, and the padding stays zero.

mod activation;
mod portable;

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

/// Which SIMD path this CPU uses; recorded with a run, because another path
/// may round differently.
pub fn kernels() -> &'static str {
    if crate::math::has_avx2() { "gemm+avx2-fma" } else { "gemm+portable" }
}

/// Distance between activation rows of a layer `width` wide: whole vectors, and
/// never a multiple of 512 bytes, which would put a column into few cache sets.
pub(crate) fn padded(width: usize) -> usize {
    let whole = width.next_multiple_of(16);
    if whole.is_multiple_of(128) { whole + 16 } else { whole }
}

/// y = f(x·W + b); `slopes` receives f' where it can't be had from y.
pub(crate) fn hidden_forward(
    rows: usize,
    x: Rows<'_>,
    layer: Linear<'_>,
    function: Activation,
    y: RowsMut<'_>,
    slopes: &mut [f32],
) {
    portable::hidden_forward(rows, x, layer, function, y, slopes);
}

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

/// Calls `each` with the number of the feature that each part switches on.
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
pub(crate) fn output_forward(rows: usize, x: Rows<'_>, layer: Linear<'_>, y: &mut [f32]) {
    portable::output_forward(rows, x, layer, y);
}

/// dx = dy·W, or dx += dy·W, with output weights; dy is dense.
pub(crate) fn output_input_gradient(
    rows: usize,
    dy: &[f32],
    layer: Linear<'_>,
    dx: RowsMut<'_>,
    accumulate: bool,
) {
    portable::output_input_gradient(rows, dy, layer, dx, accumulate);
}

/// dx = (dy·Wᵀ) ∘ f'(y) with hidden weights; y are the activations that the
/// layer read, which the layer before it wrote.
pub(crate) fn hidden_input_gradient(
    rows: usize,
    dy: Rows<'_>,
    layer: Linear<'_>,
    function: Activation,
    y: Rows<'_>,
    slopes: &[f32],
    mut dx: RowsMut<'_>,
) {
    portable::hidden_input_gradient(rows, dy, layer, &mut dx);
    scale_by_slope(rows, function, y, slopes, dx);
}

/// d ∘= f'(y), over whole padded rows.
pub(crate) fn scale_by_slope(rows: usize, function: Activation, y: Rows<'_>, slopes: &[f32], d: RowsMut<'_>) {
    let length = rows * d.stride;
    assert_eq!(y.stride, d.stride, "activations and their gradients have one layout");
    activation::backward(function, &y.data[..length], slopes, &mut d.data[..length]);
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
    portable::weight_gradient(rows, x, x_width, dy, dy_width, d_weight);
}

/// db += Σ_rows dy.
pub(crate) fn bias_gradient(rows: usize, dy: Rows<'_>, d_bias: &mut [f32]) {
    for row in 0..rows {
        let dy = &dy.data[row * dy.stride..][..d_bias.len()];
        d_bias.iter_mut().zip(dy).for_each(|(gradient, dy)| *gradient += dy);
    }
}
