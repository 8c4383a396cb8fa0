//! Several products in one launch: the gradients of all layers of a network, both of whose operands lie depth by depth.
//!
//! A launch takes microseconds, and so do such products where the batch is small; and where they are large, the blocks that one of them leaves idle at its end take tiles of the next.

use super::epilogue::{Alone, Updating};
use super::task::{Bf16, F16, GroupTask, Member, ProductTask, activation};
use super::update::Update;
use super::wgmma::{ALONE, Tasks, product, shape_of_tiles, work_of};
use crate::cuda::kernel;
use crate::cuda::memory::load;
use crate::cuda::tensor_map::TensorMap;

impl GroupTask {
    /// Product `number`, and what is known of it.
    ///
    /// # Safety
    /// There is one, and maps for it.
    #[device_inline]
    unsafe fn product(&self, number: u32) -> (ProductTask, Member) {
        // SAFETY: as the caller vouches.
        let (maps, member, c) = unsafe {
            let member = load(self.members, number as usize);
            (self.maps.add(2 * number as usize), member, self.c.add(member.c as usize))
        };
        let task = ProductTask {
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
            c_first: 0,
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
            c_short_stride: member.c_stride,
        };
        (task, member)
    }

    /// The product that the launch's tile `tile` belongs to, what is known of it, and where the tile is there.
    ///
    /// # Safety
    /// There is one.
    #[device_inline]
    unsafe fn find<const R: usize, const GROUPS: u32, const HIGH: u32>(
        &self,
        tile: u32,
    ) -> (ProductTask, Member, [u32; 3]) {
        let (mut tile, mut number) = (tile, 0);
        loop {
            // SAFETY: the tile is one of the products', so there is this one.
            let (task, member) = unsafe { self.product(number) };
            let work = work_of::<R, GROUPS, HIGH>(&task);
            if tile < work.tiles() {
                return (task, member, work.tile_at(tile));
            }
            tile -= work.tiles();
            number += 1;
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
        // SAFETY: as the caller vouches.
        let (task, _, at) = unsafe { self.find::<R, GROUPS, HIGH>(tile) };
        (task, at)
    }
}

/// A group whose C are updated.
#[derive(Clone, Copy)]
struct Updated<'a>(&'a GroupTask);

impl Tasks for Updated<'_> {
    type Task = ProductTask;

    #[device_inline]
    fn maps(self) -> *const TensorMap {
        self.0.maps
    }

    #[device_inline]
    fn cluster(self) -> u32 {
        1
    }

    #[device_inline]
    fn tiles<const R: usize, const GROUPS: u32, const HIGH: u32>(self) -> u32 {
        self.0.n_tiles
    }

    #[device_inline]
    unsafe fn locate<const R: usize, const GROUPS: u32, const HIGH: u32>(self, tile: u32) -> (ProductTask, [u32; 3]) {
        let Self(group) = self;
        // SAFETY: as the caller vouches.
        let (task, member, at) = unsafe { group.find::<R, GROUPS, HIGH>(tile) };
        let c_short = group.c_short.wrapping_add(if group.c_short.is_null() { 0 } else { member.c_short as usize });
        let (c_part_stride, c_parts) = (group.c_short_part_stride, group.c_parts);
        let (c_first, c_short_stride) = (member.c, member.c_short_stride);
        (ProductTask { c_short, c_part_stride, c_parts, c_first, c_short_stride, ..task }, at)
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
                unsafe { product::<$format, _, $sums, $groups, 1, true, true, ALONE, _>(&task, Alone) }
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

macro_rules! updates {
    ($($(#[$doc:meta])* $name:ident, $format:ty, $sums:literal, $groups:literal;)*) => {
        $(
            $(#[$doc])*
            ///
            /// Gradients of the parameters of several layers, which an optimiser updates at once; the operands lie depth by depth.
            ///
            /// * Launch: as a product of these tiles, for all tiles of all products.
            /// * Reads: the operands through their maps; `members`; `rates`, `step`.
            /// * Writes: `c`, `c_short`; `first`, `second`.
            /// * Shared: as the product.
            /// * Cost: that of the products; a quad of each array read and written for four sums.
            /// * Twin: `warpplay_cpu_ref::tile::product` and `warpplay_cpu_ref::mlp::optimizer::Update::apply`, for each.
            /// * Source: PyTorch's definitions of SGD, Adam, AdamW and RMSprop.
            ///
            /// # Safety
            /// As a group of products of these tiles, whose depth is not divided; of each C `m` rows lie in `c`, from a multiple of four values on, and `update` is as [it](Update) says.
            #[kernel(
                shape = |multiprocessors: u32| shape_of_tiles::<$sums, $groups, 1, ALONE>(task.n_tiles, 1, multiprocessors),
                max_threads = 128 * ($groups + 1),
                min_blocks = 1,
                require = task.overflow.is_null()
            )]
            pub unsafe fn $name(task: GroupTask, update: Update) {
                // SAFETY: launched with this shape, and the rest is as the kernel asks.
                unsafe { product::<$format, _, $sums, $groups, 1, true, true, ALONE, _>(Updated(&task), Updating::<'_, true>(&update)) }
            }
        )*
    };
}

updates! {
    /// bfloat16, tiles of 128 × 128.
    tile_wgmma_bf16_128_ab_group_update, Bf16, 64, 2;
    /// bfloat16, tiles of 64 × 64.
    tile_wgmma_bf16_64_single_ab_group_update, Bf16, 32, 1;
}
