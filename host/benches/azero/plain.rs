//! The plain program's network.

use std::collections::HashMap;

use warpplay::azero::Network;
use warpplay_cpu_ref::azero::{self as plain, Real};

/// The plain program's network of a network.
pub fn converted<T: Real>(network: &Network) -> plain::Network<T> {
    let mut tensors = HashMap::new();
    network.visit(|name, _, values| {
        tensors.insert(name.to_string(), values);
    });
    let shape = network.shape();
    let size = |value: u32| value as usize;
    let shape = plain::Shape {
        rows: size(shape.rows),
        columns: size(shape.columns),
        planes: size(shape.planes),
        width: size(shape.width),
        depth: size(shape.depth),
        value_filters: size(shape.value_filters),
        value_hidden: size(shape.value_hidden),
        policy_filters: size(shape.policy_filters),
        actions: size(shape.actions),
    };
    plain::Network::from_tensors(shape, |name, _| tensors[name].iter().map(|&value| T::rounded(value.into())).collect())
}
