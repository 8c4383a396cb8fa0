//! The same calls on every back end that is there.

use warpplay_gpu::launch::LaunchShape;

use super::*;
use crate::runtime::module::Module;
use crate::runtime::test_kernels::{self as kernels, SET, devices};

/// Values that straddle warps and blocks of 64.
const LENGTHS: [usize; 8] = [0, 1, 31, 32, 33, 63, 65, 1000];

fn shape(n: usize) -> LaunchShape {
    LaunchShape::linear(n as u32, 64)
}

#[test]
fn memory_goes_there_and_back() {
    for device in devices() {
        let stream = device.stream().expect("a device with kernels");
        let before = device.allocations();
        for n in LENGTHS {
            let values: Vec<u16> = (0..n as u16).map(|i| i.wrapping_mul(40503)).collect();
            let mut buffer = stream.upload(&values).expect("small");
            assert_eq!(buffer.len(), n);
            assert_eq!(stream.read(&buffer).expect("same device"), values);
            let half = n / 2;
            let mut part = vec![0; n - half];
            stream.read_into(&buffer, half, &mut part).expect("in range");
            assert_eq!(part, values[half..]);
            stream.write(&mut buffer, half, &vec![7; n - half]).expect("in range");
            let mut other = stream.alloc::<u16>(n + 3).expect("small");
            stream.copy(&mut other, 3, &buffer, 0, n).expect("in range");
            let other = stream.read(&other).expect("same device");
            assert_eq!(other[..3], [0; 3]);
            assert_eq!(other[3..3 + half], values[..half]);
            assert!(other[3 + half..].iter().all(|&value| value == 7));
            stream.zero(&mut buffer).expect("same device");
            assert_eq!(stream.read(&buffer).expect("same device"), vec![0; n]);
        }
        // The empty buffer of the first length is no allocation.
        assert_eq!(device.allocations() - before, 2 * LENGTHS.len() as u64 - 1);
    }
}

#[test]
fn lines_are_copied_and_what_lies_between_them_is_not() {
    for device in devices() {
        let stream = device.stream().expect("a device with kernels");
        // Width, the two distances, lines.
        let cases = [(1, 1, 1, 1), (5, 5, 8, 33), (10, 12, 10, 65), (3, 7, 4, 2), (2, 2, 2, 0), (0, 3, 3, 4)];
        for (width, from_stride, to_stride, n) in cases {
            let values: Vec<u16> = (0..(n * from_stride + 9) as u16).map(|i| i.wrapping_mul(40503) | 1).collect();
            let source = stream.upload(&values).expect("small");
            let mut target = stream.alloc::<u16>(n * to_stride + 3).expect("small");
            stream.copy_lines((&mut target, 2, to_stride), (&source, 5, from_stride), width, n).expect("in range");
            let mut expected = vec![0; n * to_stride + 3];
            for line in 0..n {
                let line_of = &values[5 + line * from_stride..][..width];
                expected[2 + line * to_stride..][..width].copy_from_slice(line_of);
            }
            let what = format!("{n} lines of {width}, from {from_stride} to {to_stride}");
            assert_eq!(stream.read(&target).expect("same device"), expected, "{what}");
        }
        let (source, mut target) = (stream.alloc::<u32>(11).expect("small"), stream.alloc::<u32>(12).expect("small"));
        // The last line need not be whole, and of one line the distance says nothing.
        stream.copy_lines((&mut target, 0, 4), (&source, 0, 4), 3, 3).expect("in range");
        stream.copy_lines((&mut target, 0, usize::MAX), (&source, 0, 4), 3, 1).expect("in range");
        let mut wrong = |to, from, width, n| {
            let result = stream.copy_lines((&mut target, 1, to), (&source, 0, from), width, n);
            result.expect_err("out of range").to_string()
        };
        assert_eq!(wrong(4, 2, 3, 3), "stride of the source: expected at least 3, got 2");
        assert_eq!(wrong(3, 4, 4, 2), "stride of the target: expected at least 4, got 3");
        assert_eq!(wrong(4, 5, 3, 3), "Stream::copy_lines from position 0: expected at most 11 values, got 13 values");
        assert_eq!(wrong(4, 4, 4, 3), "Stream::copy_lines from position 1: expected at most 11 values, got 12 values");
        assert!(wrong(usize::MAX, 4, 1, 3).contains("expected at most 11 values"));
    }
}

#[test]
fn ranges_are_checked() {
    for device in devices() {
        let stream = device.stream().expect("a device with kernels");
        let mut buffer = stream.alloc::<u32>(4).expect("small");
        let error = stream.write(&mut buffer, 3, &[1, 2]).expect_err("too long");
        assert_eq!(error.to_string(), "Stream::write from position 3: expected at most 1 values, got 2 values");
        assert!(stream.write(&mut buffer, usize::MAX, &[1]).is_err());
        assert!(stream.read_into(&buffer, 5, &mut []).is_err());
        let pinned = stream.pinned::<u32>(1).expect("small");
        let error = stream.write_pinned(&mut buffer, 0, &pinned, 2).expect_err("too long");
        assert!(error.to_string().contains("pinned memory"), "{error}");
    }
}

#[test]
fn pinned_copies_arrive_in_order() {
    for device in devices() {
        let (first, second) = (device.stream().expect("d"), device.stream().expect("d"));
        let n = 100_000;
        let mut staging = first.pinned::<u32>(n).expect("small");
        let mut buffer = first.alloc::<u32>(n).expect("small");
        for round in 0..4u32 {
            let values = staging.as_mut_slice().expect("no failure");
            for (i, value) in (0..).zip(values.iter_mut()) {
                *value = i * 3 + round;
            }
            first.write_pinned(&mut buffer, 0, &staging, n).expect("in range");
            staging.as_mut_slice().expect("no failure").fill(0);
            // The copy has ended, so another stream sees it.
            second.read_pinned(&buffer, 0, &mut staging, n).expect("in range");
            let values = staging.as_slice().expect("no failure");
            assert!((0..).zip(values).all(|(i, &value)| value == i * 3 + round));
        }
    }
}

#[test]
fn kernels_run_in_order() {
    for device in devices() {
        let stream = device.stream().expect("a device with kernels");
        let module = Module::load(&device, &SET).expect("the driver compiles it");
        let fill = module.function(kernels::fill).expect("in the module");
        let scale_add = module.function(kernels::scale_add).expect("in the module");
        assert_eq!(scale_add.info().max_threads, 128);
        assert!(fill.occupancy(&shape(1000)).expect("an ordinary shape") >= 1);
        for n in LENGTHS {
            let mut values = stream.alloc::<u32>(n).expect("small");
            let mut addend = stream.alloc::<u32>(n).expect("small");
            // SAFETY: both buffers hold n values.
            unsafe {
                stream.launch(&fill, shape(n), (&mut values, n as u32, 5)).expect("launch");
                stream.launch(&fill, shape(n), (&mut addend, n as u32, 2)).expect("launch");
                stream.launch(&scale_add, shape(n), (&mut values, &addend, n as u32, 10)).expect("launch");
            }
            stream.synchronize().expect("no failure");
            assert_eq!(stream.read(&values).expect("same device"), vec![52; n]);
        }
    }
}

#[test]
fn a_wrong_shape_names_the_kernel() {
    for device in devices() {
        let stream = device.stream().expect("a device with kernels");
        let module = Module::load(&device, &SET).expect("the driver compiles it");
        let scale_add = module.function(kernels::scale_add).expect("in the module");
        let mut values = stream.alloc::<u32>(1).expect("small");
        let addend = stream.alloc::<u32>(1).expect("small");
        let shape = LaunchShape::new(1, 129);
        // SAFETY: both buffers hold one value.
        let result = unsafe { stream.launch(&scale_add, shape, (&mut values, &addend, 1, 1)) };
        assert_eq!(
            result.expect_err("too many threads").to_string(),
            "kernel scale_add: threads of a block: expected 1 to 128, got 129"
        );
    }
}

#[test]
fn graphs_replay_their_launches() {
    for device in devices() {
        let stream = device.stream().expect("a device with kernels");
        let module = Module::load(&device, &SET).expect("the driver compiles it");
        let fill = module.function(kernels::fill).expect("in the module");
        let scale_add = module.function(kernels::scale_add).expect("in the module");
        let n = 77;
        let mut values = stream.alloc::<u32>(n).expect("small");
        let mut addend = stream.upload(&vec![9u32; n]).expect("small");
        let graph = stream
            .capture(|stream| {
                // SAFETY: both buffers hold n values, and outlive the graph.
                unsafe {
                    stream.launch(&scale_add, shape(n), (&mut values, &addend, n as u32, 3))?;
                    stream.zero(&mut addend)?;
                    stream.launch(&fill, shape(n), (&mut addend, n as u32, 1))
                }
            })
            .expect("only launches");
        assert_eq!((graph.n_launches(), graph.kernels()), (2, &["scale_add", "fill"][..]));
        assert_eq!(stream.read(&values).expect("nothing ran"), vec![0; n]);
        // 3 * 0 + 9, 3 * 9 + 1, 3 * 28 + 1
        for expected in [9, 28, 85] {
            stream.launch_graph(&graph).expect("same device");
            assert_eq!(stream.read(&values).expect("no failure"), vec![expected; n]);
        }
        // On another stream of the device, with the buffers gone from here.
        drop((values, addend));
        let other = device.stream().expect("a device with kernels");
        other.launch_graph(&graph).expect("same device");
        other.synchronize().expect("the graph keeps its buffers");
    }
}

#[test]
fn a_capture_refuses_what_needs_an_answer_and_ends_cleanly() {
    for device in devices() {
        let stream = device.stream().expect("a device with kernels");
        let buffer = stream.upload(&[1u8, 2]).expect("small");
        let event = stream.event().expect("an event");
        type Call<'a> = &'a dyn Fn(&Stream) -> Result<()>;
        let refusals: [(&str, Call<'_>); 5] = [
            ("Stream::read", &|stream| stream.read(&buffer).map(drop)),
            ("Stream::alloc", &|stream| stream.alloc::<u8>(1).map(drop)),
            ("Stream::synchronize", &|stream| stream.synchronize()),
            ("Stream::record", &|stream| stream.record(&event)),
            ("Stream::capture", &|stream| stream.capture(|_| Ok(())).map(drop)),
        ];
        for (call, refused) in refusals {
            let error = stream.capture(refused).expect_err("not in a capture");
            assert!(matches!(error, Error::Capture { call: named } if named == call), "{error}");
            // The stream is as before.
            assert_eq!(stream.read(&buffer).expect("no capture"), [1, 2]);
        }
        let unwound =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| stream.capture(|_| panic!("in the closure"))));
        assert!(unwound.is_err());
        assert_eq!(stream.read(&buffer).expect("no capture"), [1, 2]);
        let empty = stream.capture(|_| Ok(())).expect("an empty graph");
        stream.launch_graph(&empty).expect("does nothing");
        stream.synchronize().expect("no failure");
    }
}

#[test]
fn events_measure_time() {
    for device in devices() {
        let stream = device.stream().expect("a device with kernels");
        let (start, end) = (stream.event().expect("e"), stream.event().expect("e"));
        let mut buffer = stream.alloc::<u64>(1 << 20).expect("8 MiB");
        stream.record(&start).expect("no capture");
        stream.zero(&mut buffer).expect("same device");
        stream.record(&end).expect("no capture");
        let ms = Event::elapsed_ms(&start, &end).expect("both recorded");
        assert!(ms > 0.0 && ms < 10_000.0, "{ms} ms");
    }
}

#[test]
fn an_engine_can_move_to_another_thread() {
    for device in devices() {
        let stream = device.stream().expect("a device with kernels");
        let buffer = stream.upload(&[1u32, 2, 3]).expect("small");
        let read = std::thread::spawn(move || stream.read(&buffer));
        assert_eq!(read.join().expect("no panic").expect("no failure"), [1, 2, 3]);
    }
}

#[test]
fn more_memory_than_there_is_is_refused_before_the_driver_is_asked() {
    for device in devices() {
        let stream = device.stream().expect("a device with kernels");
        let memory = device.memory().expect("it answers");
        let error = stream.alloc::<u8>(memory.total as usize + 1).expect_err("more than all");
        let Error::OutOfMemory { needed, free, .. } = error else { panic!("another error: {error}") };
        assert_eq!(needed, memory.total + 1);
        assert!(free <= memory.total);
        stream.alloc::<u8>(1).expect("the device is as before");
    }
}

#[test]
fn a_fault_on_the_cpu_names_the_kernel() {
    let device = Device::simt();
    let stream = device.stream().expect("simt");
    let module = Module::load(&device, &SET).expect("nothing to load");
    let fill = module.function(kernels::fill).expect("in the module");
    let mut values = stream.alloc::<u32>(4).expect("small");
    // SAFETY: broken on purpose: `fill` asks before it writes, and the back end stops it there.
    let result = unsafe { stream.launch(&fill, shape(5), (&mut values, 5, 1)) };
    let error = result.expect_err("the fifth value is outside");
    assert!(matches!(error, Error::Simt(_)));
    assert!(error.to_string().contains("fill"), "{error}");
}
