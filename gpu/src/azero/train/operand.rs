//! What the products read: matrices that are not stored as such, but found by tap, channel and pixel.
//!
//! A thread walks along the depth of a product in steps of a tile. What it needs to know of its row or column stays ([`Operand::Own`]), what depends on
//! the depth moves on ([`Operand::DepthIndex`]), without a division in the loop.

use super::product::Product;
use super::quad::load_quad;

/// A matrix that a product reads.
pub(super) trait Operand: Copy {
    /// Whether a quad is four depths of one row or column; else it is four rows or columns of one depth.
    const ALONG_DEPTH: bool;
    /// What is known of a row or column, or of four.
    type Own: Copy;
    /// An index along the depth of the product, taken apart as the operand needs it.
    type DepthIndex: Copy;

    /// Of row or column `outer`; the first of four, where a quad lies across.
    fn own(&self, outer: u32) -> Self::Own;

    /// Of depth `depth`; the first of four, where a quad lies along.
    fn depth_index(&self, depth: u32) -> Self::DepthIndex;

    /// Moves `by` depths on.
    fn advance(&self, index: &mut Self::DepthIndex, by: u32);

    /// Four elements, 0 outside.
    ///
    /// # Safety
    /// The operand describes valid memory.
    unsafe fn quad(&self, own: &Self::Own, index: &Self::DepthIndex) -> [f32; 4];
}

/// `[pixels, side² · channels]`: for each pixel the channels of the squares around it.
#[derive(Clone, Copy)]
pub(super) struct Window {
    values: *const f32,
    pixels: u32,
    rows: u32,
    columns: u32,
    side: u32,
    channels: u32,
}

impl Window {
    /// Of a layer's inputs.
    #[device_inline]
    pub fn inputs(layer: &Product) -> Self {
        Self::new(layer, layer.inputs, layer.n_inputs)
    }

    /// Of the gradient of a layer's outputs.
    #[device_inline]
    pub fn output_gradient(layer: &Product) -> Self {
        Self::new(layer, layer.output_gradient, layer.n_outputs)
    }

    #[device_inline]
    fn new(layer: &Product, values: *const f32, channels: u32) -> Self {
        let Product { rows, columns, side, .. } = *layer;
        Self { values, pixels: layer.pixels(), rows, columns, side, channels }
    }
}

/// A pixel, and a bit for each tap that stays on the board.
#[derive(Clone, Copy)]
pub(super) struct Pixel {
    pixel: u32,
    taps: u32,
}

/// A tap and a channel.
#[derive(Clone, Copy)]
pub(super) struct Tap {
    tap: u32,
    /// Column of the tap, and pixels from the middle to it.
    column: u32,
    shift: i32,
    channel: u32,
}

impl Operand for Window {
    const ALONG_DEPTH: bool = true;
    type Own = Pixel;
    type DepthIndex = Tap;

    #[device_inline]
    fn own(&self, outer: u32) -> Pixel {
        let cell = outer % (self.rows * self.columns);
        let (row, column, reach) = (cell / self.columns, cell % self.columns, self.side / 2);
        let mut taps = 0;
        let mut tap = 0;
        while outer < self.pixels && tap < self.side * self.side {
            // Below 0 it wraps to far beyond the board.
            let (r, c) = ((row + tap / self.side).wrapping_sub(reach), (column + tap % self.side).wrapping_sub(reach));
            if r < self.rows && c < self.columns {
                taps |= 1 << tap;
            }
            tap += 1;
        }
        Pixel { pixel: outer, taps }
    }

    #[device_inline]
    fn depth_index(&self, depth: u32) -> Tap {
        let (tap, channel) = (depth / self.channels, depth % self.channels);
        let (row, column, reach) = (tap / self.side, tap % self.side, self.side / 2);
        let shift = (row as i32 - reach as i32) * self.columns as i32 + column as i32 - reach as i32;
        Tap { tap, column, shift, channel }
    }

    #[device_inline]
    fn advance(&self, index: &mut Tap, by: u32) {
        index.channel += by;
        while index.channel >= self.channels {
            index.channel -= self.channels;
            index.tap += 1;
            index.shift += 1;
            index.column += 1;
            if index.column == self.side {
                index.column = 0;
                index.shift += self.columns as i32 - self.side as i32;
            }
        }
    }

    #[device_inline]
    #[track_caller]
    unsafe fn quad(&self, own: &Pixel, index: &Tap) -> [f32; 4] {
        // No tap beyond the kernel has a bit, but the shift takes its distance modulo 32.
        if index.tap < 32 && own.taps >> index.tap & 1 != 0 {
            let pixel = own.pixel.wrapping_add_signed(index.shift);
            // SAFETY: the tap is on the board, so its pixel exists; the channel is below their number, and lines are whole quads.
            unsafe { load_quad(self.values, pixel as usize * self.channels as usize + index.channel as usize) }
        } else {
            [0.0; 4]
        }
    }
}

/// `[side² · n_inputs, n_outputs]`: the weights as they are stored.
#[derive(Clone, Copy)]
pub(super) struct Weights {
    weights: *const f32,
    depths: u32,
    n_outputs: u32,
}

impl Weights {
    #[device_inline]
    pub fn new(layer: &Product) -> Self {
        let depths = layer.side * layer.side * layer.n_inputs;
        Self { weights: layer.weights, depths, n_outputs: layer.n_outputs }
    }
}

impl Operand for Weights {
    const ALONG_DEPTH: bool = false;
    type Own = u32;
    type DepthIndex = u32;

    #[device_inline]
    fn own(&self, outer: u32) -> u32 {
        outer
    }

    #[device_inline]
    fn depth_index(&self, depth: u32) -> u32 {
        depth
    }

    #[device_inline]
    fn advance(&self, index: &mut u32, by: u32) {
        *index += by;
    }

    #[device_inline]
    #[track_caller]
    unsafe fn quad(&self, own: &u32, index: &u32) -> [f32; 4] {
        if *own < self.n_outputs && *index < self.depths {
            // SAFETY: inside the weights, whose lines are whole quads.
            unsafe { load_quad(self.weights, *index as usize * self.n_outputs as usize + *own as usize) }
        } else {
            [0.0; 4]
        }
    }
}

/// `[side² · n_outputs, n_inputs]`: the weights of the taps in reverse order, transposed.
#[derive(Clone, Copy)]
pub(super) struct Turned {
    weights: *const f32,
    n_taps: u32,
    n_inputs: u32,
    n_outputs: u32,
}

impl Turned {
    #[device_inline]
    pub fn new(layer: &Product) -> Self {
        let Product { weights, side, n_inputs, n_outputs, .. } = *layer;
        Self { weights, n_taps: side * side, n_inputs, n_outputs }
    }
}

/// An index along the depth: tap and output channel.
#[derive(Clone, Copy)]
pub(super) struct Output {
    tap: u32,
    channel: u32,
}

impl Operand for Turned {
    const ALONG_DEPTH: bool = true;
    type Own = u32;
    type DepthIndex = Output;

    #[device_inline]
    fn own(&self, outer: u32) -> u32 {
        outer
    }

    #[device_inline]
    fn depth_index(&self, depth: u32) -> Output {
        Output { tap: depth / self.n_outputs, channel: depth % self.n_outputs }
    }

    #[device_inline]
    fn advance(&self, index: &mut Output, by: u32) {
        index.channel += by;
        while index.channel >= self.n_outputs {
            index.channel -= self.n_outputs;
            index.tap += 1;
        }
    }

    #[device_inline]
    #[track_caller]
    unsafe fn quad(&self, own: &u32, index: &Output) -> [f32; 4] {
        if *own < self.n_inputs && index.tap < self.n_taps {
            let line = (self.n_taps - 1 - index.tap) * self.n_inputs + *own;
            // SAFETY: inside the weights, whose lines are whole quads.
            unsafe { load_quad(self.weights, line as usize * self.n_outputs as usize + index.channel as usize) }
        } else {
            [0.0; 4]
        }
    }
}

/// `[side² · n_inputs + 4, pixels]`: for each tap and input channel the inputs moved by the tap; then a row of ones and three of zeros.
#[derive(Clone, Copy)]
pub(super) struct Shifted {
    inputs: *const f32,
    /// The first pixel that is not there.
    to: u32,
    rows: u32,
    columns: u32,
    side: u32,
    n_inputs: u32,
}

impl Shifted {
    #[device_inline]
    pub fn new(layer: &Product, to: u32) -> Self {
        let Product { inputs, rows, columns, side, n_inputs, .. } = *layer;
        Self { inputs, to, rows, columns, side, n_inputs }
    }
}

/// Four rows: channels of one tap.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    /// The tap's way from the middle; beyond any board for rows that are not there.
    down: i32,
    right: i32,
    channel: u32,
    /// Whether it is the row of ones.
    ones: bool,
}

/// A pixel and where it is on its board.
#[derive(Clone, Copy)]
pub(super) struct Square {
    pixel: u32,
    row: u32,
    column: u32,
}

impl Operand for Shifted {
    const ALONG_DEPTH: bool = false;
    type Own = Rows;
    type DepthIndex = Square;

    #[device_inline]
    fn own(&self, outer: u32) -> Rows {
        let (tap, channel) = (outer / self.n_inputs, outer % self.n_inputs);
        let n_taps = self.side * self.side;
        let reach = (self.side / 2) as i32;
        let (down, right) = ((tap / self.side) as i32 - reach, (tap % self.side) as i32 - reach);
        let ones = outer == n_taps * self.n_inputs;
        // Boards have at most 2^15 rows.
        Rows { down: if tap < n_taps { down } else { 1 << 20 }, right, channel, ones }
    }

    #[device_inline]
    fn depth_index(&self, depth: u32) -> Square {
        let cell = depth % (self.rows * self.columns);
        Square { pixel: depth, row: cell / self.columns, column: cell % self.columns }
    }

    #[device_inline]
    fn advance(&self, index: &mut Square, by: u32) {
        index.pixel += by;
        index.column += by;
        while index.column >= self.columns {
            index.column -= self.columns;
            index.row += 1;
            if index.row == self.rows {
                index.row = 0;
            }
        }
    }

    #[device_inline]
    #[track_caller]
    unsafe fn quad(&self, own: &Rows, index: &Square) -> [f32; 4] {
        // Below 0 it wraps to far beyond the board.
        let row = index.row.wrapping_add_signed(own.down);
        let column = index.column.wrapping_add_signed(own.right);
        if index.pixel < self.to && row < self.rows && column < self.columns {
            let pixel = index.pixel.wrapping_add_signed(own.down * self.columns as i32 + own.right);
            // SAFETY: the square is on the board, so its pixel exists; the channel is below their number, and lines are whole quads.
            unsafe { load_quad(self.inputs, pixel as usize * self.n_inputs as usize + own.channel as usize) }
        } else if own.ones && index.pixel < self.to {
            [1.0, 0.0, 0.0, 0.0]
        } else {
            [0.0; 4]
        }
    }
}

/// `[pixels, n_outputs]`: the gradient of the outputs as it is stored.
#[derive(Clone, Copy)]
pub(super) struct Gradient {
    gradient: *const f32,
    /// The first pixel that is not there.
    to: u32,
    n_outputs: u32,
}

impl Gradient {
    #[device_inline]
    pub fn new(layer: &Product, to: u32) -> Self {
        Self { gradient: layer.output_gradient, to, n_outputs: layer.n_outputs }
    }
}

impl Operand for Gradient {
    const ALONG_DEPTH: bool = false;
    type Own = u32;
    type DepthIndex = u32;

    #[device_inline]
    fn own(&self, outer: u32) -> u32 {
        outer
    }

    #[device_inline]
    fn depth_index(&self, depth: u32) -> u32 {
        depth
    }

    #[device_inline]
    fn advance(&self, index: &mut u32, by: u32) {
        *index += by;
    }

    #[device_inline]
    #[track_caller]
    unsafe fn quad(&self, own: &u32, index: &u32) -> [f32; 4] {
        if *own < self.n_outputs && *index < self.to {
            // SAFETY: inside the gradient, whose lines are whole quads.
            unsafe { load_quad(self.gradient, *index as usize * self.n_outputs as usize + *own as usize) }
        } else {
            [0.0; 4]
        }
    }
}
