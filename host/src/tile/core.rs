//! A product with its kernel, whatever the type of its numbers: what [`Product`](super::Product) and the layers of networks launch.

use warpplay_gpu::cuda::tensor_map::TensorMap;
use warpplay_gpu::ptx::embedded::{TILE_MMA, TILE_PLAIN, TILE_WGMMA};
use warpplay_gpu::tile::task::{MAX_PARTS, MOMENT_ROWS, ProductTaskArgs, activation, n_pairs};
use warpplay_gpu::tile::update::UpdateArgs;
use warpplay_gpu::tile::wgmma::{self, GROUP_ROWS};

use super::choice::shared_split;
use super::engine::{Engine, Launch};
use super::shares::Shares;
use super::size::{CLUSTERS, Tile};
use super::update::{self, UpdateLaunch};
use super::{mma, moments, plain};
use crate::runtime::tensor_map::{Matrix, Pixels, Values, image_map, tensor_map};
use crate::{Backend, Buffer, Device, Error, In, InOut, LaunchShape, Module, Precision, Result, Stream};

/// How an operand lies: `[parts][rows or columns][stride]`, or `[parts][k][stride]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Lie {
    /// Whether it lies depth by depth.
    pub by_depth: bool,
    /// Values from a row, column or depth to the next.
    pub stride: u32,
    pub parts: u32,
    /// Values from a part to the next.
    pub part_stride: u64,
}

/// Images that are the rows of A, and filters that are the columns of B; or, depth by depth, images that are B.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Images {
    /// Rows of an image.
    pub height: u32,
    /// Pixels of a row.
    pub width: u32,
    /// Taps of a filter's row and column: 1, 3, 5 or 7.
    pub side: u32,
    /// Channels of a pixel.
    pub channels: u32,
}

impl Lie {
    /// `lines` lines, each a row, column, pixel or depth, in parts that follow each other.
    pub const fn of_lines(by_depth: bool, lines: u32, stride: u32, parts: u32) -> Self {
        Self { by_depth, stride, parts, part_stride: lines as u64 * stride as u64 }
    }
}

/// Rows of A that are gathered, or bytes, or both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Gathered {
    /// Rows of A; `None` where they are those of C.
    pub a_rows: Option<u32>,
    /// Whether A is of bytes.
    pub bytes: bool,
}

/// What is multiplied, and what becomes of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shape {
    pub values: Values,
    pub m: u32,
    pub n: u32,
    /// Of images, their channels.
    pub k: u32,
    /// `None` for matrices. Else, of operands row by row, A is images and B filters `[n][taps][channels]`: `m` counts pixels, and the depth is not divided; parts of the filters are whole taps apart. Of operands depth by depth, B is images: `k` counts pixels, `n` taps times channels, which are rounded up to a multiple of
    /// [`COLUMNS`](warpplay_gpu::tile::images::COLUMNS).
    pub images: Option<Images>,
    pub a: Lie,
    pub b: Lie,
    /// `None` for rows of A as they lie, of the operands' format.
    pub gathered: Option<Gathered>,
    pub c_stride: u32,
    /// Of a C of 16 bits, or of the copy where C is updated.
    pub c_parts: u32,
    /// Values from a part or division of C to the next; where C is updated, of its copy.
    pub c_part_stride: u64,
    pub mask_stride: u32,
    /// Depths of a division.
    pub division: u32,
    pub factor: f32,
    pub rectifier: bool,
    /// Whether moments of the columns of C are made too.
    pub moments: bool,
    /// Where the product is the gradient of C, which an optimiser updates, values from a row of the copy of C to the next.
    pub updates: Option<u32>,
}

/// Largest number of rows, columns or depths; so a C has fewer tiles than 32 bits count, since it fits into memory.
pub(crate) const MAX_SIZE: u32 = 1 << 24;
/// Longest stride.
const MAX_STRIDE: u32 = 1 << 26;

/// Tiles of images that lie depth by depth.
const OF_FILTERS: [Tile; 3] = [Tile::Rows128Columns192, Tile::Rows128Columns128, Tile::Rows64Columns64];

impl Shape {
    /// Bytes of an operand's value.
    const fn value_bytes(&self) -> u32 {
        self.values.bytes()
    }

    /// Bytes of a value of A.
    const fn a_bytes(&self) -> u32 {
        match self.gathered {
            Some(Gathered { bytes: true, .. }) => 1,
            _ => self.value_bytes(),
        }
    }

    /// Rows of A, for `m` of the product.
    fn a_rows(&self, m: u32) -> u32 {
        self.gathered.and_then(|gathered| gathered.a_rows).unwrap_or(m)
    }

    /// Taps of a filter; 1 of matrices.
    const fn taps(&self) -> u32 {
        match self.images {
            Some(Images { side, .. }) => side * side,
            None => 1,
        }
    }

    /// Values from a tap of a filter to the next.
    const fn tap_stride(&self) -> u32 {
        self.b.stride / self.taps()
    }

    /// What the kernels call so: filters have taps for layers.
    const fn b_part_layers(&self) -> u32 {
        match self.images {
            Some(Images { side: 2.., .. }) if !self.b.by_depth => {
                (self.b.part_stride / self.tap_stride() as u64) as u32
            }
            _ => 1,
        }
    }

    /// Depths of a slab.
    pub const fn slab(&self) -> u32 {
        TensorMap::ROW_BYTES / self.value_bytes()
    }

    pub fn precision(&self, engine: Engine) -> Precision {
        match self.values {
            Values::F32 if engine == Engine::Plain => Precision::F32,
            Values::F16 => Precision::F16,
            Values::Bf16 => Precision::Bf16,
            Values::U8 => Precision::E4m3,
            Values::F32 => Precision::Tf32,
        }
    }

    /// # Errors
    /// [`Error::Option`] for what is not allowed.
    pub(super) fn check(&self, engine: Engine) -> Result<()> {
        let Self { m, n, k, a, b, c_stride, c_parts, division, .. } = *self;
        let a_rows = self.a_rows(m);
        for (name, size) in [("m", m), ("n", n), ("k", k), ("a_rows", a_rows)] {
            if !(1..=MAX_SIZE).contains(&size) {
                return Err(Error::option(name, size, format!("1 to {MAX_SIZE}")));
            }
        }
        if let Some(gathered) = self.gathered {
            let name = if gathered.bytes { "bytes" } else { "gathered" };
            if engine == Engine::Wgmma {
                return Err(Error::option("engine", engine, format!("{} with {name}", Engine::Mma)));
            }
            if a.by_depth || b.by_depth {
                return Err(Error::option(name, true, "false where an operand lies by depth"));
            }
            if gathered.bytes && a.parts > 1 {
                return Err(Error::option("a_parts", a.parts, "1 where A is of bytes"));
            }
        }
        for ([stride, part_stride, parts, by_depth], lie, rows) in [
            (["a_stride", "a_part_stride", "a_parts", "a_by_depth"], a, a_rows),
            (["b_stride", "b_part_stride", "b_parts", "b_by_depth"], b, n),
        ] {
            let bytes = if stride == "a_stride" { self.a_bytes() } else { self.value_bytes() };
            let step = 16 / bytes;
            // A column of B has all taps of a filter; its depth is a pixel of images.
            let k = if stride == "b_stride" && !lie.by_depth { k * self.taps() } else { k };
            let rows = match self.images {
                Some(images) if stride == "b_stride" && lie.by_depth => images.channels,
                _ => rows,
            };
            let precision = self.precision(engine);
            if lie.by_depth && matches!(precision, Precision::Tf32 | Precision::E4m3) {
                let allowed =
                    format!("false for {precision}: bf16 and f16 may lie so, and f32 that is multiplied as f32");
                return Err(Error::option(by_depth, true, allowed));
            }
            let (least, lines) = if lie.by_depth { (rows, k) } else { (k, rows) };
            if lie.stride < least || lie.stride > MAX_STRIDE || !lie.stride.is_multiple_of(step) {
                let least = least.next_multiple_of(step);
                let allowed = format!("a multiple of {step} values, which are 16 bytes, from {least} to {MAX_STRIDE}");
                return Err(Error::option(stride, lie.stride, allowed));
            }
            let most = if self.value_bytes() == 2 { MAX_PARTS } else { 1 };
            if !(1..=most).contains(&lie.parts) {
                return Err(Error::option(parts, lie.parts, format!("1 to {most} in {precision}")));
            }
            let whole = u64::from(lines) * u64::from(lie.stride);
            let most = (1u64 << 40) / u64::from(bytes) - 1;
            if lie.part_stride < whole || lie.part_stride > most || !lie.part_stride.is_multiple_of(step.into()) {
                let allowed =
                    format!("a multiple of {step} values, from {whole} to {most}: rows or depths times the stride");
                return Err(Error::option(part_stride, lie.part_stride, allowed));
            }
        }
        if self.images.is_some() && !b.by_depth && !b.part_stride.is_multiple_of(self.tap_stride().into()) {
            let allowed = format!("a multiple of {}, the values from a tap to the next", self.tap_stride());
            return Err(Error::option("b_part_stride", b.part_stride, allowed));
        }
        if c_stride < n || c_stride > MAX_STRIDE {
            return Err(Error::option("c_stride", c_stride, format!("{n} to {MAX_STRIDE}")));
        }
        if !(1..=MAX_PARTS).contains(&c_parts) {
            return Err(Error::option("c_parts", c_parts, format!("1 to {MAX_PARTS}")));
        }
        if division == 0 || division < k && !division.is_multiple_of(self.slab()) {
            let allowed = format!("a multiple of {}, or k and more", self.slab());
            return Err(Error::option("division", division, allowed));
        }
        if !self.factor.is_finite() {
            return Err(Error::option("factor", self.factor, "a finite number"));
        }
        if division < k && self.rectifier {
            return Err(Error::option("rectifier", true, "false where the depth is divided"));
        }
        if self.moments && (division < k || c_parts > 1 || a.by_depth || b.by_depth) {
            let allowed = "false where the depth is divided, C has parts or an operand lies by depth";
            return Err(Error::option("moments", true, allowed));
        }
        if self.moments && (engine != Engine::Wgmma || self.value_bytes() != 2) {
            let allowed = format!("false for {} by engine {engine}: bf16 and f16 by wgmma", self.precision(engine));
            return Err(Error::option("moments", true, allowed));
        }
        if let Some(copy_stride) = self.updates {
            self.check_update(copy_stride)?;
        }
        for (name, size) in [("n", n), ("c_stride", c_stride)] {
            if self.moments && !size.is_multiple_of(4) {
                return Err(Error::option(name, size, "a multiple of 4 with moments, of 8 for C in 16 bits"));
            }
        }
        Ok(())
    }

    /// What a product that updates C cannot have.
    ///
    /// # Errors
    /// [`Error::Option`].
    fn check_update(&self, copy_stride: u32) -> Result<()> {
        let Shape { values, n, k, c_stride, c_parts, division, rectifier, moments, gathered, a, b, .. } = *self;
        for (name, is_asked) in [
            ("division", division < k),
            ("rectifier", rectifier),
            ("moments", moments),
            ("gathered", gathered.is_some_and(|gathered| !gathered.bytes)),
            ("bytes", gathered.is_some_and(|gathered| gathered.bytes)),
        ] {
            if is_asked {
                return Err(Error::option(name, "given", "none where C is updated"));
            }
        }
        let [is_short, by_depth] = [matches!(values, Values::Bf16 | Values::F16), a.by_depth];
        if values == Values::U8 || a.by_depth != b.by_depth || is_short && !by_depth {
            let allowed = "false but for A and B by depth in bf16 and f16, row by row in tf32, and either in f32";
            return Err(Error::option("update", true, allowed));
        }
        if !c_stride.is_multiple_of(4) {
            return Err(Error::option("c_stride", c_stride, "a multiple of 4 where C is updated"));
        }
        if copy_stride < n || copy_stride > MAX_STRIDE {
            return Err(Error::option("copy_stride", copy_stride, format!("{n} to {MAX_STRIDE}")));
        }
        if c_parts > 1 && values == Values::F32 {
            return Err(Error::option("c_parts", c_parts, "1 where C of f32 operands is updated: it has no copy"));
        }
        Ok(())
    }

    /// The maps of the operands for tiles of this size, from value `a.1` and `b.1` of their buffers on.
    ///
    /// # Errors
    /// As [`Core::maps`].
    pub(super) fn maps<T>(
        &self,
        tile: Tile,
        (a, first_a): (&Buffer<T>, usize),
        (b, first_b): (&Buffer<T>, usize),
    ) -> Result<Vec<TensorMap>> {
        let Self { values, m, n, k, .. } = *self;
        let [rows, columns] = tile.size();
        let matrix = |lie: Lie, first, size, of_tile| {
            let Lie { by_depth, stride, parts, part_stride } = lie;
            let (width, height, rows) = if by_depth { (size, k, GROUP_ROWS) } else { (k, size, of_tile) };
            Matrix { values, first, width, height, stride, parts, part_stride, rows }
        };
        if let Some(images) = self.images.filter(|images| images.side > 1) {
            let Images { height, width, side, channels } = images;
            let pixels = |lie: Lie, first: usize, part: u32, n: u32, pixels: u32| {
                let (images, stride, padding) = (n / (height * width), lie.stride, side / 2);
                let first = first + part as usize * lie.part_stride as usize;
                Pixels { values, first, channels, width, height, images, stride, padding, pixels }
            };
            let mut maps = Vec::new();
            if self.b.by_depth {
                let a = tensor_map("a", a, matrix(self.a, first_a, m, rows))?;
                for part in 0..self.b.parts {
                    maps.extend([a, image_map("b", b, pixels(self.b, first_b, part, k, GROUP_ROWS))?]);
                }
                return Ok(maps);
            }
            // The taps of a filter are layers; those of all filters lie one behind the other, so a part is so many layers further on.
            let (parts, part_stride) =
                ((self.b.parts - 1) * self.b_part_layers() + side * side, self.tap_stride().into());
            let b = tensor_map("b", b, matrix(Lie { parts, part_stride, ..self.b }, first_b, n, columns))?;
            for part in 0..self.a.parts {
                maps.extend([image_map("a", a, pixels(self.a, first_a, part, m, rows))?, b]);
            }
            return Ok(maps);
        }
        Ok(vec![
            tensor_map("a", a, matrix(self.a, first_a, m, rows))?,
            tensor_map("b", b, matrix(self.b, first_b, n, columns))?,
        ])
    }

    /// C of each of these depths lies behind that of the ones before.
    pub const fn divisions(&self) -> u32 {
        self.k.div_ceil(self.division)
    }

    /// Tiles of C, of all divisions.
    pub const fn n_tiles(&self, tile: Tile) -> u64 {
        let [rows, columns] = tile.size();
        self.m.div_ceil(rows) as u64 * self.n.div_ceil(columns) as u64 * self.divisions() as u64
    }

    /// Values of the moments of the columns of C, if they are made.
    pub const fn n_moments(&self) -> usize {
        if self.moments { 2 * self.m.div_ceil(MOMENT_ROWS) as usize * self.n as usize } else { 0 }
    }

    /// Whether an engine has a kernel with a tile.
    fn has_kernel(&self, engine: Engine, tile: Tile) -> bool {
        tile.reads(engine, self.values, [self.a.by_depth, self.b.by_depth])
            && (!self.moments || moments::has(tile))
            && (self.updates.is_none() || update::has(engine, self.values, tile, [self.a.by_depth, self.b.by_depth]))
            && (self.gathered.is_none() || matches!(tile, Tile::Rows128Columns128 | Tile::Rows64Columns64))
    }

    /// Slabs of a tile's depth, of all pairs of parts.
    pub(super) fn slabs(&self) -> u64 {
        u64::from(n_pairs(self.a.parts, self.b.parts)) * u64::from(self.k.min(self.division).div_ceil(self.slab()))
    }
}

/// What a product reads and writes.
pub(crate) struct Views<'a> {
    pub a: In<'a, u8>,
    pub b: In<'a, u8>,
    /// Which rows of A are multiplied, where they are gathered.
    pub rows: In<'a, u32>,
    pub bias: In<'a, f32>,
    /// Of C's format, or of the other; one of them at most.
    pub residual: In<'a, f32>,
    pub residual_short: In<'a, u16>,
    /// Numbers of 16 bits; of single precision for [`Engine::Plain`], from a multiple of 16 bytes on.
    pub mask: In<'a, u8>,
    pub c: InOut<'a, f32>,
    pub c_short: InOut<'a, u16>,
    pub overflow: InOut<'a, u32>,
    /// What sums are multiplied with as well, found on the device.
    pub found_factor: In<'a, f32>,
    /// Where the shape asks for them.
    pub moments: InOut<'a, f32>,
}

/// The kernels of a device, loaded once for many products.
pub(crate) struct Kernels {
    pub(super) module: Module,
    pub(super) engine: Engine,
    pub(super) shares: Shares,
    pub(super) multiprocessors: u32,
}

impl Kernels {
    /// Those of the engine that a device should multiply with in a precision, or of the one that is asked for.
    ///
    /// # Errors
    /// [`Error::Option`] for an engine that is not there; [`Error::Unsupported`] if the device has none; errors of the device.
    pub fn load(device: &Device, precision: Precision, engine: Option<Engine>) -> Result<Self> {
        let engine = Engine::choose(device, precision, engine)?;
        let set = match engine {
            Engine::Wgmma => &TILE_WGMMA,
            Engine::Mma => &TILE_MMA,
            Engine::Plain => &TILE_PLAIN,
        };
        let info = device.info()?;
        let shares = Shares::of(engine, info.compute_capability);
        Ok(Self { module: Module::lazy(device, set)?, engine, shares, multiprocessors: info.n_multiprocessors })
    }

    /// Those for images, which the copy engine reads.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the device has none; errors of the device.
    pub fn of_images(device: &Device, precision: Precision) -> Result<Self> {
        if Engine::convolves(device, precision)? {
            return Self::load(device, precision, Some(Engine::Wgmma));
        }
        Err(Error::Unsupported {
            what: format!("a convolution in {precision}"),
            backend: device.name(),
            remedy: "it needs a GPU of compute capability 9.0".into(),
        })
    }

    /// The tile that should be fastest, of those whose depth so many blocks share.
    pub fn fastest(&self, shape: &Shape, cluster: u32) -> Tile {
        let of_filters = shape.images.is_some() && shape.b.by_depth;
        let tiles: Vec<_> = Tile::ALL
            .iter()
            .copied()
            .filter(|&tile| shape.has_kernel(self.engine, tile))
            .filter(|tile| cluster == 1 || tile.is_shared(self.engine, shape.values))
            .filter(|tile| !of_filters || OF_FILTERS.contains(tile))
            // A matrix that is read once comes from memory, for which high tiles are no faster.
            .filter(|&tile| tile != Tile::Rows256Columns128 || shape.images.is_some() || shape.n > tile.size()[1])
            .collect();
        Tile::fastest(self.shares, &tiles, |tile| shape.n_tiles(tile), self.multiprocessors / cluster)
    }

    /// A tile and how many blocks share its depth, those that should be fastest.
    fn fastest_split(&self, shape: &Shape) -> (Tile, u32) {
        // The bits of an image do not depend on how many there are: its depth is not shared.
        let of_images = shape.images.is_some() && !shape.b.by_depth;
        let shared = || shared_split(|tile| shape.n_tiles(tile), shape.slabs(), self.multiprocessors);
        let is_shared = Tile::Rows64Columns64.is_shared(self.engine, shape.values)
            && !(of_images || shape.moments || shape.updates.is_some());
        is_shared.then(shared).flatten().unwrap_or_else(|| (self.fastest(shape, 1), 1))
    }
}

/// A launch of one cluster that shares the depth of a tile.
const fn one_cluster(tile: Tile, cluster: u32) -> LaunchShape {
    match tile {
        Tile::Rows128Columns128 => wgmma::one_cluster::<64, 2>(cluster),
        // The only other tile that is shared.
        _ => wgmma::one_cluster::<32, 1>(cluster),
    }
}

/// A product with its kernel.
pub(crate) struct Core {
    pub shape: Shape,
    pub engine: Engine,
    pub tile: Tile,
    /// Blocks that share the depth of a tile.
    pub cluster: u32,
    /// Blocks that run at a time: the device's multiprocessors, or those of the clusters that it runs at once.
    pub(super) multiprocessors: u32,
    launch: Kernel,
}

/// Launches the kernel.
enum Kernel {
    Product(Launch),
    Update(UpdateLaunch),
}

impl Core {
    /// Checks the sizes and finds the kernel. `tile`, and how many blocks share its depth: or else those that should be fastest; of a given tile one block.
    ///
    /// # Errors
    /// [`Error::Option`] for a size, stride, tile or cluster that is not allowed; errors of the device.
    pub fn new(kernels: &Kernels, shape: Shape, tile: Option<Tile>, cluster: Option<u32>) -> Result<Self> {
        let Kernels { ref module, engine, mut multiprocessors, .. } = *kernels;
        shape.check(engine)?;
        let by_depth = [shape.a.by_depth, shape.b.by_depth];
        if let Some(cluster) = cluster.filter(|cluster| !CLUSTERS.contains(cluster)) {
            let allowed = CLUSTERS.map(|cluster| cluster.to_string()).join(", ");
            return Err(Error::option("cluster", cluster, allowed));
        }
        let (tile, cluster) = match (tile, cluster) {
            (None, None) => kernels.fastest_split(&shape),
            (None, Some(cluster)) => (kernels.fastest(&shape, cluster), cluster),
            (Some(tile), cluster) => (tile, cluster.unwrap_or(1)),
        };
        let refused = || {
            let lie = if by_depth == [false; 2] { "" } else { " for operands that lie depth by depth" };
            let allowed = Tile::ALL.iter().filter(|&&tile| shape.has_kernel(engine, tile)).map(|tile| tile.name());
            let allowed = allowed.collect::<Vec<_>>().join(", ");
            let with = match (shape.moments, shape.updates.is_some(), shape.gathered) {
                (true, ..) => " with moments",
                (_, true, _) => " with an update",
                (.., Some(Gathered { bytes: true, .. })) => " with bytes",
                (.., Some(_)) => " with gathered rows",
                _ => "",
            };
            let precision = shape.precision(engine);
            Error::option("tile", tile, format!("{allowed}{lie}{with} in {precision} by engine {engine}"))
        };
        if shape.images.is_some() && shape.b.by_depth && !OF_FILTERS.contains(&tile) {
            let [wide, square, small] = OF_FILTERS;
            return Err(Error::option("tile", tile, format!("{wide}, {square} or {small}")));
        }
        if cluster > 1 && (shape.moments || shape.updates.is_some() || !tile.is_shared(engine, shape.values)) {
            let precision = shape.precision(engine);
            let with = match (shape.moments, shape.updates.is_some()) {
                (true, _) => " with moments",
                (_, true) => " with an update",
                _ => "",
            };
            let allowed = format!("1 for tile {tile}{with} in {precision} by engine {engine}");
            return Err(Error::option("cluster", cluster, allowed));
        }
        macro_rules! launch {
            ($($precision:ident, $tile:ident, [$a:literal, $b:literal], $is_shared:literal, $kernel:ident;)*) => {
                match (shape.values, tile, by_depth, cluster > 1) {
                    $((Values::$precision, Tile::$tile, [$a, $b], $is_shared) => {
                        let function = module.function(wgmma::$kernel)?;
                        if cluster > 1 && module.device().backend() == Backend::Cuda {
                            // A cluster that waits for another's end would double the time.
                            let clusters = function.max_active_clusters(&one_cluster(tile, cluster))?;
                            if clusters == 0 {
                                let allowed = format!("fewer blocks: {} runs no such cluster", module.device().name());
                                return Err(Error::option("cluster", cluster, allowed));
                            }
                            multiprocessors = clusters * cluster;
                        }
                        let launch = move |stream: &Stream, multiprocessors: u32, task: ProductTaskArgs<'_>| {
                            // SAFETY: the maps are of this kernel's tile and of the operands in the task, and one C is given, as the callers of `run` see to; divisions are slabs and have no activation, as the check asks; buffers and rows of masks begin at multiples of 8 bytes.
                            unsafe { stream.run_unchecked_with(&function, (multiprocessors,), (task,)) }
                        };
                        Some(Box::new(launch) as Launch)
                    })*
                    _ => None,
                }
            };
        }
        if shape.updates.is_some() {
            let launch = update::launch(module, shape.values, engine, tile, by_depth)?;
            let launch = launch.map(Kernel::Update).ok_or_else(refused)?;
            return Ok(Self { shape, engine, tile, cluster, multiprocessors, launch });
        }
        let bytes = shape.gathered.map(|gathered| gathered.bytes);
        let launch = match engine {
            Engine::Wgmma if shape.moments => moments::launch(module, shape.values, tile)?,
            Engine::Wgmma => launch! {
            Bf16, Rows128Columns256, [false, false], false, tile_wgmma_bf16_256;
            Bf16, Rows128Columns192, [false, false], false, tile_wgmma_bf16_192;
            Bf16, Rows256Columns128, [false, false], false, tile_wgmma_bf16_128_high;
            Bf16, Rows128Columns128, [false, false], false, tile_wgmma_bf16_128;
            Bf16, Rows128Columns64, [false, false], false, tile_wgmma_bf16_64;
            Bf16, Rows64Columns64, [false, false], false, tile_wgmma_bf16_64_single;
            Bf16, Rows128Columns256, [false, true], false, tile_wgmma_bf16_256_b;
            Bf16, Rows128Columns128, [false, true], false, tile_wgmma_bf16_128_b;
            Bf16, Rows64Columns64, [false, true], false, tile_wgmma_bf16_64_single_b;
            Bf16, Rows128Columns256, [true, true], false, tile_wgmma_bf16_256_ab;
            Bf16, Rows128Columns192, [true, true], false, tile_wgmma_bf16_192_ab;
            Bf16, Rows128Columns128, [true, true], false, tile_wgmma_bf16_128_ab;
            Bf16, Rows64Columns64, [true, true], false, tile_wgmma_bf16_64_single_ab;
            Bf16, Rows128Columns256, [true, false], false, tile_wgmma_bf16_256_a;
            Bf16, Rows128Columns128, [true, false], false, tile_wgmma_bf16_128_a;
            Bf16, Rows64Columns64, [true, false], false, tile_wgmma_bf16_64_single_a;
            F16, Rows128Columns256, [false, false], false, tile_wgmma_f16_256;
            F16, Rows128Columns192, [false, false], false, tile_wgmma_f16_192;
            F16, Rows256Columns128, [false, false], false, tile_wgmma_f16_128_high;
            F16, Rows128Columns128, [false, false], false, tile_wgmma_f16_128;
            F16, Rows128Columns64, [false, false], false, tile_wgmma_f16_64;
            F16, Rows64Columns64, [false, false], false, tile_wgmma_f16_64_single;
            F16, Rows128Columns256, [false, true], false, tile_wgmma_f16_256_b;
            F16, Rows128Columns128, [false, true], false, tile_wgmma_f16_128_b;
            F16, Rows64Columns64, [false, true], false, tile_wgmma_f16_64_single_b;
            F16, Rows128Columns256, [true, true], false, tile_wgmma_f16_256_ab;
            F16, Rows128Columns192, [true, true], false, tile_wgmma_f16_192_ab;
            F16, Rows128Columns128, [true, true], false, tile_wgmma_f16_128_ab;
            F16, Rows64Columns64, [true, true], false, tile_wgmma_f16_64_single_ab;
            F16, Rows128Columns256, [true, false], false, tile_wgmma_f16_256_a;
            F16, Rows128Columns128, [true, false], false, tile_wgmma_f16_128_a;
            F16, Rows64Columns64, [true, false], false, tile_wgmma_f16_64_single_a;
            F32, Rows128Columns256, [false, false], false, tile_wgmma_tf32_256;
            F32, Rows128Columns192, [false, false], false, tile_wgmma_tf32_192;
            F32, Rows256Columns128, [false, false], false, tile_wgmma_tf32_128_high;
            F32, Rows128Columns128, [false, false], false, tile_wgmma_tf32_128;
            F32, Rows128Columns64, [false, false], false, tile_wgmma_tf32_64;
            F32, Rows64Columns64, [false, false], false, tile_wgmma_tf32_64_single;
            Bf16, Rows64Columns64, [false, false], true, tile_wgmma_bf16_64_shared;
            Bf16, Rows64Columns64, [false, true], true, tile_wgmma_bf16_64_shared_b;
            Bf16, Rows64Columns64, [true, true], true, tile_wgmma_bf16_64_shared_ab;
            Bf16, Rows64Columns64, [true, false], true, tile_wgmma_bf16_64_shared_a;
            F16, Rows64Columns64, [false, false], true, tile_wgmma_f16_64_shared;
            F16, Rows64Columns64, [false, true], true, tile_wgmma_f16_64_shared_b;
            F16, Rows64Columns64, [true, true], true, tile_wgmma_f16_64_shared_ab;
            F16, Rows64Columns64, [true, false], true, tile_wgmma_f16_64_shared_a;
            F32, Rows64Columns64, [false, false], true, tile_wgmma_tf32_64_shared;
            Bf16, Rows128Columns128, [false, false], true, tile_wgmma_bf16_128_shared;
            Bf16, Rows128Columns128, [false, true], true, tile_wgmma_bf16_128_shared_b;
            Bf16, Rows128Columns128, [true, true], true, tile_wgmma_bf16_128_shared_ab;
            Bf16, Rows128Columns128, [true, false], true, tile_wgmma_bf16_128_shared_a;
            F16, Rows128Columns128, [false, false], true, tile_wgmma_f16_128_shared;
            F16, Rows128Columns128, [false, true], true, tile_wgmma_f16_128_shared_b;
            F16, Rows128Columns128, [true, true], true, tile_wgmma_f16_128_shared_ab;
            F16, Rows128Columns128, [true, false], true, tile_wgmma_f16_128_shared_a;
            F32, Rows128Columns128, [false, false], true, tile_wgmma_tf32_128_shared;
            U8, Rows256Columns128, [false, false], false, tile_wgmma_e4m3_128_high;
            U8, Rows128Columns128, [false, false], false, tile_wgmma_e4m3_128;
            U8, Rows64Columns64, [false, false], false, tile_wgmma_e4m3_64_single;
            },
            Engine::Mma => mma::launch(module, shape.values, tile, by_depth, bytes)?,
            Engine::Plain => plain::launch(module, tile, by_depth, bytes)?,
        };
        let launch = launch.map(Kernel::Product).ok_or_else(refused)?;
        Ok(Self { shape, engine, tile, cluster, multiprocessors, launch })
    }

    /// The maps of the operands, from value `a.1` and `b.1` of their buffers on.
    ///
    /// # Errors
    /// [`Error::Shape`] for a buffer that is too short; errors of the driver.
    pub fn maps<T>(
        &self,
        (a, first_a): (&Buffer<T>, usize),
        (b, first_b): (&Buffer<T>, usize),
    ) -> Result<Vec<TensorMap>> {
        self.shape.maps(self.tile, (a, first_a), (b, first_b))
    }

    /// Those maps on the device, for the engine that reads them.
    ///
    /// # Errors
    /// As [`maps`](Self::maps); errors of the device.
    pub fn upload_maps<T>(
        &self,
        stream: &Stream,
        a: (&Buffer<T>, usize),
        b: (&Buffer<T>, usize),
    ) -> Result<Option<Buffer<TensorMap>>> {
        match self.engine {
            Engine::Wgmma => Ok(Some(stream.upload(&self.maps(a, b)?)?)),
            Engine::Mma | Engine::Plain => Ok(None),
        }
    }

    /// Checks that the operands hold what the sizes say, from the beginning of their buffers on.
    ///
    /// # Errors
    /// [`Error::Shape`] for a buffer that is too short, or does not begin at a multiple of 16 bytes.
    pub fn expect_operands<A, B>(&self, a: &Buffer<A>, b: &Buffer<B>) -> Result<()> {
        let Shape { m, n, .. } = self.shape;
        self.expect_operand("a", a, self.shape.a, self.shape.a_rows(m))?;
        self.expect_operand("b", b, self.shape.b, n)
    }

    fn expect_operand<T>(&self, what: &'static str, buffer: &Buffer<T>, lie: Lie, size: u32) -> Result<()> {
        let lines = if lie.by_depth { self.shape.k } else { size };
        let len = u64::from(lie.parts - 1) * lie.part_stride + u64::from(lines) * u64::from(lie.stride);
        buffer.expect_len_at_least(what, len as usize)?;
        if (buffer.as_ptr() as usize).is_multiple_of(16) {
            return Ok(());
        }
        Err(Error::shape(what, "an address that is a multiple of 16", format!("{:?}", buffer.as_ptr())))
    }

    /// Queues the product of the first `m` rows, or of all, which is no gradient that updates C. The maps, which [`Engine::Wgmma`] needs, are those of [`maps`](Self::maps) for the operands in `views`, and one of the two forms of C is there.
    ///
    /// # Errors
    /// [`Error::Shape`] for a buffer that is too short; [`Error::Option`] for a product that updates C; errors of the device.
    pub fn run<'a>(
        &self,
        stream: &Stream,
        m: u32,
        maps: impl Into<Option<&'a Buffer<TensorMap>>>,
        views: Views<'a>,
    ) -> Result<()> {
        match &self.launch {
            Kernel::Product(launch) => launch(stream, self.multiprocessors, self.task(m, maps, views)),
            Kernel::Update(_) => Err(Error::option("update", true, "false without an optimiser: see `run_update`")),
        }
    }

    /// Queues the product, which is the gradient of C, and the update of C. `c_first` is the number of C's first value among those of which `update` remembers something, a multiple of 4; C, too, begins at a multiple of 16 bytes.
    ///
    /// # Errors
    /// As [`run`](Self::run); [`Error::Option`] for a product that does not update C.
    pub fn run_update<'a>(
        &self,
        stream: &Stream,
        maps: impl Into<Option<&'a Buffer<TensorMap>>>,
        views: Views<'a>,
        c_first: usize,
        update: UpdateArgs<'a>,
    ) -> Result<()> {
        match &self.launch {
            Kernel::Product(_) => Err(Error::option("update", false, "true for a product that is to update C")),
            Kernel::Update(launch) => {
                let task = ProductTaskArgs { c_first: c_first as u64, ..self.task(self.shape.m, maps, views) };
                launch(stream, self.multiprocessors, task, update)
            }
        }
    }

    /// What the kernel works on.
    pub(super) fn task<'a>(
        &self,
        m: u32,
        maps: impl Into<Option<&'a Buffer<TensorMap>>>,
        views: Views<'a>,
    ) -> ProductTaskArgs<'a> {
        let Shape { n, k, a, b, c_stride, c_parts, c_part_stride, mask_stride, division, factor, rectifier, .. } =
            self.shape;
        let Views {
            a: on_a,
            b: on_b,
            rows,
            bias,
            residual,
            residual_short,
            mask,
            c,
            c_short,
            overflow,
            found_factor,
            moments,
        } = views;
        let m = m.min(self.shape.m);
        let [height, width, side] = self.shape.images.map_or([0, 0, 1], |of| [of.height, of.width, of.side]);
        ProductTaskArgs {
            maps: maps.into().map_or_else(In::none, Buffer::view),
            a: on_a,
            b: on_b,
            rows,
            bias,
            mask,
            residual,
            residual_short,
            c,
            c_short,
            overflow,
            found_factor,
            moments,
            a_part_stride: a.part_stride,
            b_part_stride: b.part_stride,
            c_part_stride,
            m,
            n,
            k,
            a_stride: a.stride,
            b_stride: b.stride,
            c_stride,
            mask_stride,
            a_parts: a.parts,
            b_parts: b.parts,
            c_parts,
            division,
            activation: if rectifier { activation::RELU } else { activation::NONE },
            factor,
            side,
            height,
            width,
            b_part_layers: self.shape.b_part_layers(),
            cluster: self.cluster,
            a_rows: self.shape.a_rows(m),
            c_first: 0,
            c_short_stride: self.shape.updates.unwrap_or(c_stride),
            a_bytes: self.shape.a_bytes(),
            b_bytes: self.shape.value_bytes(),
            a_by_depth: a.by_depth.into(),
            b_by_depth: b.by_depth.into(),
            mask_bytes: if self.engine == Engine::Plain { 4 } else { 2 },
        }
    }
}
