//! How active hidden units are: what it takes to see that a part of a network
//! has gone silent.

use crate::actor_critic::ActorCritic;
use crate::kernel;
use crate::scratch::Scratch;

impl ActorCritic {
    /// The sum of |output| of every hidden unit over the first `rows` rows of
    /// the latest forward pass; one list per hidden layer, the policy's layers
    /// before the value's.
    pub fn hidden_magnitudes(&self, rows: usize, scratch: &Scratch) -> Vec<Vec<f64>> {
        assert!(rows <= scratch.capacity, "{rows} rows in a scratch for {}", scratch.capacity);
        let layers = self.stacks.iter().zip(&scratch.stacks).flat_map(|(stack, memory)| {
            stack.hidden.iter().map(|layer| layer.outputs).zip(&memory.activations)
        });
        layers
            .map(|(width, activations)| {
                let mut sums = vec![0.0; width];
                for row in activations.chunks_exact(kernel::padded(width)).take(rows) {
                    for (sum, output) in sums.iter_mut().zip(row) {
                        *sum += f64::from(output.abs());
                    }
                }
                sums
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Activation, Head, Input, Shape};

    #[test]
    fn magnitudes_are_those_of_the_layers_by_hand() {
        for shared in [false, true] {
            let shape = Shape {
                input: Input::Dense(1),
                hidden: vec![3, 2],
                activation: Activation::Relu,
                shared,
                head: Head::Categorical { n: 2 },
            };
            let network = ActorCritic::new(shape);
            let mut parameters = vec![0.0; network.parameter_count()];
            // First layer: x, −x and a unit that is never above zero; second: sums of those.
            parameters[..6].copy_from_slice(&[1.0, -1.0, 0.0, 0.0, 0.0, -1.0]);
            parameters[6..12].copy_from_slice(&[1.0, 0.0, 2.0, 0.0, 0.0, 0.0]);
            let mut scratch = network.scratch(4);
            network.forward(&parameters, &[2.0, -3.0, 5.0, 100.0], 4, &mut scratch);
            let found = network.hidden_magnitudes(3, &scratch);
            let silent = [vec![0.0; 3], vec![0.0; 2]];
            let mut expected = vec![vec![7.0, 3.0, 0.0], vec![13.0, 0.0]];
            expected.extend(silent.into_iter().filter(|_| !shared));
            assert_eq!(found, expected, "shared: {shared}");
        }
    }
}
