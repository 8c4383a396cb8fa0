//! Lesson 8: a kernel of one's own. It lies in a crate of its own, `examples/custom_kernel`, since it is compiled for the GPU too.

use warpplay::{Device, Module};
use warpplay_example_lines::{PTX, count_lines, lines};

fn main() -> warpplay::Result<()> {
    // The first GPU; without one, the kernel's source on the CPU, which checks every access to memory.
    let device = Device::cuda(0).unwrap_or(Device::simt());
    let stream = device.stream()?;
    let kernel = Module::load(&device, &PTX)?.function(count_lines)?;

    // All boards that one player's stones can make.
    let boards: Vec<u32> = (0..512).collect();
    let n = boards.len() as u32;
    let boards_there = stream.upload(&boards)?;
    let mut counts_there = stream.alloc::<u32>(boards.len())?;

    // The kernel says its shape, and that both buffers hold n values.
    stream.run(&kernel, (&boards_there, &mut counts_there, n))?;

    let counts = stream.read(&counts_there)?;
    println!("{} of {n} boards have a line, on {device}", counts.iter().filter(|&&count| count > 0).count());
    assert!(boards.iter().zip(&counts).all(|(&stones, &count)| count == lines(stones)));
    Ok(())
}
