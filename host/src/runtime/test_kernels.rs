//! Two small kernels for the tests of the host runtime: as functions for the CPU, and as PTX for a GPU.

use warpplay_gpu::kernel::{Kernel, LaunchBounds, ParamDesc};
use warpplay_gpu::ptx::{PtxImage, PtxSet};
use warpplay_gpu::simt::{Access, hooks};

use crate::{Backend, Device};

/// `values[i] = value` for i below n; block 64.
#[allow(non_camel_case_types)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct fill;

/// `values[i] = factor * values[i] + addend[i]` for i below n; block at most 128.
#[allow(non_camel_case_types)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct scale_add;

/// The one-dimensional index of the current thread.
fn index() -> usize {
    (hooks::block_idx()[0] * hooks::block_dim()[0] + hooks::thread_idx()[0]) as usize
}

impl Kernel for fill {
    type Params = (*mut u32, u32, u32);
    const NAME: &'static str = "fill";
    const PARAMS: &'static [ParamDesc] = &[
        ParamDesc::of::<*mut u32>("values", "*mut u32"),
        ParamDesc::of::<u32>("n", "u32"),
        ParamDesc::of::<u32>("value", "u32"),
    ];
    const BOUNDS: LaunchBounds = LaunchBounds { max_threads: 0, min_blocks: 0 };

    unsafe fn call((values, n, value): Self::Params) {
        let i = index();
        if i < n as usize {
            hooks::check_global(values as usize + 4 * i, 4, Access::Write);
            // SAFETY: the launch promises n values.
            unsafe { values.add(i).write(value) };
        }
    }
}

impl Kernel for scale_add {
    type Params = (*mut u32, *const u32, u32, u32);
    const NAME: &'static str = "scale_add";
    const PARAMS: &'static [ParamDesc] = &[
        ParamDesc::of::<*mut u32>("values", "*mut u32"),
        ParamDesc::of::<*const u32>("addend", "*const u32"),
        ParamDesc::of::<u32>("n", "u32"),
        ParamDesc::of::<u32>("factor", "u32"),
    ];
    const BOUNDS: LaunchBounds = LaunchBounds { max_threads: 128, min_blocks: 0 };

    unsafe fn call((values, addend, n, factor): Self::Params) {
        let i = index();
        if i < n as usize {
            hooks::check_global(values as usize + 4 * i, 4, Access::Write);
            hooks::check_global(addend as usize + 4 * i, 4, Access::Read);
            // SAFETY: the launch promises n values in each.
            unsafe { *values.add(i) = factor * *values.add(i) + *addend.add(i) };
        }
    }
}

/// Both kernels for a GPU.
pub(crate) const PTX: &str = r"
.version 6.4
.target sm_75
.address_size 64

.visible .entry fill(.param .u64 values, .param .u32 n, .param .u32 value)
{
    .reg .pred %p;
    .reg .b32 %r<6>;
    .reg .b64 %d<3>;
    ld.param.u64 %d0, [values];
    ld.param.u32 %r0, [n];
    ld.param.u32 %r1, [value];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p, %r5, %r0;
    @%p ret;
    cvta.to.global.u64 %d0, %d0;
    mul.wide.u32 %d1, %r5, 4;
    add.u64 %d2, %d0, %d1;
    st.global.u32 [%d2], %r1;
    ret;
}

.visible .entry scale_add(.param .u64 values, .param .u64 addend, .param .u32 n, .param .u32 factor)
.maxntid 128, 1, 1
{
    .reg .pred %p;
    .reg .b32 %r<9>;
    .reg .b64 %d<5>;
    ld.param.u64 %d0, [values];
    ld.param.u64 %d3, [addend];
    ld.param.u32 %r0, [n];
    ld.param.u32 %r1, [factor];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p, %r5, %r0;
    @%p ret;
    cvta.to.global.u64 %d0, %d0;
    cvta.to.global.u64 %d3, %d3;
    mul.wide.u32 %d1, %r5, 4;
    add.u64 %d2, %d0, %d1;
    add.u64 %d4, %d3, %d1;
    ld.global.u32 %r6, [%d2];
    ld.global.u32 %r7, [%d4];
    mad.lo.u32 %r8, %r6, %r1, %r7;
    st.global.u32 [%d2], %r8;
    ret;
}
";

/// The module of both.
pub(crate) const SET: PtxSet = PtxSet { name: "test_kernels", images: &[PtxImage::plain("sm_75", PTX)], missing: None };

/// The devices that kernels run on: the CPU, and the first GPU if there is one.
///
/// With `WARPPLAY_REQUIRE_GPU=1` a missing GPU is a failure.
pub(crate) fn devices() -> Vec<Device> {
    let mut devices = vec![Device::simt()];
    match Device::cuda(0) {
        Ok(device) => devices.push(device),
        Err(error) => {
            let required = std::env::var_os("WARPPLAY_REQUIRE_GPU").is_some_and(|value| value == "1");
            assert!(!required, "a GPU is required: {error}");
            println!("only on {}, there is no GPU: {error}", Backend::Simt);
        }
    }
    devices
}
