//! Products for CPUs with AVX2 and fused multiply-add, with the wider registers
//! of AVX-512 where there are any.
//!
//! Every element of a product is one chain of fused multiply-adds in the order
//! of the summed index (for output layers: 16 chains, added in a fixed
//! order), whatever block it falls into. So a row's result depends neither on
//! how many rows there are nor on where it stands.
//!
//! Compared with the `gemm` crate this reads weights in place where their
//! layout allows, and makes no second pass over activations and gradients.

mod block;
mod dot;
mod pack;
mod wide;

use self::block::{Activate, Add, Left, PANEL, Right, Slope, panels as sum_panels};
use rlxp_types::cpu::uses_avx512;

use super::{Linear, Panels, Rows, RowsMut, SlopeOf, activation};
use crate::shape::Activation;

/// Rows from which it pays to copy wide weights into panels first.
const WORTH_PACKING: usize = 24;
/// Widest layer whose weights are read in place: beyond it, rows of weights
/// share so few cache sets that a panel does not stay in the first level. With
/// 512-bit registers, weights in place also straddle two cache lines each.
const READ_IN_PLACE: usize = 64;

/// Room for a hidden layer's panels, forward or backward.
pub(super) fn panels_length(inputs: usize, outputs: usize) -> usize {
    (inputs * outputs.next_multiple_of(PANEL)).max(outputs * inputs.next_multiple_of(PANEL))
}

/// Copies hidden weights into panels of 16 outputs, where that is needed or pays.
pub(super) fn prepare_forward(layer: Linear<'_>, rows: usize, panels: &mut Panels) {
    let whole = layer.outputs.is_multiple_of(PANEL);
    let is_slow_in_place = layer.outputs > READ_IN_PLACE || uses_avx512();
    panels.used = !whole || (is_slow_in_place && rows >= WORTH_PACKING);
    if panels.used {
        pack::panels(layer.weight, layer.inputs, layer.outputs, &mut panels.memory);
    }
}

/// Copies hidden weights, transposed, into panels of 16 inputs.
pub(super) fn prepare_backward(layer: Linear<'_>, panels: &mut Panels) {
    panels.used = true;
    // SAFETY: this module is only used where AVX2 was detected.
    unsafe { pack::transposed_panels(layer.weight, layer.inputs, layer.outputs, &mut panels.memory) };
}

/// Pads the rows of output weights to whole panels, unless they are already.
pub(super) fn prepare_output(layer: Linear<'_>, panels: &mut Panels) {
    panels.used = !layer.inputs.is_multiple_of(PANEL);
    if panels.used {
        let stride = layer.inputs.next_multiple_of(PANEL);
        for (to, from) in panels.memory.chunks_exact_mut(stride).zip(layer.weight.chunks_exact(layer.inputs))
        {
            to[..layer.inputs].copy_from_slice(from);
        }
    }
}

/// Checks that `rows` rows of `columns`, `stride` apart, fit.
fn check(length: usize, rows: usize, columns: usize, stride: usize) {
    assert!(rows == 0 || (rows - 1) * stride + columns <= length, "the matrix reaches beyond its memory");
}

pub(super) fn hidden_forward(
    rows: usize,
    x: Rows<'_>,
    layer: Linear<'_>,
    panels: &Panels,
    function: Activation,
    y: RowsMut<'_>,
    slopes: &mut [f32],
) {
    let (depth, n) = (layer.inputs, layer.outputs);
    let whole = n.next_multiple_of(PANEL);
    let packed = panels.get();
    check(x.data.len(), rows, depth, x.stride);
    check(y.data.len(), rows, whole, y.stride);
    check(layer.bias.len(), 1, n, n);
    match packed {
        Some(packed) => check(packed.len(), depth, whole, whole),
        None => {
            assert_eq!(whole, n, "only whole panels are read in place");
            check(layer.weight.len(), depth, n, n);
        }
    }
    let left = Left { start: x.data.as_ptr(), row: x.stride, step: 1 };
    let right = |column: usize| match packed {
        Some(packed) => Right { start: packed[column * depth..].as_ptr(), step: PANEL },
        None => Right { start: layer.weight[column..].as_ptr(), step: n },
    };
    let result = y.data.as_mut_ptr();
    let finish = |column: usize| {
        let mut bias = [0.0; PANEL];
        let columns = PANEL.min(n - column);
        bias[..columns].copy_from_slice(&layer.bias[column..column + columns]);
        Activate { bias, function, y: result.wrapping_add(column), stride: y.stride }
    };
    // SAFETY: this module is only used where AVX2 and FMA were detected;
    // the extents were checked above, and y is borrowed uniquely.
    unsafe { sum_panels(rows, depth, left, n, right, finish) };
    if matches!(function, Activation::Elu | Activation::Gelu) {
        activation::forward(function, &mut y.data[..rows * y.stride], slopes);
    }
}

pub(super) fn output_forward(rows: usize, x: Rows<'_>, layer: Linear<'_>, panels: &Panels, y: &mut [f32]) {
    let (depth, n) = (layer.inputs.next_multiple_of(PANEL), layer.outputs);
    let weight = panels.get().unwrap_or(layer.weight);
    check(x.data.len(), rows, depth, x.stride);
    check(weight.len(), n, depth, depth);
    check(y.len(), rows, n, n);
    check(layer.bias.len(), 1, n, n);
    // SAFETY: this module is only used where AVX2 and FMA were detected; the
    // extents were checked above.
    unsafe { dot::rows(rows, depth, x, weight, layer.bias, y) };
}

/// Products whose result is the gradient at a layer's inputs.
#[expect(clippy::too_many_arguments, reason = "two operands, a result and what happens on the way")]
fn input_gradient(
    rows: usize,
    depth: usize,
    left: Left,
    right: impl Fn(usize) -> Right,
    inputs: usize,
    slope: Option<SlopeOf<'_>>,
    dx: RowsMut<'_>,
    accumulate: bool,
) {
    check(dx.data.len(), rows, inputs.next_multiple_of(PANEL), dx.stride);
    let y = slope.map_or(&[][..], |slope| {
        assert_eq!(slope.y.stride, dx.stride, "activations and their gradients have one layout");
        let y = if slope.function == Activation::Gelu { slope.slopes } else { slope.y.data };
        check(y.len(), rows, inputs.next_multiple_of(PANEL), dx.stride);
        y
    });
    let result = dx.data.as_mut_ptr();
    let finish = |column: usize| Slope {
        function: slope.map(|slope| slope.function),
        y: y.as_ptr().wrapping_add(column),
        dx: result.wrapping_add(column),
        accumulate,
        stride: dx.stride,
    };
    // SAFETY: this module is only used where AVX2 and FMA were detected;
    // the callers checked the operands, the results were checked above.
    unsafe { sum_panels(rows, depth, left, inputs, right, finish) };
}

pub(super) fn output_input_gradient(
    rows: usize,
    dy: &[f32],
    layer: Linear<'_>,
    panels: &Panels,
    slope: Option<SlopeOf<'_>>,
    dx: RowsMut<'_>,
    accumulate: bool,
) {
    let (stride, n) = (layer.inputs.next_multiple_of(PANEL), layer.outputs);
    let weight = panels.get().unwrap_or(layer.weight);
    check(dy.len(), rows, n, n);
    check(weight.len(), n, stride, stride);
    let left = Left { start: dy.as_ptr(), row: n, step: 1 };
    let right = |column: usize| Right { start: weight[column..].as_ptr(), step: stride };
    input_gradient(rows, n, left, right, layer.inputs, slope, dx, accumulate);
}

pub(super) fn hidden_input_gradient(
    rows: usize,
    dy: Rows<'_>,
    layer: Linear<'_>,
    panels: &Panels,
    slope: SlopeOf<'_>,
    dx: RowsMut<'_>,
) {
    let n = layer.outputs;
    let packed = panels.get().expect("the backward pass packs every hidden layer but the first");
    check(dy.data.len(), rows, n, dy.stride);
    check(packed.len(), layer.inputs.div_ceil(PANEL), n * PANEL, n * PANEL);
    let left = Left { start: dy.data.as_ptr(), row: dy.stride, step: 1 };
    let right = |column: usize| Right { start: packed[column * n..].as_ptr(), step: PANEL };
    input_gradient(rows, n, left, right, layer.inputs, Some(slope), dx, false);
}

pub(super) fn weight_gradient(
    rows: usize,
    x: Rows<'_>,
    x_width: usize,
    dy: Rows<'_>,
    dy_width: usize,
    d_weight: &mut [f32],
) {
    check(x.data.len(), rows, x_width, x.stride);
    check(dy.data.len(), rows, dy_width.next_multiple_of(PANEL), dy.stride);
    check(d_weight.len(), x_width, dy_width, dy_width);
    let left = Left { start: x.data.as_ptr(), row: 1, step: x.stride };
    let right = |column: usize| Right { start: dy.data[column..].as_ptr(), step: dy.stride };
    let result = d_weight.as_mut_ptr();
    let finish = |column: usize| Add {
        destination: result.wrapping_add(column),
        stride: dy_width,
        columns: PANEL.min(dy_width - column),
    };
    // SAFETY: this module is only used where AVX2 and FMA were detected;
    // the extents were checked above, and d_weight is borrowed uniquely.
    unsafe { sum_panels(x_width, rows, left, dy_width, right, finish) };
}
