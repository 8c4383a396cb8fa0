//! What only this crate can provoke.

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
        let builder = Player::builder().options(options).estimator(estimator.clone());
        let mut player = builder.build(&device).expect("its weights are numbers");
        let error = player.choose_at(&Checkers::new(), 5, 2).expect_err("no numbers").to_string();
        assert!(error.starts_with("game 5, ply 2: policy logit of position 0 is inf in fp32"), "{error}");
        let builder = SelfPlay::builder().options(options).parallel(2).estimator(estimator.clone());
        let error = builder.build(&device).and_then(|mut games| games.play(7, 2)).expect_err("no numbers").to_string();
        assert!(error.starts_with("game 7, ply 0: policy logit of position 0 is inf in fp32"), "{error}");
    }
}
