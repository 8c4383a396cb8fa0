//! What only this crate can provoke.

use std::ops::ControlFlow::Continue;

use super::{Estimator, Player, SearchOptions, SelfPlay};
use crate::azero::checkers::Checkers;
use crate::azero::{Network, NetworkShape};
use crate::runtime::test_kernels::devices;

#[test]
fn an_infinite_logit_is_named_with_its_game() {
    let shape = NetworkShape { width: 8, depth: 1, value_hidden: 8, ..NetworkShape::default() };
    let mut network = Network::seeded(shape, 27).expect("an allowed shape");
    network.visit_mut(|name, _, values| {
        if name.contains("policy_linear") {
            values.fill(f32::MAX);
        }
    });
    let estimator = Estimator::network(network, "broken");
    for device in devices() {
        let options = SearchOptions { simulations: 4, leaves: 2, ..SearchOptions::default() };
        let builder = Player::builder(&estimator).options(options);
        let mut player = builder.build(&device).expect("its weights are numbers");
        let error = player.run_at(&Checkers::new(), 5, 2, |_| Continue(())).expect_err("no numbers").to_string();
        assert!(error.starts_with("game 5, ply 2: policy logit of position 0 is inf in f32"), "{error}");
        let builder = SelfPlay::builder(&estimator).search(options).parallel(2).first(7).games(2);
        let error = builder
            .build(&device)
            .and_then(|mut games| games.run(|_| Continue(())))
            .expect_err("no numbers")
            .to_string();
        assert!(error.starts_with("game 7, ply 0: policy logit of position 0 is inf in f32"), "{error}");
    }
}
