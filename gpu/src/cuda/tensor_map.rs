//! Matrices as the copy engine sees them: rectangles of global memory that one instruction copies into shared memory (`sm_90` on).
//!
//! A [`TensorMap`] says where a matrix lies, or several of one size, and how large the rectangles are that are copied from it; the driver makes it on the host (`cuTensorMapEncodeTiled`), and a kernel takes it from
//! global memory. (As a parameter it would need an alignment that rustc's kernels do not have.) A rectangle has rows of 128 bytes. In shared memory they follow each other, and their chunks of 16 bytes are exchanged: chunk `c` of row `r` is in slot
//! `c ^ (r % 8)`, so that eight rows of one column of chunks lie in different banks. [`Tiles::copied`](super::wgmma::Tiles::copied) reads them so. What lies outside the matrix is 0.
//!
//! A map may also be of images, channels last (`cuTensorMapEncodeIm2col`): then [`MapAt::copy_pixels`] copies a run of pixels, row after row and image after image, each moved by a tap of a filter; what lies outside
//! its image is 0. So a convolution's padded operand comes about in shared memory alone.
//!
//! Under `simt` a map is a [`Plain`] or [`PlainImages`] description, which the copy follows.

/// A matrix in the hardware's format: 128 bytes that only the driver writes and the copy engine reads.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct TensorMap {
    words: [u64; 16],
}

const _: () = assert!(size_of::<TensorMap>() == 128);

/// What a map says under `simt`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Plain {
    /// Address of the first value.
    pub base: u64,
    /// Values of a row.
    pub width: u64,
    /// Rows.
    pub height: u64,
    /// Bytes from a row to the next.
    pub stride: u64,
    /// Matrices that lie one behind the other.
    pub layers: u64,
    /// Bytes from a matrix to the next.
    pub layer_stride: u64,
    /// Bytes of a value.
    pub value_bytes: u32,
    /// Rows of a rectangle.
    pub rows: u32,
}

/// What a map of images says under `simt`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct PlainImages {
    /// Address of the first value.
    pub base: u64,
    /// Bytes from a pixel to the next.
    pub stride: u64,
    /// Values of a pixel.
    pub channels: u32,
    /// Pixels of a row.
    pub width: u32,
    /// Rows of an image.
    pub height: u32,
    /// Images.
    pub images: u32,
    /// Bytes of a value.
    pub value_bytes: u32,
    /// Pixels of a copy.
    pub pixels: u32,
    /// Pixels of zeros on each side of an image: half a filter's side.
    pub padding: u32,
    /// 0.
    pub reserved: u32,
}

impl TensorMap {
    /// Bytes of a rectangle's row.
    pub const ROW_BYTES: u32 = 128;

    /// The map of a description of images, for `simt` alone.
    pub fn plain_images(plain: PlainImages) -> Self {
        let mut words = [0; 16];
        words[..6].copy_from_slice(bytemuck::cast_slice(&[plain]));
        Self { words }
    }

    /// The description of a map that [`plain_images`](Self::plain_images) made.
    pub fn described_images(&self) -> PlainImages {
        bytemuck::cast_slice(&self.words[..6])[0]
    }

    /// The map of a description, for `simt` alone.
    pub fn plain(plain: Plain) -> Self {
        let mut words = [0; 16];
        words[..7].copy_from_slice(bytemuck::cast_slice(&[plain]));
        Self { words }
    }

    /// The description of a map that [`plain`](Self::plain) made.
    pub fn described(&self) -> Plain {
        bytemuck::cast_slice(&self.words[..7])[0]
    }
}

/// A map in global memory: the copy engine finds it by its address.
#[derive(Clone, Copy)]
pub struct MapAt(*const TensorMap);

impl MapAt {
    /// The map at an address.
    ///
    /// # Safety
    /// There is a [`TensorMap`] in global memory, which the driver (under `simt`, [`TensorMap::plain`] or [`TensorMap::plain_images`]) made of a matrix or images that are there while the kernel runs, and nobody writes either.
    #[device_inline]
    pub const unsafe fn new(at: *const TensorMap) -> Self {
        Self(at)
    }

    /// Lets the hardware read the map before its first use.
    #[device_inline]
    pub fn prefetch(self) {
        #[cfg(all(target_arch = "nvptx64", target_feature = "sm_90"))]
        // SAFETY: a map, as `new` asks; nothing is written.
        unsafe {
            core::arch::asm!("prefetch.tensormap [{0}];", in(reg64) self.0, options(nostack, preserves_flags))
        };
    }

    /// Starts to copy the rectangle whose first value is number `column` of row `row` of matrix `layer` to shared address `to`, a multiple of 1024; the bytes are counted by the barrier object `object`.
    ///
    /// # Safety
    /// The map is of matrices; `to` has room for the map's rectangle, which no other thread uses until the object has counted it; `object` expects its bytes.
    #[device_inline]
    #[track_caller]
    pub unsafe fn copy(self, to: u32, [column, row, layer]: [u32; 3], object: u32) {
        #[cfg(all(target_arch = "nvptx64", target_feature = "sm_90"))]
        // SAFETY: a map, as `new` asks; the caller vouches for the room and the object.
        unsafe {
            core::arch::asm!(
                "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [{0}], [{1}, {{{2}, {3}, {4}}}], [{5}];",
                in(reg32) to, in(reg64) self.0, in(reg32) column, in(reg32) row, in(reg32) layer, in(reg32) object, options(nostack, preserves_flags)
            )
        };
        #[cfg(all(target_arch = "nvptx64", not(target_feature = "sm_90")))]
        {
            let _ = (to, column, row, layer, object);
            super::trap()
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            let _ = object;
            // SAFETY: a map, as `new` asks.
            let map = unsafe { super::memory::load(self.0, 0) };
            copy_on_host(&map.described(), to, [column, row, layer]);
        }
    }

    /// Starts to copy the map's number of pixels to shared address `to`, a multiple of 1024, from pixel `(x, y)` of image `image` on, of each the values from `channel` on; each pixel is the one that lies `tap[0]` further right
    /// and `tap[1]` further down than the upper left corner of a filter around it. The bytes are counted by the barrier object `object`.
    ///
    /// # Safety
    /// The map is of images padded by `padding` pixels on each side; the pixel is inside its image and `tap` at most `2 padding`; `to` has room for the map's pixels, which no other thread uses until the object has counted it; `object` expects its bytes.
    #[device_inline]
    #[track_caller]
    pub unsafe fn copy_pixels(
        self,
        to: u32,
        [channel, x, y, image]: [u32; 4],
        padding: u32,
        tap: [u32; 2],
        object: u32,
    ) {
        #[cfg(all(target_arch = "nvptx64", target_feature = "sm_90"))]
        {
            // Corners of filters: signed numbers.
            let (left, top) = (x.wrapping_sub(padding), y.wrapping_sub(padding));
            let [right, down] = tap.map(|by| by as u16);
            // SAFETY: a map, as `new` asks; the caller vouches for the room and the object.
            unsafe {
                core::arch::asm!(
                    "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [{0}], [{1}, {{{2}, {3}, {4}, {5}}}], [{6}], {{{7}, {8}}};",
                    in(reg32) to, in(reg64) self.0, in(reg32) channel, in(reg32) left, in(reg32) top, in(reg32) image, in(reg32) object,
                    in(reg16) right, in(reg16) down, options(nostack, preserves_flags)
                )
            };
        }
        #[cfg(all(target_arch = "nvptx64", not(target_feature = "sm_90")))]
        {
            let _ = (to, channel, x, y, image, padding, tap, object);
            super::trap()
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            let _ = object;
            // SAFETY: a map, as `new` asks.
            let map = unsafe { super::memory::load(self.0, 0) }.described_images();
            assert_eq!(map.padding, padding, "the padding of the map's images");
            copy_pixels_on_host(&map, to, [channel, x, y, image], tap);
        }
    }
}

/// Pixels, chunk by chunk.
#[cfg(not(target_arch = "nvptx64"))]
#[track_caller]
fn copy_pixels_on_host(map: &PlainImages, to: u32, [channel, x, y, image]: [u32; 4], tap: [u32; 2]) {
    let per_chunk = 16 / map.value_bytes;
    let squares = map.height * map.width;
    let first = (image * map.height + y) * map.width + x;
    for at in 0..map.pixels {
        let (image, square) = ((first + at) / squares, (first + at) % squares);
        // What is left of an image or above it wraps around, beyond its size.
        let x = (square % map.width + tap[0]).wrapping_sub(map.padding);
        let y = (square / map.width + tap[1]).wrapping_sub(map.padding);
        let is_inside = x < map.width && y < map.height && image < map.images;
        for chunk in 0..8 {
            let mut bytes = [0u8; 16];
            for value in 0..per_chunk {
                let channel = channel + chunk * per_chunk + value;
                if is_inside && channel < map.channels {
                    let pixel = u64::from(image * squares + y * map.width + x);
                    let from = (map.base + pixel * map.stride + u64::from(channel * map.value_bytes)) as usize;
                    let into = (value * map.value_bytes) as usize;
                    for byte in 0..map.value_bytes as usize {
                        // SAFETY: a value of an image, which is there, as `MapAt::new` asks; `simt` checks it.
                        bytes[into + byte] = unsafe { super::memory::load(from as *const u8, byte) };
                    }
                }
            }
            let slot = to + at * TensorMap::ROW_BYTES + (chunk ^ (at % 8)) * 16;
            crate::simt::hooks::shared_write(slot, &bytes);
        }
    }
}

/// A rectangle, chunk by chunk.
#[cfg(not(target_arch = "nvptx64"))]
#[track_caller]
fn copy_on_host(map: &Plain, to: u32, [column, row, layer]: [u32; 3]) {
    let per_chunk = 16 / map.value_bytes;
    for at in 0..map.rows {
        for chunk in 0..8 {
            let mut bytes = [0u8; 16];
            for value in 0..per_chunk {
                let (x, y) = (u64::from(column + chunk * per_chunk + value), u64::from(row + at));
                if x < map.width && y < map.height && u64::from(layer) < map.layers {
                    let from = (map.base
                        + u64::from(layer) * map.layer_stride
                        + y * map.stride
                        + x * u64::from(map.value_bytes)) as usize;
                    let into = (value * map.value_bytes) as usize;
                    for byte in 0..map.value_bytes as usize {
                        // SAFETY: a value of the matrix, which is there, as `MapAt::new` asks; `simt` checks it.
                        bytes[into + byte] = unsafe { super::memory::load(from as *const u8, byte) };
                    }
                }
            }
            let slot = to + at * TensorMap::ROW_BYTES + (chunk ^ (at % 8)) * 16;
            crate::simt::hooks::shared_write(slot, &bytes);
        }
    }
}
