//! Four words that are moved together, in global and in shared memory.

/// 16 bytes that one instruction moves.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Vec4(pub [u32; 4]);
