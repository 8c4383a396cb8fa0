//! A kernel's trap on a GPU: it is reported by name and ends the context for as long as the program runs; other back ends go on.
//!
//! In a test program of its own: the other tests share the context of their process.

use warpplay::{Backend, Device, Error, Kernel, LaunchShape, Module, PtxImage, PtxSet};
use warpplay_gpu::kernel::{LaunchBounds, ParamDesc};

/// A kernel that does nothing but trap.
#[derive(Clone, Copy)]
struct Trap;

impl Kernel for Trap {
    type Params = ();
    const NAME: &'static str = "test_trap";
    const PARAMS: &'static [ParamDesc] = &[];
    const BOUNDS: LaunchBounds = LaunchBounds { max_threads: 0, min_blocks: 0 };

    unsafe fn call((): ()) {
        warpplay_gpu::cuda::trap()
    }
}

const PTX: &str = "
.version 6.4
.target sm_75
.address_size 64
.visible .entry test_trap()
{
    trap;
    ret;
}
";

const fn set(name: &'static str, images: &'static [PtxImage]) -> PtxSet {
    PtxSet { name, images, missing: Some("none was built: install a device compiler") }
}

const TRAP: PtxSet = set("trap", &[PtxImage::plain("sm_75", PTX)]);

#[test]
fn a_trap_on_the_cpu_names_the_kernel_and_harms_nothing() -> Result<(), Error> {
    let device = Device::simt();
    let stream = device.stream()?;
    let trap = Module::load(&device, &TRAP)?.function(Trap)?;
    // SAFETY: the kernel touches no memory.
    let result = unsafe { stream.launch(&trap, LaunchShape::new(2, 32), ()) };
    let error = result.expect_err("it traps");
    assert!(matches!(error, Error::Simt(_)));
    assert!(error.to_string().contains("test_trap"), "{error}");
    assert_eq!(stream.read(&stream.upload(&[7u8])?)?, [7]);
    Ok(())
}

#[test]
fn a_trap_on_a_gpu_ends_the_context() -> Result<(), Error> {
    let device = match Device::cuda(0) {
        Ok(device) => device,
        Err(error) => {
            let required = std::env::var_os("WARPPLAY_REQUIRE_GPU").is_some_and(|value| value == "1");
            assert!(!required, "a GPU is required: {error}");
            println!("not run, there is no GPU: {error}");
            return Ok(());
        }
    };

    // Modules that cannot be loaded leave the context as it was.
    let refused = |set: &PtxSet| Module::load(&device, set).expect_err("cannot be loaded");
    let error = refused(&set("empty", &[]));
    assert!(matches!(error, Error::PtxMissing { .. }), "{error}");
    let error = refused(&set("old", const { &[PtxImage::plain("sm_999", "")] }));
    assert!(matches!(error, Error::PtxArch { .. }), "{error}");
    let too_new = ".version 99.0\n.target sm_75\n.address_size 64\n";
    let error = refused(&set("new", Box::leak(Box::new([PtxImage::plain("sm_75", too_new)]))));
    assert!(matches!(error, Error::PtxVersion { .. }), "{error}");
    let broken = ".version 6.4\n.target sm_75\n.address_size 64\nnonsense;\n";
    let error = refused(&set("broken", Box::leak(Box::new([PtxImage::plain("sm_75", broken)]))));
    assert!(matches!(error, Error::Module { .. }), "{error}");
    assert!(error.to_string().contains("nonsense"), "{error}");

    let stream = device.stream()?;
    let buffer = stream.upload(&[1u32, 2, 3])?;
    let pinned = stream.pinned::<u32>(3)?;
    let event = stream.event()?;
    let trap = Module::load(&device, &TRAP)?.function(Trap)?;
    // SAFETY: the kernel touches no memory.
    unsafe { stream.launch(&trap, LaunchShape::new(2, 32), ())? };
    let error = stream.synchronize().expect_err("it traps").to_string();
    assert!(error.contains("test_trap") && error.contains("the context is dead"), "{error}");

    // Everything of the device now says why, a second opening too.
    let dead = [
        stream.read(&buffer).map(drop),
        stream.alloc::<u8>(1).map(drop),
        stream.record(&event),
        device.stream().map(drop),
        Device::cuda(0).map(drop),
    ];
    for result in dead {
        let error = result.expect_err("the context is dead");
        assert!(matches!(error, Error::ContextDead { .. }), "{error}");
        assert!(error.to_string().contains("test_trap"), "{error}");
    }

    // With the last thing of it gone it stays so: the driver gives the process no other context for this GPU.
    drop((stream, buffer, pinned, event, trap, device));
    let error = Device::cuda(0).expect_err("the context is dead");
    assert!(matches!(error, Error::ContextDead { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("test_trap") && text.contains("restart the program"), "{text}");
    let next = Device::auto();
    assert!(next.backend() != Backend::Cuda || next.ordinal() != 0, "auto passes a dead device over");

    // Other back ends go on.
    let stream = Device::simt().stream()?;
    assert_eq!(stream.read(&stream.upload(&[4u32, 5])?)?, [4, 5]);
    Ok(())
}
