//! The network that a training begins with.

use crate::Result;
use crate::azero::{Network, NetworkShape};

/// An untrained network: convolutions drawn from the seed as by [`Network::seeded`] (uniform, at most √(6 / inputs)), linear layers at most 1 / √inputs, biases 0, identity
/// norms. Its policy is nearly even and its values are near 0.
///
/// # Errors
/// [`Error::Option`](crate::Error::Option) for a size that is not allowed.
pub fn initial(shape: NetworkShape, seed: u64) -> Result<Network> {
    let mut network = Network::seeded(shape, seed)?;
    network.visit_mut(|name, _, values| {
        let norm = name.contains("batch_norm");
        if norm && (name.ends_with(".weight") || name.ends_with(".running_var")) {
            values.fill(1.0);
        } else if norm || name.ends_with(".bias") {
            values.fill(0.0);
        } else if name.contains("linear") {
            // Drawn up to √(6 / inputs), and √(1.5 / inputs) for the last of the value.
            let factor = if name.contains("value_linear_2") { (1.0f32 / 1.5).sqrt() } else { (1.0f32 / 6.0).sqrt() };
            values.iter_mut().for_each(|value| *value *= factor);
        }
    });
    Ok(network)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_drawn_and_norms_change_nothing() {
        let network = initial(NetworkShape { depth: 1, width: 8, ..NetworkShape::default() }, 4).unwrap();
        network.visit(|name, dims, values| match name {
            _ if name.ends_with("batch_norm_1.weight") || name.ends_with("running_var") => {
                assert!(values.iter().all(|&value| value == 1.0));
            }
            _ if dims.len() > 1 => {
                assert!(values.iter().any(|&value| value > 0.0) && values.iter().any(|&value| value < 0.0))
            }
            _ if name.ends_with(".bias") => assert!(values.iter().all(|&value| value == 0.0)),
            _ => {}
        });
        let largest = network.policy_linear.weight.iter().fold(0.0f32, |most, value| most.max(value.abs()));
        assert!((0.08..=0.0885).contains(&largest), "{largest}");
    }
}
