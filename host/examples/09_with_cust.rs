//! Lesson 9: beside Rust-CUDA. A program that works with `cust` launches a kernel of this library on memory of both.
//!
//! It links the driver's library, as every program with `cust` does: build it where the CUDA toolkit is, with `--features cust`.

use cust::launch;
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use warpplay::{Buffer, Device};
use warpplay_example_lines::{PTX, lines};

fn main() -> anyhow::Result<()> {
    // A context and a stream of cust, as in any program of its users.
    let context = cust::quick_init()?;
    let stream = Stream::new(StreamFlags::DEFAULT, None)?;

    // The same device for this library; boards that it has uploaded.
    let device = Device::from_cust(&context)?;
    let boards: Vec<u32> = (0..512).collect();
    let ours = device.stream()?;
    let boards_there = ours.upload(&boards)?;
    ours.synchronize()?;

    // Its kernel, loaded and launched by cust, writes to memory of cust.
    let text = PTX.images.first().map(|image| image.text()).transpose()?.unwrap_or_default();
    let module = Module::from_ptx(text, &[])?;
    let count_lines = module.get_function("count_lines")?;
    let counts_there = DeviceBuffer::<u32>::zeroed(boards.len())?;
    let boards_of_cust = boards_there.into_cust()?;
    // SAFETY: both buffers hold 512 values, and the shape gives each of them a thread.
    unsafe {
        launch!(count_lines<<<4, 128, 0, stream>>>(
            boards_of_cust.as_device_ptr(),
            counts_there.as_device_ptr(),
            512u32
        ))?;
    }
    stream.synchronize()?;

    // Read by both.
    let mut counts = vec![0; boards.len()];
    counts_there.copy_to(&mut counts)?;
    assert!(boards.iter().zip(&counts).all(|(&stones, &count)| count == lines(stones)));
    // SAFETY: cust allocated it in the primary context of the device, zeroed.
    let counts_of_ours = unsafe { Buffer::from_cust(&device, counts_there)? };
    assert_eq!(ours.read(&counts_of_ours)?, counts);
    println!("{} of 512 boards have a line, on {device}", counts.iter().filter(|&&count| count > 0).count());
    Ok(())
}
