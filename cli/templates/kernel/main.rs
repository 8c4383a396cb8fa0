//! Launches the kernel once: `cargo run`.

use my_game::{PTX, scale_and_add};
use warpplay::{Device, Module};

fn main() -> warpplay::Result<()> {
    // The first GPU; without one, the kernel's source on the CPU, which checks every access to memory.
    let device = Device::cuda(0).unwrap_or(Device::simt());
    let stream = device.stream()?;
    let kernel = Module::load(&device, &PTX)?.function(scale_and_add)?;
    let (x, y) = (
        stream.upload(&[1.0f32, 2.0, 3.0])?,
        stream.upload(&[10.0f32, 20.0, 30.0])?,
    );
    let mut out = stream.alloc::<f32>(3)?;
    stream.run(&kernel, (&x, &y, &mut out, 2.0, 3))?;
    println!("{:?} on {device}", stream.read(&out)?);
    Ok(())
}
