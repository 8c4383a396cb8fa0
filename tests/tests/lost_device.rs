//! A kernel that traps on a GPU in the middle of other work: the error names it, and everything after says that the device is lost to this
//! process, in every family. In a test program of its own, since all others share one context.

use warpplay::mcts::{Connect4, Search};
use warpplay::{Device, Error, LaunchShape, Module, Progress};
use warpplay_test_kernels::faults::test_trap;
use warpplay_test_kernels::ptx;
use warpplay_tests::Checked;
use warpplay_tests::backends::gpu;
use warpplay_tests::families::build_each;

#[test]
fn a_lost_device_is_named_until_the_program_is_restarted() -> Checked {
    let Some(device) = gpu() else { return Ok(()) };
    let mut search = Search::<Connect4>::builder().n_trees(2).n_playouts(32).steps(50).build(&device)?;
    search.run(&Connect4::new(), Progress::go_on)?;
    #[cfg(feature = "cfr")]
    let solver = warpplay::cfr::Solver::builder(warpplay_tests::cfr::game("kuhn.limit.2p")).build(&device);
    let stream = device.stream()?;
    let module = Module::load(&device, &ptx::LAYER)?;
    // SAFETY: it touches no memory, and traps.
    unsafe { stream.launch(&module.function(test_trap)?, LaunchShape::new(2, 32), ())? };
    let message = stream.synchronize().err().map(|error| error.to_string()).unwrap_or_default();
    assert!(message.contains("test_trap") && message.contains("the context is dead"), "{message}");

    let lost = |error: Option<Error>| {
        let error = error.expect("the device is lost");
        assert!(matches!(error, Error::ContextDead { .. }), "{error}");
        assert!(error.to_string().starts_with("the context of cuda:0 is dead since "), "{error}");
    };
    lost(search.run(&Connect4::new(), Progress::go_on).err());
    for (family, _, error) in build_each(&device) {
        println!("{family}");
        lost(error);
    }
    #[cfg(feature = "cfr")]
    lost(solver.and_then(|mut solver| solver.run(|_| std::ops::ControlFlow::Continue(()))).err());
    drop((search, stream, module, device));
    lost(Device::cuda(0).err());
    Ok(())
}
