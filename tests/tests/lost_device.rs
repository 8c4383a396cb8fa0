//! A kernel that traps on a GPU in the middle of other work: the error names it, everything after says that the device is lost, and a new
//! opening works. In a test program of its own, since all others share one context.

use warpplay::mcts::{Connect4, Search};
use warpplay::{Device, Error, LaunchShape, Module};
use warpplay_test_kernels::faults::{test_shared_out_of_bounds, test_trap};
use warpplay_test_kernels::ptx;
use warpplay_tests::Checked;
use warpplay_tests::backends::gpu;

#[test]
fn a_lost_device_is_named_until_it_is_opened_anew() -> Checked {
    for beyond in [false, true] {
        let Some(device) = gpu() else { return Ok(()) };
        let mut search = Search::<Connect4>::builder().n_trees(2).n_playouts(32).steps(50).build(&device)?;
        search.run(&Connect4::new())?;
        let stream = device.stream()?;
        let module = Module::load(&device, &ptx::LAYER)?;
        let kernel = if beyond {
            // SAFETY: it touches nothing but its own shared memory, and traps.
            unsafe { stream.launch(&module.function(test_shared_out_of_bounds)?, LaunchShape::new(1, 32), (8,))? };
            "test_shared_out_of_bounds"
        } else {
            // SAFETY: it touches no memory, and traps.
            unsafe { stream.launch(&module.function(test_trap)?, LaunchShape::new(2, 32), ())? };
            "test_trap"
        };
        let message = stream.synchronize().err().map(|error| error.to_string()).unwrap_or_default();
        assert!(message.contains(kernel) && message.contains("the context is dead"), "{message}");

        let error = search.run(&Connect4::new()).err().expect("the device is lost");
        assert!(matches!(error, Error::ContextDead { .. }), "{error}");
        assert!(error.to_string().starts_with("the context of cuda:0 is dead since "), "{error}");
        assert!(error.to_string().ends_with("drop the device and everything made on it, then open it anew"), "{error}");
        let again = Search::<Connect4>::builder().build(&device).err().expect("the device is lost");
        assert!(matches!(again, Error::ContextDead { .. }), "{again}");

        drop((search, stream, module, device));
        let device = Device::cuda(0)?;
        Search::<Connect4>::builder().n_trees(2).n_playouts(32).steps(50).build(&device)?.run(&Connect4::new())?;
    }
    Ok(())
}
