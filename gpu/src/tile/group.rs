//! Several products in one launch: the gradients of all layers of a network, both of whose operands lie depth by depth.
//!
//! A launch takes microseconds, and so do such products where the batch is small; and where they are large, the blocks that one of them leaves idle at its end take tiles of the next.

use super::softmax::Softmax;
use super::task::{Bf16, F16, GroupTask, ProductTask, activation};
use super::wgmma::{ALONE, Tasks, product, shape_of_tiles, work_of};
use crate::cuda::kernel;
use crate::cuda::memory::load;
use crate::cuda::tensor_map::TensorMap;

impl GroupTask {
    /// Product `number`.
    ///
    /// # Safety
    /// There is one, and maps for it.
    #[device_inline]
    unsafe fn product(&self, number: u32) -> ProductTask {
        // SAFETY: as the caller vouches.
        let (maps, member, c) = unsafe {
            let member = load(self.members, number as usize);
            (self.maps.add(2 * number as usize), member, self.c.add(member.c as usize))
        };
        ProductTask {
            maps,
            a: core::ptr::null(),
            b: core::ptr::null(),
            rows: core::ptr::null(),
            bias: core::ptr::null(),
            mask: core::ptr::null(),
            residual: core::ptr::null(),
            residual_short: core::ptr::null(),
            c,
            c_short: core::ptr::null_mut(),
            overflow: self.overflow,
            found_factor: core::ptr::null(),
            moments: core::ptr::null_mut(),
            a_part_stride: 0,
            b_part_stride: 0,
            c_part_stride: member.c_part_stride,
            m: member.m,
            n: member.n,
            k: self.k,
            a_stride: 0,
            b_stride: 0,
            c_stride: member.c_stride,
            mask_stride: 0,
            a_parts: member.a_parts,
            b_parts: self.b_parts,
            c_parts: 1,
            division: member.division,
            activation: activation::NONE,
            factor: member.factor,
            side: 1,
            height: 0,
            width: 0,
            b_part_layers: 1,
            cluster: 1,
            a_rows: member.m,
            reserved: 0,
        }
    }
}

impl Tasks for &GroupTask {
    type Task = ProductTask;

    #[device_inline]
    fn maps(self) -> *const TensorMap {
        self.maps
    }

    #[device_inline]
    fn cluster(self) -> u32 {
        1
    }

    #[device_inline]
    fn tiles<const R: usize, const GROUPS: u32, const HIGH: u32>(self) -> u32 {
        self.n_tiles
    }

    #[device_inline]
    unsafe fn locate<const R: usize, const GROUPS: u32, const HIGH: u32>(self, tile: u32) -> (ProductTask, [u32; 3]) {
        let (mut tile, mut number) = (tile, 0);
        loop {
            // SAFETY: the tile is one of the products', so there is this one.
            let task = unsafe { self.product(number) };
            let work = work_of::<R, GROUPS, HIGH>(&task);
            if tile < work.tiles() {
                return (task, work.tile_at(tile));
            }
            tile -= work.tiles();
            number += 1;
        }
    }
}

macro_rules! groups {
    ($($(#[$doc:meta])* $name:ident, $format:ty, $sums:literal, $groups:literal;)*) => {
        $(
            $(#[$doc])*
            ///
            /// Products of one depth, whose operands lie depth by depth, each to a C of its own in single precision.
            ///
            /// * Launch: as a product of these tiles, for all tiles of all products.
            /// * Reads: the operands through their maps; `members`.
            /// * Writes: `c`; `overflow`.
            /// * Shared: as the product.
            /// * Cost: that of the products.
            /// * Twin: `warpplay_cpu_ref::tile::product`, for each.
            /// * Source: our own.
            ///
            /// # Safety
            /// Members and maps are as for a product of these tiles, and `n_tiles` are those of all members; no value of `c` is in two of them; the operands are not written meanwhile.
            #[kernel(
                shape = |multiprocessors: u32| shape_of_tiles::<$sums, $groups, 1, ALONE>(task.n_tiles, 1, multiprocessors),
                max_threads = 128 * ($groups + 1),
                min_blocks = 1
            )]
            pub unsafe fn $name(task: GroupTask) {
                // SAFETY: launched with this shape, and the rest is as the kernel asks.
                unsafe { product::<$format, _, $sums, $groups, 1, true, true, ALONE, false, false>(&task, &Softmax::NONE) }
            }
        )*
    };
}

groups! {
    /// bfloat16, tiles of 128 × 128.
    tile_wgmma_bf16_128_ab_group, Bf16, 64, 2;
    /// bfloat16, tiles of 64 × 64.
    tile_wgmma_bf16_64_single_ab_group, Bf16, 32, 1;
    /// Half precision, tiles of 128 × 128.
    tile_wgmma_f16_128_ab_group, F16, 64, 2;
    /// Half precision, tiles of 64 × 64.
    tile_wgmma_f16_64_single_ab_group, F16, 32, 1;
}
