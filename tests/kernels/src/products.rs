//! Products of a warpgroup with an operand in registers, and what stands for them where there are no warpgroups.

use warpplay_gpu::cuda::memory::{self, Vec4};
use warpplay_gpu::cuda::{kernel, shared_array, sync, thread, wgmma};

/// Sums of a lane: of 32 columns by the product of the group, and by its warp alone; then of 16 columns likewise.
pub const SUMS: usize = 16 + 16 + 8 + 8;

/// Vectors between the two halves of the depth of `b`, which are four tiles of eight columns each and one vector apart.
const HALF: u32 = 33;

/// `c + a b` of 64 × 16 and 16 × 32, and of the first 16 columns, in half precision.
///
/// * Launch: one block of 128 threads.
///
/// # Safety
/// One block of 128 threads. `a` has four words a thread, as [`wgmma`] says, `b` 64 vectors, `[half of the depth][column]` of eight numbers; `c` 16 values a thread, `out` [`SUMS`].
#[kernel]
pub unsafe fn test_group_products(a: *const u32, b: *const u32, c: *const f32, out: *mut f32) {
    let tiles = shared_array![Vec4; 2 * HALF as usize];
    let me = thread::thread_idx_x();
    // SAFETY: inside the arrays, and 64 threads copy a vector each; the whole group goes all of it together, and reads what was published behind a barrier.
    unsafe {
        if me < 64 {
            tiles.set(me / 32 * HALF + me % 32, memory::load_vec4(b.cast::<Vec4>().add(me as usize)));
        }
        wgmma::publish();
        sync::sync_threads();
        let (whole, warp) = (wgmma::WholeGroup::assume(), sync::whole_warp());
        let b = wgmma::Tiles::new(tiles.address_of(0), 16 * HALF, 128);
        let (own_a, own_c, own) = (4 * me as usize, 16 * me as usize, SUMS * me as usize);
        let a = [0, 1, 2, 3].map(|word| memory::load(a, own_a + word));
        let mut sums = [0f32; 16];
        let mut few = [0f32; 8];
        for (at, sum) in sums.iter_mut().enumerate() {
            *sum = memory::load(c, own_c + at);
        }
        few.copy_from_slice(&sums[..8]);
        let [of_group] = wgmma::finish(&whole, [wgmma::f16_n32(&whole, sums, a, b)]);
        let of_warps = wgmma::by_warp(&warp, sums, a, b);
        let few_of_warps = wgmma::by_warp(&warp, few, a, b);
        let mut padded = [0f32; 16];
        padded[..8].copy_from_slice(&wgmma::f16_n16(&whole, few, a, b));
        let [few_of_group] = wgmma::finish(&whole, [padded]);
        for at in 0..16 {
            memory::store(out, own + at, of_group[at]);
            memory::store(out, own + 16 + at, of_warps[at]);
        }
        for at in 0..8 {
            memory::store(out, own + 32 + at, few_of_group[at]);
            memory::store(out, own + 40 + at, few_of_warps[at]);
        }
    }
}
