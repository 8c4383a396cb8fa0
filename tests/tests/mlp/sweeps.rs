//! Sweeps that are stopped, and models that go wrong in their last update.

use std::ops::ControlFlow;
use std::sync::Arc;

use warpplay::mlp::{Dataset, Engine, Options, Reduction, Sweep, SweepBuilder};
use warpplay::{Device, Progress, Result};
use warpplay_tests::backends::for_each_device;
use warpplay_tests::folder::Folder;
use warpplay_tests::mlp::images;

fn options(epochs: u32, engine: Engine) -> Options {
    Options { hidden: vec![5], batch: 64, epochs, engine, ..Options::default() }
}

fn builder(set: &Arc<Dataset>, options: Options, models: &[(u64, f64)]) -> SweepBuilder {
    let builder = Sweep::builder(set).options(options).test(set);
    models.iter().fold(builder, |builder, model| builder.model(model.0, model.1))
}

/// Every engine that trains.
fn for_each_engine(check: impl Fn(&Device, Engine) -> Result<()>) {
    check(&Device::cpu(), Engine::Cpu).expect("cpu");
    for_each_device(|device| [Engine::Layers, Engine::Epoch].iter().try_for_each(|&engine| check(device, engine)));
}

/// A stop at any progress leaves a journal of finished models, with what the test set says about them.
#[test]
fn a_journal_of_a_stopped_sweep_goes_on() {
    let set = images(128, 4, 4, 3);
    for_each_engine(|device, engine| stop_everywhere(device, builder(&set, options(2, engine), &[(1, 0.1), (2, 0.1)])));
}

/// Stops a sweep at each of its questions in turn, and goes on with its journal.
fn stop_everywhere(device: &Device, of: SweepBuilder) -> Result<()> {
    let whole = of.clone().build(device)?.run(Progress::go_on)?;
    let mut n_asked = 0;
    loop {
        let folder = Folder::new();
        let (mut asked, mut stopped) = (0, false);
        let report = of.clone().checkpoint(folder.path("journal")).build(device)?.run(|_| {
            stopped |= asked == n_asked;
            asked += 1;
            if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        for model in report.models {
            assert_eq!(model.test_loss.is_some(), model.epochs.len() == 2, "stopped at {n_asked}: {model:?}");
        }
        let rest = of.clone().resume(folder.path("journal")).build(device)?.run(Progress::go_on)?;
        assert_eq!(rest.models, whole.models, "stopped at {n_asked} on {device}");
        if !stopped {
            break;
        }
        n_asked += 1;
    }
    // At least once an epoch, of one model or of all.
    assert!(n_asked >= 2, "asked {n_asked} times on {device}");
    Ok(())
}

/// No loss of the epoch shows a last update that goes wrong; the test set does.
#[test]
fn a_model_whose_last_update_goes_wrong_has_diverged() {
    let set = images(64, 4, 4, 3);
    for_each_engine(|device, engine| {
        let folder = Folder::new();
        let models = [(1, 0.1), (2, 1e38)];
        let of = || builder(&set, options(1, engine), &models);
        let report = of().checkpoint(folder.path("journal")).build(device)?.run(Progress::go_on)?;
        let [right, wrong] = &report.models[..] else { panic!("two models") };
        assert!(right.diverged.is_none() && right.test_loss.is_some(), "{right:?} on {device}");
        assert_eq!((wrong.diverged, wrong.test_accuracy, wrong.test_loss), (Some(1), None, None), "on {device}");
        assert!(wrong.epochs.is_empty(), "on {device}");
        assert_eq!(report.engine, engine, "on {device}");
        let again = of().resume(folder.path("journal")).build(device)?.run(Progress::go_on)?;
        assert_eq!(again.models, report.models, "on {device}");
        // Weights that are not finite tell it too.
        let options = Options { reduction: Reduction::Sum, ..options(1, engine) };
        let untested = models.iter().fold(Sweep::builder(&set), |all, model| all.model(model.0, model.1));
        let report = untested.options(options).build(device)?.run(Progress::go_on)?;
        let diverged: Vec<_> = report.models.iter().map(|model| model.diverged).collect();
        assert_eq!(diverged, [None, Some(1)], "on {device}");
        Ok(())
    });
}

#[test]
fn a_model_that_is_given_twice_is_refused() {
    let set = images(64, 4, 4, 2);
    let said = builder(&set, options(1, Engine::Auto), &[(1, 0.1), (2, 0.1), (1, 0.1)]).build(&Device::cpu());
    let said = said.expect_err("twice").to_string();
    assert_eq!(said, "option models: seed 1, learning rate 0.1 is not allowed (each seed and learning rate once)");
}
