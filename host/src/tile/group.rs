//! Several products of one depth in a launch.

use warpplay_gpu::cuda::tensor_map::TensorMap;
use warpplay_gpu::tile::group;
use warpplay_gpu::tile::task::{GroupTaskArgs, Member};

use super::core::{Kernels, Shape};
use super::engine::Engine;
use super::size::Tile;
use crate::runtime::tensor_map::Values;
use crate::{Buffer, Error, InOut, Result, Stream};

/// Launches one of the kernels on so many multiprocessors.
type Launch = Box<dyn Fn(&Stream, u32, GroupTaskArgs<'_>) -> Result<()> + Send + Sync>;

/// A product of a group: its sizes, its operands with the first value of each, and the first value of its C in that of the group.
pub(crate) struct OfGroup<'a> {
    pub shape: Shape,
    pub a: (&'a Buffer<u16>, usize),
    pub b: (&'a Buffer<u16>, usize),
    pub c: usize,
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
    /// [`Error::Option`] for a size or stride that is not allowed, for another engine than [`Engine::Wgmma`], and for products of different depth, parts of B or format; [`Error::Shape`] for a buffer that is too short; errors of the device.
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
        let (mut maps, mut members, mut c_len) = (Vec::new(), Vec::new(), 0);
        for &OfGroup { shape, a, b, c } in products {
            shape.check(engine)?;
            if (shape.values, shape.k, shape.b.parts) != (first.values, first.k, first.b.parts) {
                let of = |shape: &Shape| format!("{:?}, {}, {}", shape.values, shape.k, shape.b.parts);
                return Err(Error::option(
                    "format, depth, parts of B",
                    of(&shape),
                    format!("{} as the first of the group", of(&first)),
                ));
            }
            let Shape { m, n, c_stride, c_part_stride, division, factor, .. } = shape;
            maps.extend(shape.maps(tile, a, b)?);
            members.push(Member {
                c: c as u64,
                c_part_stride,
                m,
                n,
                c_stride,
                division,
                a_parts: shape.a.parts,
                factor,
            });
            let divisions = u64::from(shape.divisions() - 1) * c_part_stride;
            c_len = c_len.max(c + divisions as usize + m as usize * c_stride as usize);
        }
        macro_rules! launch {
            ($($precision:ident, $tile:ident, $kernel:ident;)*) => {
                match (first.values, tile, products.iter().all(|product| product.shape.a.by_depth && product.shape.b.by_depth)) {
                    $((Values::$precision, Tile::$tile, true) => {
                        let function = module.function(group::$kernel)?;
                        let launch = move |stream: &Stream, multiprocessors: u32, task: GroupTaskArgs<'_>| {
                            // SAFETY: the maps are of this kernel's tile and of the operands of the members, which `Group` holds together; the products' C lie apart, as their maker sees to.
                            unsafe { stream.run_unchecked_with(&function, (multiprocessors,), (task,)) }
                        };
                        Box::new(launch) as Launch
                    })*
                    (values, ..) => return Err(Error::option("operands of a group", format!("{values:?}"), "bf16 and f16, depth by depth")),
                }
            };
        }
        let launch = launch! {
            Bf16, Rows128Columns128, tile_wgmma_bf16_128_ab_group;
            Bf16, Rows64Columns64, tile_wgmma_bf16_64_single_ab_group;
            F16, Rows128Columns128, tile_wgmma_f16_128_ab_group;
            F16, Rows64Columns64, tile_wgmma_f16_64_single_ab_group;
        };
        Ok(Self {
            maps: stream.upload(&maps)?,
            members: stream.upload(&members)?,
            k: first.k,
            b_parts: first.b.parts,
            n_tiles: u32::try_from(n_tiles(tile))
                .map_err(|_| Error::shape("tiles of a group", u32::MAX, n_tiles(tile)))?,
            c_len,
            multiprocessors,
            launch,
        })
    }

    /// Queues all products. The operands are still where they were.
    ///
    /// # Errors
    /// [`Error::Shape`] for a C that is too short; errors of the device.
    pub fn run(&self, stream: &Stream, c: InOut<'_, f32>, overflow: InOut<'_, u32>) -> Result<()> {
        let Self { maps, members, k, b_parts, n_tiles, c_len, multiprocessors, launch } = self;
        let (maps, n_members) = (maps.view(), members.len() as u32);
        let (k, b_parts, n_tiles, c_len) = (*k, *b_parts, *n_tiles, *c_len);
        let task = GroupTaskArgs { maps, members: members.view(), c, overflow, k, b_parts, n_members, n_tiles, c_len };
        launch(stream, *multiprocessors, task)
    }
}
