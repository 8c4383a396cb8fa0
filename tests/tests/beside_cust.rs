//! `warpplay` and `cust` in one program: one context, and memory and streams of both.
//!
//! Built with the feature `cust`, where the driver's library, or one in its place, is found (`cargo xtask stub-driver`).

use cust::memory::{CopyDestination, DeviceBuffer};
use cust::stream::{Stream as CustStream, StreamFlags};
use warpplay::{Buffer, Device, LaunchShape, Module, Stream};
use warpplay_example_lines::{PTX, count_lines, lines};
use warpplay_tests::backends::gpu;

const N: usize = 512;

fn boards() -> Vec<u32> {
    (0..N as u32).collect()
}

fn counts() -> Vec<u32> {
    boards().into_iter().map(lines).collect()
}

#[test]
fn other_back_ends_have_nothing_for_cust() {
    let stream = Device::simt().stream().expect("simt");
    let told = |error: warpplay::Error| assert!(error.to_string().contains("open a CUDA device"), "{error}");
    told(Device::cpu().to_cust().err().expect("no GPU"));
    told(stream.as_cust().err().expect("no GPU"));
    told(stream.alloc::<u32>(1).expect("small").into_cust().err().expect("no GPU"));
}

#[test]
fn both_see_the_same_memory() {
    let Some(device) = gpu() else { return };
    let context = device.to_cust().expect("a context");
    assert_eq!(Device::from_cust(&context).expect("the same").to_string(), device.to_string());
    // Uploaded here, read there, and back.
    let stream = device.stream().expect("a stream");
    let ours = stream.upload(&boards()).expect("uploads");
    stream.synchronize().expect("waits");
    let theirs = ours.into_cust().expect("not in a graph");
    let mut read = vec![0; N];
    theirs.copy_to(&mut read).expect("reads");
    assert_eq!(read, boards());
    // SAFETY: allocated in the device's primary context, all of it written.
    let ours = unsafe { Buffer::from_cust(&device, theirs) }.expect("a GPU");
    assert_eq!(stream.read(&ours).expect("reads"), boards());
    // None at all.
    // SAFETY: as above.
    let none =
        unsafe { Buffer::from_cust(&device, DeviceBuffer::<u32>::from_slice(&[]).expect("none")) }.expect("a GPU");
    assert!(none.is_empty() && none.into_cust().expect("none").is_empty());
}

#[test]
fn both_work_in_one_stream() {
    let Some(device) = gpu() else { return };
    let context = device.to_cust().expect("a context");
    cust::context::CurrentContext::set_current(&context).expect("current");
    let theirs = CustStream::new(StreamFlags::DEFAULT, None).expect("a stream");
    // SAFETY: made in the device's primary context just now.
    let stream = unsafe { Stream::from_cust(&device, theirs) }.expect("a GPU");
    let boards_there = stream.upload(&boards()).expect("uploads");
    let mut counts_there = stream.alloc::<u32>(N).expect("small");
    let kernel = Module::load(&device, &PTX).and_then(|module| module.function(count_lines)).expect("a kernel");
    // SAFETY: both buffers hold N values, and each has a thread.
    unsafe { stream.launch(&kernel, LaunchShape::linear(N as u32, 128), (&boards_there, &mut counts_there, N as u32)) }
        .expect("launches");
    // Waits for the kernel, through cust.
    stream.as_cust().expect("a GPU").synchronize().expect("waits");
    assert_eq!(stream.read(&counts_there).expect("reads"), counts());
}

#[test]
fn a_buffer_that_a_graph_keeps_is_not_given_away() {
    let Some(device) = gpu() else { return };
    let stream = device.stream().expect("a stream");
    let mut buffer = stream.alloc::<u32>(N).expect("small");
    let graph = stream.capture(|stream| stream.zero(&mut buffer)).expect("records");
    let error = buffer.into_cust().err().expect("kept").to_string();
    assert!(error.contains("a graph keeps the buffer"), "{error}");
    stream.launch_graph(&graph).expect("its memory is there");
    stream.synchronize().expect("waits");
}
