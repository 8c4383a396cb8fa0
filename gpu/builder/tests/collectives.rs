//! Barriers, shuffles and matrix instructions come out of the compiler once.
//!
//! The kernels of the fixture have one collective between two tests of a per-thread condition. rustc's pass
//! `JumpThreading` and LLVM's own jump threading both want to copy what lies between: the builder switches off the
//! first, and LLVM leaves alone what it knows to be convergent. If a case marked as wrong comes out right with a
//! newer compiler, its rule in the device layer may be given up.

mod common;

/// Copies of `instruction` in the kernel `entry`.
fn copies(ptx: &str, entry: &str, instruction: &str) -> usize {
    let start = ptx.find(&format!(".entry {entry}(")).expect("the kernel is an entry");
    let body = &ptx[start..];
    let body = &body[..body[1..].find(".entry ").map_or(body.len(), |end| end + 1)];
    body.lines().filter(|line| line.trim_start().starts_with(instruction)).count()
}

#[test]
fn collectives_are_not_duplicated() {
    if !common::have_compiler() {
        return;
    }
    let krate = common::fixture("collectives", "collectives");
    let read = |builder: warpplay_gpu_builder::CudaBuilder| {
        let built = builder.build().unwrap();
        std::fs::read_to_string(&built.images[0].path).unwrap()
    };
    let ours = read(common::builder(&krate, "test_collectives"));
    // The later flag counts: this is the compiler as it comes.
    let plain =
        read(common::builder(&krate, "test_collectives_plain").rustflags(["-Zmir-enable-passes=+JumpThreading"]));
    // kernel, instruction, copies as it comes, copies with the builder's flags
    let cases = [
        ("barrier_asm", "bar.sync", 2, 2),
        ("shuffle_asm", "shfl.sync", 2, 2),
        ("barrier_intrinsic", "bar", 2, 1),
        ("shuffle_intrinsic", "shfl.sync", 2, 1),
        ("mma_asm", "mma.sync", 1, 1),
        ("mma_asm", "bar.warp.sync", 1, 1),
    ];
    for (entry, instruction, as_it_comes, with_flag) in cases {
        assert_eq!(copies(&plain, entry, instruction), as_it_comes, "{entry} as it comes\n{plain}");
        assert_eq!(copies(&ours, entry, instruction), with_flag, "{entry} with the builder's flag\n{ours}");
    }
}
