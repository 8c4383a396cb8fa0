//! Several products of one depth in a launch.

use warpplay_gpu::cuda::tensor_map::TensorMap;
use warpplay_gpu::tile::group;
use warpplay_gpu::tile::task::{GroupTaskArgs, Member};
use warpplay_gpu::tile::update::UpdateArgs;

use super::core::{Kernels, Shape};
use super::engine::Engine;
use super::size::Tile;
use crate::runtime::tensor_map::Values;
use crate::{Buffer, Error, InOut, Result, Stream};

type Products = Box<dyn Fn(&Stream, u32, (GroupTaskArgs<'_>,)) -> Result<()> + Send + Sync>;
type Updates = Box<dyn Fn(&Stream, u32, (GroupTaskArgs<'_>, UpdateArgs<'_>)) -> Result<()> + Send + Sync>;

/// Launches one of the kernels on so many multiprocessors.
enum Launch {
    Products(Products),
    Updates(Updates),
}

/// A product of a group: its sizes, its operands with the first value of each, and the first value of its C in that of the group; of an updated C, also that of its copy in the copies'.
pub(crate) struct OfGroup<'a> {
    pub shape: Shape,
    pub a: (&'a Buffer<u16>, usize),
    pub b: (&'a Buffer<u16>, usize),
    pub c: usize,
    pub copy: usize,
}

/// Products that are launched together. Both operands of each lie depth by depth, and C is of single precision.
pub(crate) struct Group {
    maps: Buffer<TensorMap>,
    members: Buffer<Member>,
    k: u32,
    b_parts: u32,
    n_tiles: u32,
    /// Values of all C.
    c_len: usize,
    /// Parts of the copies of updated C, and values from one to the next; values of all.
    c_parts: u32,
    c_short_part_stride: u64,
    c_short_len: usize,
    multiprocessors: u32,
    launch: Launch,
}

/// Most tiles of 128 × 128 of a group: with more, each product fills a large GPU by itself several times, and larger tiles are faster. It does not depend on the device, since the bits could.
const MOST_TILES: u64 = 4 * 132;

impl Group {
    /// Whether products should be launched together, and there are kernels for that.
    pub fn pays(kernels: &Kernels, shapes: &[Shape]) -> bool {
        kernels.engine == Engine::Wgmma
            && shapes.iter().map(|shape| shape.n_tiles(Tile::Rows128Columns128)).sum::<u64>() <= MOST_TILES
    }

    /// Checks the sizes and finds the kernel.
    ///
    /// # Errors
    /// [`Error::Option`] for a size or stride that is not allowed, for another engine than [`Engine::Wgmma`], and for products of different depth, parts of B or format, or of which some are updated; [`Error::Shape`] for a buffer that is too short; errors of the device.
    pub fn new(stream: &Stream, kernels: &Kernels, products: &[OfGroup<'_>]) -> Result<Self> {
        let Kernels { module, engine, shares, multiprocessors } = kernels;
        let (engine, multiprocessors) = (*engine, *multiprocessors);
        if engine != Engine::Wgmma {
            return Err(Error::option("engine", engine, format!("{} for groups of products", Engine::Wgmma)));
        }
        let Some(first) = products.first().map(|product| product.shape) else {
            return Err(Error::shape("products of a group", "at least 1", 0));
        };
        let n_tiles = |tile: Tile| products.iter().map(|product| product.shape.n_tiles(tile)).sum::<u64>();
        let tiles = [Tile::Rows128Columns128, Tile::Rows64Columns64];
        let tile = Tile::fastest(*shares, &tiles, n_tiles, multiprocessors);
        let (mut maps, mut members, mut c_len, mut c_short_len) = (Vec::new(), Vec::new(), 0, 0);
        for &OfGroup { shape, a, b, c, copy } in products {
            shape.check(engine)?;
            let alike = |of: &Shape| (of.values, of.k, of.b.parts, of.updates.map(|_| (of.c_parts, of.c_part_stride)));
            if alike(&shape) != alike(&first) {
                let of = |shape: &Shape| format!("{:?}", alike(shape));
                return Err(Error::option(
                    "format, depth, parts of B, copy of an updated C",
                    of(&shape),
                    format!("{} as the first of the group", of(&first)),
                ));
            }
            let Shape { m, n, c_stride, c_part_stride, division, factor, updates, .. } = shape;
            maps.extend(shape.maps(tile, a, b)?);
            members.push(Member {
                c: c as u64,
                c_part_stride,
                c_short: copy as u64,
                c_short_stride: updates.unwrap_or(c_stride),
                m,
                n,
                c_stride,
                division,
                a_parts: shape.a.parts,
                factor,
                reserved: 0,
            });
            let divisions = u64::from(shape.divisions() - 1) * c_part_stride;
            c_len = c_len.max(c + divisions as usize + m as usize * c_stride as usize);
            if updates.is_some() && !c.is_multiple_of(4) {
                return Err(Error::option("first value of an updated C", c, "a multiple of 4"));
            }
            if let Some(copy_stride) = updates {
                let parts = u64::from(shape.c_parts - 1) * c_part_stride;
                c_short_len = c_short_len.max(copy + parts as usize + m as usize * copy_stride as usize);
            }
        }
        macro_rules! launch {
            ($of:ident, $arguments:ty; $($precision:ident, $tile:ident, $kernel:ident;)*) => {
                match (first.values, tile, products.iter().all(|product| product.shape.a.by_depth && product.shape.b.by_depth)) {
                    $((Values::$precision, Tile::$tile, true) => {
                        let function = module.function(group::$kernel)?;
                        let launch = move |stream: &Stream, multiprocessors: u32, arguments: $arguments| {
                            // SAFETY: the maps are of this kernel's tile and of the operands of the members, which `Group` holds together; the products' C lie apart, as their maker sees to, and with an update they and what is remembered of them begin at multiples of 16 bytes.
                            unsafe { stream.run_unchecked_with(&function, (multiprocessors,), arguments) }
                        };
                        Launch::$of(Box::new(launch))
                    })*
                    (values, ..) => return Err(Error::option("operands of a group", format!("{values:?}"), "bf16, and f16 without an update, depth by depth")),
                }
            };
        }
        let launch = match first.updates {
            None => launch! {
                Products, (GroupTaskArgs<'_>,);
                Bf16, Rows128Columns128, tile_wgmma_bf16_128_ab_group;
                Bf16, Rows64Columns64, tile_wgmma_bf16_64_single_ab_group;
                F16, Rows128Columns128, tile_wgmma_f16_128_ab_group;
                F16, Rows64Columns64, tile_wgmma_f16_64_single_ab_group;
            },
            Some(_) => launch! {
                Updates, (GroupTaskArgs<'_>, UpdateArgs<'_>);
                Bf16, Rows128Columns128, tile_wgmma_bf16_128_ab_group_update;
                Bf16, Rows64Columns64, tile_wgmma_bf16_64_single_ab_group_update;
            },
        };
        Ok(Self {
            maps: stream.upload(&maps)?,
            members: stream.upload(&members)?,
            k: first.k,
            b_parts: first.b.parts,
            n_tiles: u32::try_from(n_tiles(tile))
                .map_err(|_| Error::shape("tiles of a group", u32::MAX, n_tiles(tile)))?,
            c_len,
            c_parts: first.c_parts,
            c_short_part_stride: first.c_part_stride,
            c_short_len,
            multiprocessors,
            launch,
        })
    }

    /// Queues all products, whose C are not updated. The operands are still where they were.
    ///
    /// # Errors
    /// [`Error::Shape`] for a C that is too short; [`Error::Option`] for products that update; errors of the device.
    pub fn run(&self, stream: &Stream, c: InOut<'_, f32>, overflow: InOut<'_, u32>) -> Result<()> {
        match &self.launch {
            Launch::Products(launch) => launch(stream, self.multiprocessors, (self.task(c, InOut::none(), overflow),)),
            Launch::Updates(_) => Err(Error::option("update", true, "false without an optimiser")),
        }
    }

    /// Queues all products, by which their C are updated, and copied to `copies` where these are there. The operands are still where they were.
    ///
    /// # Errors
    /// As [`run`](Self::run); [`Error::Option`] for products that do not update.
    pub fn run_update(
        &self,
        stream: &Stream,
        c: InOut<'_, f32>,
        copies: InOut<'_, u16>,
        update: UpdateArgs<'_>,
    ) -> Result<()> {
        match &self.launch {
            Launch::Products(_) => Err(Error::option("update", false, "true for products that are to update")),
            Launch::Updates(launch) => {
                launch(stream, self.multiprocessors, (self.task(c, copies, InOut::none()), update))
            }
        }
    }

    fn task<'a>(&'a self, c: InOut<'a, f32>, c_short: InOut<'a, u16>, overflow: InOut<'a, u32>) -> GroupTaskArgs<'a> {
        let Self { maps, members, k, b_parts, n_tiles, c_len, c_parts, c_short_part_stride, c_short_len, .. } = self;
        GroupTaskArgs {
            maps: maps.view(),
            members: members.view(),
            c,
            c_short,
            c_short_part_stride: *c_short_part_stride,
            overflow,
            k: *k,
            b_parts: *b_parts,
            n_members: members.len() as u32,
            n_tiles: *n_tiles,
            c_parts: *c_parts,
            reserved: 0,
            c_len: *c_len,
            c_short_len: *c_short_len,
        }
    }
}
