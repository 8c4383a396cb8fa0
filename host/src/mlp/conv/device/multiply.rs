//! Products with their operands.

use crate::tile::{Convolution, Epilogue, FilterGradient, Operands, Output, Product, ProductBuilder, bf16};
use crate::{Buffer, Device, Result, Stream};

/// What is multiplied.
enum Kind {
    Matrices(Product<bf16>),
    Images(Convolution<bf16>),
    Filters(FilterGradient<bf16>),
}

/// A product and what it reads.
pub(super) struct Multiply {
    kind: Kind,
    operands: Operands<bf16>,
}

/// Blocks that share the depth of a gradient with few tiles.
const SHARES: u32 = 128;

/// Depths of a division, and divisions, of a product of `depth` depths whose C has `m` rows and `n` columns: enough blocks for a large GPU.
pub(super) fn division([m, n]: [u32; 2], depth: u32) -> (u32, u32) {
    let tiles = m.div_ceil(128) * n.div_ceil(128);
    let division = depth.div_ceil((SHARES / tiles).max(1)).next_multiple_of(64);
    (division, depth.div_ceil(division))
}

impl Multiply {
    /// Of matrices.
    pub fn matrices(stream: &Stream, product: ProductBuilder<bf16>, [a, b]: [&Buffer<bf16>; 2]) -> Result<Self> {
        let product = product.build(stream.device())?;
        let operands = product.operands(stream, a, b)?;
        Ok(Self { kind: Kind::Matrices(product), operands })
    }

    /// Images with filters.
    pub fn images(
        stream: &Stream,
        build: impl FnOnce(&Device) -> Result<Convolution<bf16>>,
        [images, filters]: [&Buffer<bf16>; 2],
    ) -> Result<Self> {
        let convolution = build(stream.device())?;
        let operands = convolution.operands(stream, images, filters)?;
        Ok(Self { kind: Kind::Images(convolution), operands })
    }

    /// The gradient of filters.
    pub fn filters(
        stream: &Stream,
        build: impl FnOnce(&Device) -> Result<FilterGradient<bf16>>,
        [gradient, images]: [&Buffer<bf16>; 2],
    ) -> Result<Self> {
        let filters = build(stream.device())?;
        let operands = filters.operands(stream, gradient, images)?;
        Ok(Self { kind: Kind::Filters(filters), operands })
    }

    /// Queues it; gradients of filters have no epilogue.
    pub fn run<C: Output<bf16>>(&self, stream: &Stream, epilogue: Epilogue<'_, bf16>, c: &mut Buffer<C>) -> Result<()> {
        match &self.kind {
            Kind::Matrices(product) => product.run(stream, &self.operands, epilogue, c),
            Kind::Images(convolution) => convolution.run(stream, &self.operands, epilogue, c),
            Kind::Filters(filters) => filters.run(stream, &self.operands, c),
        }
    }
}
