//! A GPU whose memory is taken: every family says how much it needs and how much is free, and works once there is room again. In a test program of its own, since it leaves nothing to others.

use warpplay::{Buffer, Device, Error, Result, Stream};
use warpplay_tests::Checked;
use warpplay_tests::backends::gpu;
use warpplay_tests::families::build_each;

const MIB: u64 = 1 << 20;

/// Takes all that is free but less than a MiB.
fn fill(device: &Device, stream: &Stream) -> Result<Vec<Buffer<u8>>> {
    let mut buffers = Vec::new();
    let mut size = device.memory()?.free;
    while size >= MIB {
        match stream.alloc(size as usize) {
            Ok(buffer) => buffers.push(buffer),
            Err(Error::OutOfMemory { .. }) => size /= 2,
            Err(error) => return Err(error),
        }
    }
    Ok(buffers)
}

#[test]
fn a_full_device_is_named_by_every_family_until_there_is_room() -> Checked {
    let Some(device) = gpu() else { return Ok(()) };
    let stream = device.stream()?;
    let buffers = fill(&device, &stream)?;
    for (family, needed, error) in build_each(&device) {
        let needed = needed?.device();
        // The driver hands memory out by 2 MiB.
        assert!(needed > 4 * MIB, "{family}: {needed} bytes say nothing");
        let error = error.unwrap_or_else(|| panic!("{family} has {needed} bytes of a full device"));
        let Error::OutOfMemory { needed: named, free, .. } = &error else { panic!("{family}: {error}") };
        assert!(*named > *free && *named <= needed, "{family}: {error}");
        assert!(error.to_string().starts_with("cuda:0 has "), "{family}: {error}");
    }
    drop(buffers);
    for (family, _, error) in build_each(&device) {
        assert!(error.is_none(), "{family}: {error:?}");
    }
    Ok(())
}
