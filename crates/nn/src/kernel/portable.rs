//! Products through the `gemm-f32` crate, which chooses its vectors where it runs.

use gemm_common::Parallelism;

use super::{Linear, Rows, RowsMut, SlopeOf, activation};
use crate::shape::Activation;

/// A matrix with a stride per axis.
struct View {
    start: *const f32,
    row: usize,
    column: usize,
}

/// A dense axis has stride 1; checks that the last element is in bounds.
fn view(data: &[f32], rows: usize, columns: usize, row: usize, column: usize) -> View {
    let last = (rows.max(1) - 1) * row + (columns.max(1) - 1) * column;
    assert!(rows * columns == 0 || last < data.len(), "the matrix reaches beyond its memory");
    View { start: data.as_ptr(), row, column }
}

/// destination (m × n, rows `stride` apart) = a·b, or += a·b.
fn product(
    (m, n, k): (usize, usize, usize),
    a: View,
    b: View,
    destination: &mut [f32],
    stride: usize,
    accumulate: bool,
) {
    let target = view(destination, m, n, stride, 1);
    let target = (destination.as_mut_ptr(), target.row);
    let multiply = gemm_f32::gemm::f32::get_gemm_fn();
    // The kernels want columns that lie together and ours are rows, so this
    // is the transposed product, b'·a'.
    // SAFETY: `view` has checked the extent of all three matrices, and the
    // destination is borrowed uniquely.
    unsafe {
        multiply(
            n,
            m,
            k,
            target.0,
            target.1 as isize,
            1,
            accumulate,
            b.start,
            b.row as isize,
            b.column as isize,
            a.start,
            a.row as isize,
            a.column as isize,
            1.0,
            1.0,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

/// Fills every row with the bias, for a product to add to.
fn fill_bias(rows: usize, bias: &[f32], y: &mut [f32], stride: usize) {
    for row in 0..rows {
        y[row * stride..][..bias.len()].copy_from_slice(bias);
    }
}

pub(super) fn hidden_forward(
    rows: usize,
    x: Rows<'_>,
    layer: Linear<'_>,
    function: Activation,
    y: RowsMut<'_>,
    slopes: &mut [f32],
) {
    let (k, n) = (layer.inputs, layer.outputs);
    fill_bias(rows, layer.bias, y.data, y.stride);
    let a = view(x.data, rows, k, x.stride, 1);
    let b = view(layer.weight, k, n, n, 1);
    product((rows, n, k), a, b, y.data, y.stride, true);
    activation::forward(function, &mut y.data[..rows * y.stride], slopes);
}

pub(super) fn output_forward(rows: usize, x: Rows<'_>, layer: Linear<'_>, y: &mut [f32]) {
    let (k, n) = (layer.inputs, layer.outputs);
    fill_bias(rows, layer.bias, y, n);
    let a = view(x.data, rows, k, x.stride, 1);
    let b = view(layer.weight, k, n, 1, k);
    product((rows, n, k), a, b, y, n, true);
}

pub(super) fn output_input_gradient(
    rows: usize,
    dy: &[f32],
    layer: Linear<'_>,
    slope: Option<SlopeOf<'_>>,
    dx: RowsMut<'_>,
    accumulate: bool,
) {
    let (k, n) = (layer.inputs, layer.outputs);
    let a = view(dy, rows, n, n, 1);
    let b = view(layer.weight, n, k, k, 1);
    product((rows, k, n), a, b, dx.data, dx.stride, accumulate);
    if let Some(slope) = slope {
        scale_by_slope(rows, slope, dx);
    }
}

/// d ∘= slope, over whole padded rows.
fn scale_by_slope(rows: usize, slope: SlopeOf<'_>, d: RowsMut<'_>) {
    let length = rows * d.stride;
    assert_eq!(slope.y.stride, d.stride, "activations and their gradients have one layout");
    activation::backward(slope.function, &slope.y.data[..length], slope.slopes, &mut d.data[..length]);
}

pub(super) fn hidden_input_gradient(
    rows: usize,
    dy: Rows<'_>,
    layer: Linear<'_>,
    slope: SlopeOf<'_>,
    dx: RowsMut<'_>,
) {
    let (k, n) = (layer.inputs, layer.outputs);
    let a = view(dy.data, rows, n, dy.stride, 1);
    let b = view(layer.weight, n, k, 1, n);
    product((rows, k, n), a, b, dx.data, dx.stride, false);
    scale_by_slope(rows, slope, dx);
}

pub(super) fn weight_gradient(
    rows: usize,
    x: Rows<'_>,
    x_width: usize,
    dy: Rows<'_>,
    dy_width: usize,
    d_weight: &mut [f32],
) {
    let a = view(x.data, x_width, rows, 1, x.stride);
    let b = view(dy.data, rows, dy_width, dy.stride, 1);
    product((x_width, dy_width, rows), a, b, d_weight, dy_width, true);
}
