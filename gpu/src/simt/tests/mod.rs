//! Each rule, broken on purpose, and what must work when none is.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rayon::prelude::*;

use super::block::Workspace;
use super::*;
use crate::kernel::{LaunchBounds, ParamDesc};

/// A kernel written by hand; `stringify!` gives its entry name.
macro_rules! kernel {
    ($(#[$bounds:ident = $max:literal])? $name:ident($($param:ident: $ty:ty),*) $body:block) => {
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy)]
        struct $name;
        impl Kernel for $name {
            type Params = ($($ty,)*);
            const NAME: &'static str = stringify!($name);
            const PARAMS: &'static [ParamDesc] = &[];
            const BOUNDS: LaunchBounds = LaunchBounds { max_threads: 0 $(+ $max)?, min_blocks: 0 };
            unsafe fn call(($($param,)*): Self::Params) $body
        }
    };
}

mod accesses;
mod bank_counts;
mod barriers;
mod faults;
mod launches;
mod races;
mod stops;

fn run<K: Kernel>(kernel: K, shape: LaunchShape, params: K::Params) -> Result<(), Fault> {
    // SAFETY: the kernels of these tests check their accesses and get buffers that outlive the launch.
    unsafe { launch(kernel, shape, params, &Options::default()) }
}

fn fault<K: Kernel>(kernel: K, shape: LaunchShape, params: K::Params) -> (Fault, String) {
    let fault = run(kernel, shape, params).expect_err("the kernel breaks a rule");
    let text = fault.to_string();
    (fault, text)
}

#[track_caller]
fn assert_contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
}

fn x() -> u32 {
    hooks::thread_idx()[0]
}

/// The thread's number in the grid, for one-dimensional shapes.
fn global_x() -> u32 {
    hooks::block_idx()[0] * hooks::block_dim()[0] + x()
}

#[track_caller]
fn shared_load(address: u32) -> u32 {
    let mut bytes = [0; 4];
    hooks::shared_read(address, &mut bytes);
    u32::from_le_bytes(bytes)
}

#[track_caller]
fn shared_store(address: u32, value: u32) {
    hooks::shared_write(address, &value.to_le_bytes());
}

#[track_caller]
fn shared_add(address: u32, value: u32) {
    hooks::shared_update(address, 4, &mut |bytes| {
        let old = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        bytes.copy_from_slice(&(old + value).to_le_bytes());
    });
}

#[track_caller]
fn global_store(out: *mut u32, index: u32, value: u32) {
    let at = out.wrapping_add(index as usize);
    hooks::check_global(at as usize, 4, Access::Write);
    // SAFETY: inside a registered buffer of `u32`, one element a thread.
    unsafe { at.write(value) };
}

/// Runs a kernel that writes `n` values, and gives them.
fn output<K: Kernel<Params = (*mut u32,)>>(kernel: K, shape: LaunchShape, n: usize) -> Vec<u32> {
    let mut out = vec![0_u32; n];
    let at = out.as_mut_ptr();
    let registration = memory::register(at as usize, n * 4);
    run(kernel, shape, (at,)).unwrap_or_else(|fault| panic!("{fault}"));
    drop(registration);
    out
}

// --- What works ---

kernel!(block_sum(out: *mut u32) {
    let n = hooks::block_dim()[0];
    let partials = hooks::shared_static("partials", 4 * 1024);
    shared_store(partials + 4 * x(), global_x());
    hooks::sync_threads();
    let mut stride = n.next_power_of_two() / 2;
    while stride > 0 {
        if x() < stride && x() + stride < n {
            let sum = shared_load(partials + 4 * x()) + shared_load(partials + 4 * (x() + stride));
            shared_store(partials + 4 * x(), sum);
        }
        hooks::sync_threads();
        stride /= 2;
    }
    if x() == 0 {
        global_store(out, hooks::block_idx()[0], shared_load(partials));
    }
});

kernel!(one_stays_away() {
    if x() != 5 {
        hooks::sync_threads();
    }
});

kernel!(warp_ordered(out: *mut u32) {
    let tile = hooks::shared_static("tile", 512);
    shared_store(tile + 4 * x(), x());
    hooks::sync_warp(u32::MAX);
    let next = x() / 32 * 32 + (x() + 1) % 32;
    let value = shared_load(tile + 4 * next);
    hooks::collective(u32::MAX, 0);
    shared_store(tile + 4 * next, value + 1);
    hooks::sync_warp(u32::MAX);
    global_store(out, x(), shared_load(tile + 4 * x()));
});
