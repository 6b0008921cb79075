//! The kernels that this CPU chooses against the portable ones, which no other
//! test reaches on a CPU with AVX2.

use rlxp_types::Stream;

use super::*;

const FUNCTIONS: [Activation; 4] = [Activation::Tanh, Activation::Relu, Activation::Elu, Activation::Gelu];
/// Rows, inputs, outputs: single, odd, whole and wide ones.
const SIZES: [(usize, usize, usize); 6] =
    [(1, 1, 1), (3, 5, 2), (8, 16, 64), (13, 33, 17), (64, 64, 48), (29, 130, 256)];

struct Numbers(Stream);

impl Numbers {
    fn normal(&mut self, length: usize) -> Vec<f32> {
        let mut values = vec![0.0; length];
        self.0.fill_normal(&mut values);
        values
    }

    /// Rows of `width` with the padding of activations, which is zero.
    fn padded(&mut self, rows: usize, width: usize) -> Vec<f32> {
        let mut values = self.normal(rows * padded(width));
        values.chunks_mut(padded(width)).for_each(|row| row[width..].fill(0.0));
        values
    }
}

/// Both sum the same terms in f32, in another order: 260 terms of size 1.
fn assert_close(found: &[f32], wanted: &[f32], what: &str) {
    for (at, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        assert!((found - wanted).abs() < 1e-4, "{what} at {at}: {found} and {wanted}");
    }
}

#[test]
fn forward_agrees() {
    let mut numbers = Numbers(Stream::new(1, "test", 0));
    for (rows, inputs, outputs) in SIZES {
        for function in FUNCTIONS {
            let (weight, bias) = (numbers.normal(inputs * outputs), numbers.normal(outputs));
            let layer = Linear { inputs, outputs, weight: &weight, bias: &bias };
            let stride = padded(outputs);
            let x = numbers.normal(rows * inputs);
            let x = Rows { data: &x, stride: inputs };
            let empty = || vec![0.0; rows * stride];
            let [mut y, mut wanted, mut slopes, mut wanted_slopes] = std::array::from_fn(|_| empty());
            let mut panels = Panels::hidden(inputs, outputs);
            prepare_forward(layer, rows, &mut panels);
            let out = RowsMut { data: &mut y, stride };
            hidden_forward(rows, x, layer, &panels, function, out, &mut slopes);
            let out = RowsMut { data: &mut wanted, stride };
            portable::hidden_forward(rows, x, layer, function, out, &mut wanted_slopes);
            assert_close(&y, &wanted, "activation");
            if function == Activation::Gelu {
                let without_padding = |values: &[f32]| -> Vec<f32> {
                    values.chunks(stride).flat_map(|row| row[..outputs].to_vec()).collect()
                };
                assert_close(&without_padding(&slopes), &without_padding(&wanted_slopes), "slope");
            }
        }
    }
}

#[test]
fn output_layers_agree() {
    let mut numbers = Numbers(Stream::new(2, "test", 0));
    for (rows, inputs, outputs) in SIZES {
        for function in FUNCTIONS {
            let (weight, bias) = (numbers.normal(inputs * outputs), numbers.normal(outputs));
            let layer = Linear { inputs, outputs, weight: &weight, bias: &bias };
            let stride = padded(inputs);
            let (x, slopes) = (numbers.padded(rows, inputs), numbers.padded(rows, inputs));
            let mut panels = Panels::output(inputs, outputs);
            prepare_output(layer, &mut panels);
            let x = Rows { data: &x, stride };
            let [mut y, mut wanted] = [(); 2].map(|()| vec![0.0; rows * outputs]);
            output_forward(rows, x, layer, &panels, &mut y);
            portable::output_forward(rows, x, layer, &mut wanted);
            assert_close(&y, &wanted, "output");

            let dy = numbers.normal(rows * outputs);
            for accumulate in [false, true] {
                for slope in [None, Some(SlopeOf { function, y: x, slopes: &slopes })] {
                    let mut dx = numbers.padded(rows, inputs);
                    let mut wanted = dx.clone();
                    let out = RowsMut { data: &mut dx, stride };
                    output_input_gradient(rows, &dy, layer, &panels, slope, out, accumulate);
                    let out = RowsMut { data: &mut wanted, stride };
                    portable::output_input_gradient(rows, &dy, layer, slope, out, accumulate);
                    assert_close(&dx, &wanted, "gradient at the inputs of an output layer");
                }
            }
        }
    }
}

#[test]
fn gradients_agree() {
    let mut numbers = Numbers(Stream::new(3, "test", 0));
    for (rows, inputs, outputs) in SIZES {
        for function in FUNCTIONS {
            let (weight, bias) = (numbers.normal(inputs * outputs), numbers.normal(outputs));
            let layer = Linear { inputs, outputs, weight: &weight, bias: &bias };
            let (x, slopes) = (numbers.padded(rows, inputs), numbers.padded(rows, inputs));
            let x = Rows { data: &x, stride: padded(inputs) };
            let dy = numbers.padded(rows, outputs);
            let dy = Rows { data: &dy, stride: padded(outputs) };
            let mut panels = Panels::hidden(inputs, outputs);
            prepare_backward(layer, &mut panels);
            let slope = SlopeOf { function, y: x, slopes: &slopes };
            let [mut dx, mut wanted] = [(); 2].map(|()| vec![0.0; rows * x.stride]);
            let out = RowsMut { data: &mut dx, stride: x.stride };
            hidden_input_gradient(rows, dy, layer, &panels, slope, out);
            let out = RowsMut { data: &mut wanted, stride: x.stride };
            portable::hidden_input_gradient(rows, dy, layer, slope, out);
            assert_close(&dx, &wanted, "gradient at the inputs");

            let mut d_weight = numbers.normal(inputs * outputs);
            let mut wanted = d_weight.clone();
            weight_gradient(rows, x, inputs, dy, outputs, &mut d_weight);
            portable::weight_gradient(rows, x, inputs, dy, outputs, &mut wanted);
            assert_close(&d_weight, &wanted, "gradient of the weights");
        }
    }
}
