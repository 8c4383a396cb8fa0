//! What a launch works on, and the number formats.

use crate::cuda::DeviceArgs;
use crate::cuda::memory::load;
use crate::cuda::mma::{pack_bf16, pack_f16, unpack_bf16, unpack_f16};
use crate::cuda::tensor_map::TensorMap;

/// What happens to a sum before it is written.
pub mod activation {
    /// Nothing.
    pub const NONE: u32 = 0;
    /// What is below 0 becomes 0.
    pub const RELU: u32 = 1;
}

/// Most parts of a number, see [`n_pairs`].
pub const MAX_PARTS: u32 = 3;

/// Rows of C whose [`moments`](ProductTask::moments) are one.
pub const MOMENT_ROWS: u32 = 64;

/// Most blocks of a cluster that share a tile's depth.
pub const MAX_CLUSTER: u32 = 16;

/// What a launch works on.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[args(
    /// Bytes of a value of A.
    a_bytes: u32,
    /// Bytes of a value of B.
    b_bytes: u32,
    /// 1 where A lies depth by depth, `[k][a_stride]`.
    a_by_depth: u32,
    /// 1 where B lies depth by depth, `[k][b_stride]`.
    b_by_depth: u32,
    /// Bytes of a value of the mask.
    mask_bytes: u32
)]
#[require(m >= 1 && n >= 1 && k >= 1 && n <= c_stride && division >= 1)]
#[require((1..=MAX_PARTS).contains(&a_parts) && (1..=MAX_PARTS).contains(&b_parts) && (1..=MAX_PARTS).contains(&c_parts))]
#[require((if a_by_depth != 0 { m } else { k }) <= a_stride && (b_by_depth != 0 && side > 1 || (if b_by_depth != 0 { n } else { k }) <= b_stride))]
#[require((a_stride * a_bytes).is_multiple_of(16) && (b_stride * b_bytes).is_multiple_of(16))]
#[require(mask_stride.is_multiple_of(4) && mask_stride >= n || mask.is_none())]
#[require(side == 1 || (side == 3 || side == 5 || side == 7) && height >= 1 && width >= 1 && a_by_depth == b_by_depth)]
#[require(b_part_layers >= 1 && (a_rows == m || !rows.is_none()) && (c_short_stride >= n || c_short.is_none()))]
#[require(k <= division || bias.is_none() && mask.is_none() && residual.is_none() && residual_short.is_none() && c_short.is_none() && activation == activation::NONE)]
#[require(side == 1 || a_by_depth != 0 || m.is_multiple_of(height * width) && division >= k && side * side * k <= b_stride)]
#[require(side == 1 || a_by_depth == 0 || k.is_multiple_of(height * width) && n.is_multiple_of(side * side * super::images::COLUMNS))]
pub struct ProductTask {
    /// `[2]` A and B, with rectangles of the tile's rows and of its columns, or of 64 depths; null for kernels that read without maps. Of images A's map copies as many pixels as the tile has rows, and B's layers are the taps;
    /// there are such two for each part of the images, `[parts][2]`.
    #[len(2 * (if side == 1 { 1 } else if b_by_depth != 0 { b_parts } else { a_parts }))]
    #[nullable]
    pub maps: *const TensorMap,
    /// `[a_parts][a_rows][a_stride]`, or `[a_parts][k][a_stride]`, A; some kernels read it through its map.
    #[len(((a_parts - 1) as usize * a_part_stride as usize + (if a_by_depth != 0 { k } else { a_rows }) as usize * a_stride as usize) * a_bytes as usize)]
    pub a: *const u8,
    /// `[b_parts][n][b_stride]`, a row for each column, or `[b_parts][k][b_stride]`, B; some kernels read it through its map.
    #[len(((b_parts - 1) as usize * b_part_stride as usize + (if b_by_depth != 0 { k } else { n }) as usize * b_stride as usize) * b_bytes as usize)]
    pub b: *const u8,
    /// `[m]` Which row of A is each row of the product, in kernels that [gather](super::rows); one beyond A's is a row of zeros. Null for the row of the same number.
    #[len(m)]
    #[nullable]
    pub rows: *const u32,
    /// `[n]` What is added to the columns of C; null for nothing.
    #[len(n)]
    #[nullable]
    pub bias: *const f32,
    /// `[m][mask_stride]` C is 0 where this is not above 0, numbers of 16 bits, or of single precision in kernels that multiply it as it is; null for nothing.
    #[len(m as usize * mask_stride as usize * mask_bytes as usize)]
    #[nullable]
    pub mask: *const u8,
    /// `[m][c_stride]` What is added to C before the activation, in single precision; null for nothing. It may be C.
    #[len(m as usize * c_stride as usize)]
    #[nullable]
    pub residual: *const f32,
    /// `[m][c_stride]` The same in the operands' format of 16 bits; null for nothing. It may be C.
    #[len(m as usize * c_stride as usize)]
    #[nullable]
    pub residual_short: *const u16,
    /// `[divisions][m][c_stride]` C in single precision. Exactly one of `c` and `c_short` is there; kernels that [update](super::update) C have `c`, and may have both.
    #[len((k.div_ceil(division) - 1) as usize * c_part_stride as usize + m as usize * c_stride as usize)]
    #[nullable]
    pub c: *mut f32,
    /// `[c_parts][m][c_short_stride]` C in the operands' format of 16 bits, or a copy of it where it is updated; see `c`.
    #[len((c_parts - 1) as usize * c_part_stride as usize + m as usize * c_short_stride as usize)]
    #[nullable]
    pub c_short: *mut u16,
    /// Set to 1 where a value of `c` is not finite; may be null.
    #[len(1)]
    #[nullable]
    pub overflow: *mut u32,
    /// `[1]` A second factor, a power of two that an earlier kernel found; null for 1.
    #[len(1)]
    #[nullable]
    pub found_factor: *const f32,
    /// `[2][⌈m / 64⌉][n]` Of each [`MOMENT_ROWS`] rows of C, as they are written: the mean of each column, and the sum of squared distances from it; null in kernels without.
    #[len(2 * m.div_ceil(MOMENT_ROWS) * n)]
    #[nullable]
    pub moments: *mut f32,
    /// Values from a part of A to the next.
    pub a_part_stride: u64,
    /// Values from a part of B to the next.
    pub b_part_stride: u64,
    /// Values from a part or division of C to the next; where C is [updated](super::update), of its copy.
    pub c_part_stride: u64,
    /// Number of C's first value among those of which an optimiser remembers something; read by kernels that [update](super::update) C.
    pub c_first: u64,
    /// Rows of C; of A too, where none are gathered.
    pub m: u32,
    /// Columns of B and C.
    pub n: u32,
    /// Depth: columns of A and rows of B; of images, channels.
    pub k: u32,
    /// Values from a row, or a depth, of A to the next.
    pub a_stride: u32,
    /// Values from a column, or a depth, of B to the next.
    pub b_stride: u32,
    /// Values from a row of C to the next.
    pub c_stride: u32,
    /// Values from a row of the mask to the next.
    pub mask_stride: u32,
    /// Parts of A.
    pub a_parts: u32,
    /// Parts of B.
    pub b_parts: u32,
    /// Parts of C, of 16 bits.
    pub c_parts: u32,
    /// Depths whose products are added up, a multiple of a slab's; each division of the depth has a C of its own, without bias, residual, mask and activation if there is more than one.
    pub division: u32,
    /// One of [`activation`].
    pub activation: u32,
    /// What sums are multiplied with before the bias is added.
    pub factor: f32,
    /// Taps of a row and of a column of the filters, odd: the rows of A are the pixels of images, and a column of B is `[side²][channels]`; or, depth by depth, the depths are pixels and the columns of B taps and channels. 1 for matrices.
    pub side: u32,
    /// Rows of an image.
    pub height: u32,
    /// Pixels of an image's row.
    pub width: u32,
    /// Layers of B's map from a part to the next: 1; of filters, whose layers are taps, a part's taps of all columns.
    pub b_part_layers: u32,
    /// Blocks that share the depth of a tile, 1 to [`MAX_CLUSTER`].
    pub cluster: u32,
    /// Rows of A; `m` where none are gathered.
    pub a_rows: u32,
    /// Values from a row of `c_short` to the next: `c_stride`, but in kernels that [update](super::update) C.
    pub c_short_stride: u32,
}

const _: () = assert!(size_of::<ProductTask>() == 216);

impl ProductTask {
    /// What sums are multiplied with before the bias is added.
    ///
    /// # Safety
    /// The task's arrays have the lengths it says.
    #[device_inline]
    #[track_caller]
    pub(super) unsafe fn whole_factor(&self) -> f32 {
        if self.found_factor.is_null() {
            return self.factor;
        }
        // SAFETY: one is there, as the caller vouches.
        self.factor * unsafe { load(self.found_factor, 0) }
    }
}

/// One of several products of a launch.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Member {
    /// First value of its C in that of the launch.
    pub c: u64,
    /// Values from a division of C to the next; not read where C is [updated](super::update).
    pub c_part_stride: u64,
    /// First value of its C in parts of 16 bits in that of the launch, where C is [updated](super::update).
    pub c_short: u64,
    /// Rows of A and C.
    pub m: u32,
    /// Columns of B and C.
    pub n: u32,
    /// Values from a row of C to the next.
    pub c_stride: u32,
    /// Depths whose products are added up.
    pub division: u32,
    /// Parts of A.
    pub a_parts: u32,
    /// What sums are multiplied with.
    pub factor: f32,
    /// Values from a row of its C in parts of 16 bits to the next.
    pub c_short_stride: u32,
    /// 0.
    pub reserved: u32,
}

/// Several products of one depth in a launch, such as the gradients of all layers; each has a C in single precision.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[args(
    /// Values of all C.
    c_len: usize,
    /// Values of all C in parts of 16 bits.
    c_short_len: usize
)]
#[require(k >= 1 && n_members >= 1 && n_tiles >= 1 && (1..=MAX_PARTS).contains(&b_parts) && (1..=MAX_PARTS).contains(&c_parts))]
pub struct GroupTask {
    /// `[n_members][2]` A and B of each product.
    #[len(2 * n_members)]
    pub maps: *const TensorMap,
    /// The products.
    #[len(n_members)]
    pub members: *const Member,
    /// All C.
    #[len(c_len)]
    pub c: *mut f32,
    /// All C in parts of 16 bits, where they are [updated](super::update); null for none.
    #[len(c_short_len)]
    #[nullable]
    pub c_short: *mut u16,
    /// Values from a part of `c_short` to the next.
    pub c_short_part_stride: u64,
    /// Set to 1 where a value of `c` is not finite; may be null.
    #[len(1)]
    #[nullable]
    pub overflow: *mut u32,
    /// Depth.
    pub k: u32,
    /// Parts of B.
    pub b_parts: u32,
    /// Number of products.
    pub n_members: u32,
    /// Tiles of all products, of each in all divisions of the depth.
    pub n_tiles: u32,
    /// Parts of `c_short`.
    pub c_parts: u32,
    /// 0.
    pub reserved: u32,
}

const _: () = assert!(size_of::<Member>() == 56 && size_of::<GroupTask>() == 72);

/// Products of parts that a product of numbers takes.
///
/// A number is the sum of its parts, each what the ones before it leave, rounded to the operands' format. Products of parts `i` and `j` with `i + j` at least the larger number of parts are left out: they are below the
/// last place.
#[device_inline]
pub const fn n_pairs(a_parts: u32, b_parts: u32) -> u32 {
    let smaller = if a_parts < b_parts { a_parts } else { b_parts };
    smaller * largest(a_parts, b_parts) - smaller * (smaller - 1) / 2
}

/// The larger of two numbers of parts.
#[device_inline]
pub const fn largest(a_parts: u32, b_parts: u32) -> u32 {
    if a_parts > b_parts { a_parts } else { b_parts }
}

/// The format of the operands.
pub trait Format {
    /// Values of a slab's row.
    const SLAB: u32;
    /// Whether the sums of tensor cores have fewer bits than single precision: then those of a slab are added up in single precision.
    const HAS_SHORT_SUMS: bool = false;
    /// Two numbers as they are stored; the first in the lower half.
    fn pack(low: f32, high: f32) -> u32;
    /// The two numbers of a word.
    fn unpack(word: u32) -> [f32; 2];
}

/// bfloat16.
pub struct Bf16;
/// Half precision.
pub struct F16;
/// TF32.
pub struct Tf32;
/// Numbers of 8 bits, four of exponent and three of fraction; results of 16 bits are bfloat16.
pub struct E4m3;

impl Format for Bf16 {
    const SLAB: u32 = TensorMap::ROW_BYTES / 2;
    #[device_inline]
    fn pack(low: f32, high: f32) -> u32 {
        pack_bf16(low, high)
    }
    #[device_inline]
    fn unpack(word: u32) -> [f32; 2] {
        unpack_bf16(word)
    }
}

impl Format for F16 {
    const SLAB: u32 = TensorMap::ROW_BYTES / 2;
    #[device_inline]
    fn pack(low: f32, high: f32) -> u32 {
        pack_f16(low, high)
    }
    #[device_inline]
    fn unpack(word: u32) -> [f32; 2] {
        unpack_f16(word)
    }
}

impl Format for Tf32 {
    const SLAB: u32 = TensorMap::ROW_BYTES / 4;
    /// Not used: results of TF32 are of single precision.
    #[device_inline]
    fn pack(low: f32, _: f32) -> u32 {
        low.to_bits()
    }
    /// Not used.
    #[device_inline]
    fn unpack(word: u32) -> [f32; 2] {
        [f32::from_bits(word), 0.0]
    }
}

impl Format for E4m3 {
    const SLAB: u32 = TensorMap::ROW_BYTES;
    const HAS_SHORT_SUMS: bool = true;
    #[device_inline]
    fn pack(low: f32, high: f32) -> u32 {
        pack_bf16(low, high)
    }
    #[device_inline]
    fn unpack(word: u32) -> [f32; 2] {
        unpack_bf16(word)
    }
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn pairs_of_parts() {
        for (a, b) in [(1, 1), (2, 2), (3, 3), (1, 3), (3, 1), (1, 2), (3, 2)] {
            let pairs = (0..a).flat_map(|i| (0..b).map(move |j| i + j)).filter(|&sum| sum < a.max(b));
            assert_eq!(n_pairs(a, b), pairs.count() as u32, "{a}, {b}");
        }
    }
}
