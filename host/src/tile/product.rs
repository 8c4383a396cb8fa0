//! A product of given sizes.

use std::marker::PhantomData;

use warpplay_gpu::cuda::tensor_map::TensorMap;
use warpplay_gpu::tile::update::UpdateArgs;

use super::core::{Core, Gathered, Images, Kernels, Lie, Shape, Views};
use super::engine::Engine;
use super::operand::{Operand, Output, Residual};
use super::size::Tile;
use super::update::Update;
use crate::{Buffer, Device, Error, In, InOut, Precision, Result, Stream};

/// Builds a [`Product`].
#[derive(Clone, Copy, Debug)]
pub struct ProductBuilder<T> {
    m: u32,
    n: u32,
    k: u32,
    by_depth: [bool; 2],
    strides: [Option<u32>; 2],
    parts: [u32; 2],
    c_stride: u32,
    c_parts: u32,
    mask_stride: Option<u32>,
    division: Option<u32>,
    factor: f32,
    rectifier: bool,
    moments: bool,
    updates: bool,
    copy_stride: Option<u32>,
    a_rows: Option<u32>,
    bytes: bool,
    engine: Option<Engine>,
    precision: Option<Precision>,
    tile: Option<Tile>,
    cluster: Option<u32>,
    operands: PhantomData<T>,
}

/// `C = epilogue(A B)` of given sizes on a device; [the module](super) says how the matrices lie.
pub struct Product<T> {
    device: Device,
    core: Core,
    operands: PhantomData<T>,
}

impl<T: Operand> std::fmt::Debug for Product<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Product")
            .field("shape", &self.core.shape)
            .field("engine", &self.engine())
            .field("tile", &self.tile())
            .field("cluster", &self.cluster())
            .finish_non_exhaustive()
    }
}

impl<T: Operand> Product<T> {
    /// A product of A with `m` rows, B with `n` columns, and the depth `k`.
    pub fn builder(m: u32, n: u32, k: u32) -> ProductBuilder<T> {
        ProductBuilder {
            m,
            n,
            k,
            by_depth: [false; 2],
            strides: [None; 2],
            parts: [1; 2],
            c_stride: n,
            c_parts: 1,
            mask_stride: None,
            division: None,
            factor: 1.0,
            rectifier: false,
            moments: false,
            updates: false,
            copy_stride: None,
            a_rows: None,
            bytes: false,
            engine: None,
            precision: None,
            tile: None,
            cluster: None,
            operands: PhantomData,
        }
    }
}

impl<T: Operand> Product<T> {
    /// Checks the sizes and loads the kernel.
    pub(super) fn of(
        device: &Device,
        kernels: &Kernels,
        shape: Shape,
        tile: Option<Tile>,
        cluster: Option<u32>,
    ) -> Result<Self> {
        let core = Core::new(kernels, shape, tile, cluster)?;
        Ok(Self { device: device.clone(), core, operands: PhantomData })
    }
}

impl<T: Operand> ProductBuilder<T> {
    /// Whether A lies depth by depth, `[k][a_stride]`, and not row by row, `[m][a_stride]`; default not. Formats of 16 bits, and f32 by [`Engine::Plain`].
    #[must_use]
    pub fn a_by_depth(mut self, a_by_depth: bool) -> Self {
        self.by_depth[0] = a_by_depth;
        self
    }

    /// Whether B lies depth by depth, `[k][b_stride]`, and not column by column, `[n][b_stride]`; default not. Formats of 16 bits, and f32 by [`Engine::Plain`].
    #[must_use]
    pub fn b_by_depth(mut self, b_by_depth: bool) -> Self {
        self.by_depth[1] = b_by_depth;
        self
    }

    /// Values from a row, or a depth, of A to the next; default as many as it has.
    #[must_use]
    pub fn a_stride(mut self, a_stride: u32) -> Self {
        self.strides[0] = Some(a_stride);
        self
    }

    /// Values from a column, or a depth, of B to the next; default as many as it has.
    #[must_use]
    pub fn b_stride(mut self, b_stride: u32) -> Self {
        self.strides[1] = Some(b_stride);
        self
    }

    /// Parts of A and of B, 1 to 3 in formats of 16 bits, which lie one behind the other; default 1. [The module](super#numbers-in-parts) says what they are for.
    #[must_use]
    pub fn parts(self, a: u32, b: u32) -> Self {
        Self { parts: [a, b], ..self }
    }

    /// Values from a row of C to the next, at least `n`, default `n`.
    #[must_use]
    pub fn c_stride(self, c_stride: u32) -> Self {
        Self { c_stride, ..self }
    }

    /// Parts in which C is written where it has a format of 16 bits, 1 to 3, one `[m][c_stride]` behind the other; default 1. So is the [copy](super::Update::copy) of an updated C, one `[m][copy_stride]` behind the other.
    #[must_use]
    pub fn c_parts(self, c_parts: u32) -> Self {
        Self { c_parts, ..self }
    }

    /// Values from a row of the mask to the next, a multiple of 4 from `n` on; default `c_stride`, rounded up to one.
    #[must_use]
    pub fn mask_stride(self, mask_stride: u32) -> Self {
        Self { mask_stride: Some(mask_stride), ..self }
    }

    /// Depths that are added up; default all. With fewer, C is one `[m][c_stride]` for each division of the depth: more blocks share the work of a product that is deep and has a small C, and the sums are added up later, always in the same
    /// order. A multiple of 64 (of 32 in TF32, of 128 of 8 bits); without bias, residual, rectifier and mask.
    #[must_use]
    pub fn division(self, division: u32) -> Self {
        Self { division: Some(division), ..self }
    }

    /// What the sums are multiplied with, before the bias is added; default 1.
    #[must_use]
    pub fn factor(self, factor: f32) -> Self {
        Self { factor, ..self }
    }

    /// Whether values below 0 become 0, after bias and residual; default not.
    #[must_use]
    pub fn rectifier(self, rectifier: bool) -> Self {
        Self { rectifier, ..self }
    }

    /// Whether [moments of the columns](super#moments-of-columns) of C are made too, by [`Product::run_with_moments`]; default not. In bf16 and f16 by [`Engine::Wgmma`], operands row by row and column by column; C has one part, no residual and no mask, `n` and
    /// `c_stride` are multiples of 4 where it is of single precision, else of 8, and blocks do not share a depth ([`cluster`](Self::cluster) is 1).
    #[must_use]
    pub fn moments(self, moments: bool) -> Self {
        Self { moments, ..self }
    }

    /// Whether the product is the gradient of C, which an optimiser [updates](super#optimisers) by [`Product::run_update`]; default not. C is of single precision and `c_stride` a multiple of 4. In bf16 and f16 A and B lie by depth, in TF32 neither does, in f32 both or neither. Not with a division
    /// of the depth, rectifier, moments, gathered rows or bytes; [`cluster`](Self::cluster) is 1.
    #[must_use]
    pub fn update(self, update: bool) -> Self {
        Self { updates: update, ..self }
    }

    /// Values from a row of the [copy](super::Update::copy) of an updated C to the next, at least `n`; default `c_stride`.
    #[must_use]
    pub fn copy_stride(self, copy_stride: u32) -> Self {
        Self { copy_stride: Some(copy_stride), ..self }
    }

    /// Gathers the rows of A: A has `a_rows` of them, 1 to 2²⁴, `[a_rows][a_stride]`, and [`Product::gathered_operands`] says which is each of the `m` that are multiplied; default the first `m`. So a batch of samples is multiplied where it lies. Not by [`Engine::Wgmma`], whose copy engine
    /// takes rows one after the other: the default is then [`Engine::Mma`]. Operands row by row and column by column.
    #[must_use]
    pub fn gathered(self, a_rows: u32) -> Self {
        Self { a_rows: Some(a_rows), ..self }
    }

    /// Whether A is of bytes, each a number from 0 to 255, which the product makes numbers of the format; see [`Product::byte_operands`]; default not. `a_stride` is a multiple of 16. By the engines that [gather](Self::gathered) rows, and with gathered rows if they are asked for.
    #[must_use]
    pub fn bytes(self, bytes: bool) -> Self {
        Self { bytes, ..self }
    }

    /// Which kernels multiply; default the first [`Engine`] that the device has for the operands.
    #[must_use]
    pub fn engine(self, engine: impl Into<Option<Engine>>) -> Self {
        Self { engine: engine.into(), ..self }
    }

    /// How `f32` operands are multiplied: [`Precision::Tf32`], by tensor cores, or [`Precision::F32`], by [`Engine::Plain`]. Default TF32, but F32 if that engine is asked for or the device has no TF32 (before compute capability 8.0). Other operands are
    /// multiplied as they are.
    #[must_use]
    pub fn precision(self, precision: impl Into<Option<Precision>>) -> Self {
        Self { precision: precision.into(), ..self }
    }

    /// The tile; default the one that should be fastest.
    #[must_use]
    pub fn tile(self, tile: impl Into<Option<Tile>>) -> Self {
        Self { tile: tile.into(), ..self }
    }

    /// Blocks that share the depth of a tile, as a cluster: 1, or 2, 4, 8 or 16 for tiles of 128 × 128 and 64 × 64 by [`Engine::Wgmma`], but for operands of 8 bits. Few tiles that are deep are faster so. Each block adds up a part of the depth, and their sums are added up in a fixed order: the last bits depend on how
    /// many they are. Default the number that should be fastest, which the sizes decide, and is at most 8 on a slice of a card; 1 with a given [`tile`](Self::tile).
    #[must_use]
    pub fn cluster(self, cluster: impl Into<Option<u32>>) -> Self {
        Self { cluster: cluster.into(), ..self }
    }

    /// Checks the sizes and loads the kernel.
    ///
    /// # Errors
    /// [`Error::Option`] for a size, stride, precision, engine, tile or cluster that is not allowed; [`Error::Unsupported`] if the device has no kernels for it; errors of the device.
    pub fn build(self, device: &Device) -> Result<Product<T>> {
        let (precision, shape) = (self.chosen_precision(device)?, self.shape());
        if shape.gathered.is_some() && precision == Precision::E4m3 {
            let name = if self.bytes { "bytes" } else { "gathered" };
            return Err(Error::option(name, true, "false for e4m3: bf16, f16, tf32 and f32"));
        }
        let engine = match Engine::choose(device, precision, self.engine)? {
            Engine::Wgmma if self.engine.is_none() && shape.gathered.is_some() => Engine::Mma,
            engine => engine,
        };
        if let Some(copy_stride) = self.copy_stride.filter(|_| !self.updates) {
            return Err(Error::option("copy_stride", copy_stride, "none where C is not updated"));
        }
        let kernels = Kernels::load(device, precision, Some(engine))?;
        Product::of(device, &kernels, shape, self.tile, self.cluster)
    }

    fn chosen_precision(&self, device: &Device) -> Result<Precision> {
        let is_single = T::PRECISION == Precision::Tf32;
        match self.precision {
            None if is_single => Engine::precision_of_single(device, self.engine),
            None => Ok(T::PRECISION),
            Some(precision) if precision == T::PRECISION || is_single && precision == Precision::F32 => Ok(precision),
            Some(precision) => {
                let allowed = if is_single { "tf32, f32" } else { T::PRECISION.name() };
                Err(Error::option("precision", precision, allowed))
            }
        }
    }

    fn shape(&self) -> Shape {
        let Self { m, n, k, c_stride, c_parts, factor, rectifier, moments, updates, .. } = *self;
        let copy_stride = self.copy_stride.unwrap_or(c_stride);
        let is_gathered = self.a_rows.is_some() || self.bytes;
        let lie = |at: usize, size: u32| {
            let (width, lines) = if self.by_depth[at] { (size, k) } else { (k, size) };
            let stride = self.strides[at].unwrap_or(width);
            Lie::of_lines(self.by_depth[at], lines, stride, self.parts[at])
        };
        Shape {
            values: T::FORMAT.0,
            m,
            n,
            k,
            images: None,
            a: lie(0, self.a_rows.unwrap_or(m)),
            b: lie(1, n),
            gathered: is_gathered.then_some(Gathered { a_rows: self.a_rows, bytes: self.bytes }),
            c_stride,
            c_parts,
            c_part_stride: u64::from(m) * u64::from(if updates { copy_stride } else { c_stride }),
            mask_stride: self.mask_stride.unwrap_or(c_stride.checked_next_multiple_of(4).unwrap_or(u32::MAX)),
            division: self.division.unwrap_or(k),
            factor,
            rectifier,
            moments,
            updates: updates.then_some(copy_stride),
        }
    }
}

/// A and B of a [`Product`], or images and filters of a [`Convolution`](super::Convolution), in the form in which the kernels read them. It keeps their memory; their values may change between two runs.
pub struct Operands<T> {
    /// For the copy engine, which [`Engine::Wgmma`] reads with.
    maps: Option<Buffer<TensorMap>>,
    a: A<T>,
    b: Buffer<T>,
    /// Which rows of A are multiplied, where they are gathered.
    rows: Option<Buffer<u32>>,
    /// Of the product that made it: what the maps depend on.
    made_for: MadeFor,
}

/// A, of numbers or of bytes.
enum A<T> {
    Numbers(Buffer<T>),
    Bytes(Buffer<u8>),
}

impl<T: Operand> A<T> {
    fn view(&self) -> In<'_, u8> {
        match self {
            Self::Numbers(a) => a.view().cast(),
            Self::Bytes(a) => a.view(),
        }
    }

    fn as_ptr(&self) -> *const u8 {
        match self {
            Self::Numbers(a) => a.as_ptr().cast(),
            Self::Bytes(a) => a.as_ptr(),
        }
    }
}

/// What the maps of a product's operands depend on.
#[derive(Clone, Copy, PartialEq)]
struct MadeFor {
    size: [u32; 3],
    a: Lie,
    b: Lie,
    images: Option<Images>,
    gathered: Option<Gathered>,
    tile: Tile,
    engine: Engine,
}

impl MadeFor {
    /// The error of operands of another product, which names the first property that differs.
    fn unlike(&self, expected: &Self) -> Error {
        let sizes = |[m, n, k]: [u32; 3]| format!("m {m}, n {n}, k {k}");
        let lie = |Lie { by_depth, stride, parts, part_stride }: Lie| {
            format!("by depth {by_depth}, stride {stride}, parts {parts}, from a part to the next {part_stride}")
        };
        let images = |images: Option<Images>| {
            images.map_or("none".into(), |Images { height, width, side, channels }| {
                format!("{height} x {width}, channels {channels}, side {side}")
            })
        };
        let rows = |gathered: Option<Gathered>| match gathered {
            None => "as they lie".to_owned(),
            Some(Gathered { a_rows, bytes }) => {
                let of = if bytes { "of bytes" } else { "of numbers" };
                a_rows.map_or(of.to_owned(), |a_rows| format!("{of}, gathered from {a_rows}"))
            }
        };
        let parts = |of: &Self| {
            [
                ("operands of another product: size", sizes(of.size)),
                ("operands of another product: a", lie(of.a)),
                ("operands of another product: b", lie(of.b)),
                ("operands of another product: images", images(of.images)),
                ("operands of another product: rows of a", rows(of.gathered)),
                ("operands of another product: tile", of.tile.to_string()),
                ("operands of another product: engine", of.engine.to_string()),
            ]
        };
        let mut pairs = parts(expected).into_iter().zip(parts(self));
        match pairs.find(|(expected, own)| expected != own) {
            Some(((what, expected), (_, own))) => Error::shape(what, expected, own),
            None => Error::shape("operands", "those of this product", "others"),
        }
    }
}

/// What becomes of the sums of a product or a convolution, in this order: [factor](ProductBuilder::factor), bias, residual, [rectifier](ProductBuilder::rectifier), mask.
#[derive(Clone, Copy)]
pub struct Epilogue<'a, T: Operand> {
    bias: Option<&'a Buffer<f32>>,
    residual: Residual<'a, T>,
    mask: Option<&'a Buffer<T::Short>>,
}

impl<T: Operand> Default for Epilogue<'_, T> {
    fn default() -> Self {
        Self { bias: None, residual: (None, None), mask: None }
    }
}

impl<'a, T: Operand> Epilogue<'a, T> {
    /// Neither bias nor residual nor mask.
    pub fn new() -> Self {
        Self::default()
    }

    /// `[n]` is added to the columns of C.
    #[must_use]
    pub fn bias(self, bias: &'a Buffer<f32>) -> Self {
        Self { bias: Some(bias), ..self }
    }

    /// `[m][c_stride]` is added to C: in single precision, or in the operands' [`Short`](Operand::Short) format, whatever that of C is.
    #[must_use]
    pub fn residual<C: Output<T>>(self, residual: &'a Buffer<C>) -> Self {
        Self { residual: C::residual(residual), ..self }
    }

    /// C becomes 0 where `[m][mask_stride]` is not above 0: the gradient of a rectifier's inputs, whose outputs the mask is. Formats of 8 and 16 bits, and f32 by [`Engine::Plain`]; its first value begins at a multiple of 16 bytes there.
    #[must_use]
    pub fn mask(self, mask: &'a Buffer<T::Short>) -> Self {
        Self { mask: Some(mask), ..self }
    }
}

impl<T: Operand> Product<T> {
    fn made_for(&self) -> MadeFor {
        let Shape { m, n, k, a, b, images, gathered, .. } = self.core.shape;
        let Core { tile, engine, .. } = self.core;
        MadeFor { size: [m, n, k], a, b, images, gathered, tile, engine }
    }

    /// Describes A and B to the kernels, once for many runs; not while a graph is recorded.
    ///
    /// * `a` `[m][a_stride]`, `b` `[n][b_stride]`, or as the builder was told; both may be longer.
    ///
    /// # Errors
    /// [`Error::Shape`] for a buffer that is too short or does not begin at a multiple of 16 bytes; [`Error::Device`] for one of another device; errors of the device.
    pub fn operands(&self, stream: &Stream, a: &Buffer<T>, b: &Buffer<T>) -> Result<Operands<T>> {
        for (what, device) in [("stream", stream.device()), ("a", a.device()), ("b", b.device())] {
            self.device.expect_same(what, device)?;
        }
        if let Some(Gathered { bytes, .. }) = self.core.shape.gathered {
            let allowed = if bytes { "that of `byte_operands`" } else { "that of `gathered_operands`, with rows" };
            return Err(Error::shape("a", allowed, "rows as they lie, of numbers"));
        }
        let maps = self.core.upload_maps(stream, (a, 0), (b, 0))?;
        self.core.expect_operands(a, b)?;
        Ok(Operands { maps, a: A::Numbers(a.share()), b: b.share(), rows: None, made_for: self.made_for() })
    }

    /// The same of an A whose rows are [gathered](ProductBuilder::gathered): row `i` of the product is row `rows[i]` of A; a number from `a_rows` on stands for a row of zeros.
    ///
    /// * `a` `[a_rows][a_stride]`, `rows` `[m]`, `b` `[n][b_stride]`; all may be longer. The rows may change between two runs.
    ///
    /// # Errors
    /// As [`operands`](Self::operands); [`Error::Shape`] for a product that was built for other operands.
    pub fn gathered_operands(
        &self,
        stream: &Stream,
        a: &Buffer<T>,
        rows: &Buffer<u32>,
        b: &Buffer<T>,
    ) -> Result<Operands<T>> {
        self.device.expect_same("a", a.device())?;
        self.expect_gathered(false, Some(rows))?;
        self.core.expect_operands(a, b)?;
        self.of_gathered(stream, A::Numbers(a.share()), Some(rows), b)
    }

    /// The same of an A of [bytes](ProductBuilder::bytes), and of [gathered](ProductBuilder::gathered) rows with `rows`.
    ///
    /// * `a` `[m][a_stride]`, or `[a_rows][a_stride]`, `rows` `[m]`, `b` `[n][b_stride]`; all may be longer. The rows may change between two runs.
    ///
    /// # Errors
    /// As [`gathered_operands`](Self::gathered_operands).
    pub fn byte_operands<'a>(
        &self,
        stream: &Stream,
        a: &Buffer<u8>,
        rows: impl Into<Option<&'a Buffer<u32>>>,
        b: &Buffer<T>,
    ) -> Result<Operands<T>> {
        let rows = rows.into();
        self.device.expect_same("a", a.device())?;
        self.expect_gathered(true, rows)?;
        self.core.expect_operands(a, b)?;
        self.of_gathered(stream, A::Bytes(a.share()), rows, b)
    }

    /// # Errors
    /// [`Error::Shape`] for a product that was built for an A of another kind, or with or without rows.
    fn expect_gathered(&self, bytes: bool, rows: Option<&Buffer<u32>>) -> Result<()> {
        let built = self.core.shape.gathered;
        if built.is_none_or(|built| built.bytes != bytes) {
            let expected = match built {
                None => "rows as they lie, of numbers",
                Some(Gathered { bytes: true, .. }) => "of bytes",
                Some(_) => "of numbers",
            };
            return Err(Error::shape("a", expected, if bytes { "of bytes" } else { "of numbers, with rows" }));
        }
        let expected = built.and_then(|built| built.a_rows);
        match (expected, rows) {
            (Some(_), None) => Err(Error::shape("rows", "a buffer, since the product gathers", "none")),
            (None, Some(_)) => Err(Error::shape("rows", "none, since the product was built without", "a buffer")),
            (_, None) => Ok(()),
            (_, Some(rows)) => rows.expect_len_at_least("rows", self.core.shape.m as usize),
        }
    }

    fn of_gathered(&self, stream: &Stream, a: A<T>, rows: Option<&Buffer<u32>>, b: &Buffer<T>) -> Result<Operands<T>> {
        let of_rows = rows.map(|rows| ("rows", rows.device()));
        for (what, device) in [("stream", stream.device()), ("b", b.device())].into_iter().chain(of_rows) {
            self.device.expect_same(what, device)?;
        }
        Ok(Operands { maps: None, a, b: b.share(), rows: rows.map(Buffer::share), made_for: self.made_for() })
    }

    /// Queues the product: `c = epilogue(a b)`. Values of C between its columns and its stride stay as they are.
    ///
    /// * `c` `[m][c_stride]`, for each part or division; it may be longer.
    ///
    /// # Errors
    /// [`Error::Shape`] for a buffer that is too short, for operands of another product, and for a C that is one of the operands; [`Error::Option`] for an epilogue that the product cannot have; [`Error::Device`] for a buffer of another device;
    /// errors of the device.
    pub fn run<C: Output<T>>(
        &self,
        stream: &Stream,
        operands: &Operands<T>,
        epilogue: Epilogue<'_, T>,
        c: &mut Buffer<C>,
    ) -> Result<()> {
        if self.core.shape.moments {
            return Err(Error::option("moments", true, "false without a buffer for them: see `run_with_moments`"));
        }
        if self.core.shape.updates.is_some() {
            return Err(Error::option("update", true, "false without an optimiser: see `run_update`"));
        }
        self.queue(stream, operands, epilogue, c, InOut::none())
    }

    /// Values of the [moments of its columns](super#moments-of-columns), `2 · ⌈m / 64⌉ · n`; 0 for a product that makes none.
    pub fn n_moments(&self) -> usize {
        self.core.shape.n_moments()
    }

    /// Queues the product, and the [moments of its columns](super#moments-of-columns), for which it was [built](ProductBuilder::moments).
    ///
    /// * `moments` `[2][⌈m / 64⌉][n]`, [`n_moments`](Self::n_moments) values; it may be longer.
    ///
    /// # Errors
    /// As [`run`](Self::run); [`Error::Option`] for a residual or a mask, and for sizes that do not go with this format of C.
    pub fn run_with_moments<C: Output<T>>(
        &self,
        stream: &Stream,
        operands: &Operands<T>,
        epilogue: Epilogue<'_, T>,
        c: &mut Buffer<C>,
        moments: &mut Buffer<f32>,
    ) -> Result<()> {
        let Shape { n, c_stride, moments: has_moments, .. } = self.core.shape;
        if !has_moments {
            return Err(Error::option("moments", false, "true for a product that is to make them"));
        }
        let (residual, residual_short) = epilogue.residual;
        for (name, is_given) in
            [("residual", residual.is_some() || residual_short.is_some()), ("mask", epilogue.mask.is_some())]
        {
            if is_given {
                return Err(Error::option(name, "given", "none with moments"));
            }
        }
        let step = 16 / size_of::<C>() as u32;
        for (name, size) in [("n", n), ("c_stride", c_stride)] {
            if !size.is_multiple_of(step) {
                return Err(Error::option(name, size, format!("a multiple of {step} with moments, 16 bytes of C")));
            }
        }
        moments.expect_len_at_least("moments", self.core.shape.n_moments())?;
        self.device.expect_same("moments", moments.device())?;
        self.queue(stream, operands, epilogue, c, moments.view_mut())
    }

    /// Queues the product, which is the gradient of `parameters`, and their [update](super#optimisers), for which it was [built](ProductBuilder::update). Values between the columns of C and its stride stay as they are.
    ///
    /// * `parameters` `[m][c_stride]`: C; it may be longer.
    ///
    /// # Errors
    /// [`Error::Shape`] for a buffer that is too short or does not begin at a multiple of 16 bytes, for no rates, for another number of arrays of state than the optimiser's, for operands of another product, and for parameters, state or a copy that are operands; [`Error::Option`] for a product that was not built for updates, for constants of the optimiser that are not allowed, and for a copy of `f32` operands;
    /// [`Error::Device`] for a buffer of another device; errors of the device.
    pub fn run_update(
        &self,
        stream: &Stream,
        operands: &Operands<T>,
        parameters: &mut Buffer<f32>,
        update: Update<'_, T>,
    ) -> Result<()> {
        let Shape { m, c_stride, c_parts, updates, .. } = self.core.shape;
        let Update { optimizer, weight_decay, rates, step, state, copy } = update;
        let Some(copy_stride) = updates else {
            return Err(Error::option("update", false, "true for a product that is to update C"));
        };
        if operands.made_for != self.made_for() {
            return Err(operands.made_for.unlike(&self.made_for()));
        }
        optimizer.check()?;
        if !weight_decay.is_finite() {
            return Err(Error::option("weight_decay", weight_decay, "a finite number"));
        }
        if state.len() != optimizer.n_moments() {
            return Err(Error::shape(format!("state of {}", optimizer.name()), optimizer.n_moments(), state.len()));
        }
        if rates.is_empty() {
            return Err(Error::shape("rates", "at least 1", 0));
        }
        if copy.is_some() && size_of::<T::Short>() != size_of::<u16>() {
            return Err(Error::option("copy", "given", "none for operands of f32, which read C itself"));
        }
        let n_values = m as usize * c_stride as usize;
        let read: [*const u8; 2] = [operands.a.as_ptr(), operands.b.as_ptr().cast()];
        let expect = |what: &'static str, ptr: *const u8, device: &Device| {
            self.device.expect_same(what, device)?;
            if read.contains(&ptr) {
                return Err(Error::shape(what, "another buffer than a and b", "one of them"));
            }
            if (ptr as usize).is_multiple_of(16) {
                return Ok(());
            }
            Err(Error::shape(what, "an address that is a multiple of 16", format!("{ptr:?}")))
        };
        expect("parameters", parameters.as_ptr().cast(), parameters.device())?;
        parameters.expect_len_at_least("parameters", n_values)?;
        for array in &*state {
            expect("state", array.as_ptr().cast(), array.device())?;
            array.expect_len_at_least("state", n_values)?;
        }
        if let Some(copy) = &copy {
            expect("copy", copy.as_ptr().cast(), copy.device())?;
            copy.expect_len_at_least("copy", c_parts as usize * m as usize * copy_stride as usize)?;
        }
        self.device.expect_same("rates", rates.device())?;
        if let Some(step) = step {
            self.device.expect_same("step", step.device())?;
            step.expect_len_at_least("step", 1)?;
        }
        let views = Views {
            a: operands.a.view(),
            b: operands.b.view().cast(),
            rows: In::none(),
            bias: In::none(),
            residual: In::none(),
            residual_short: In::none(),
            mask: In::none(),
            c: parameters.view_mut(),
            c_short: copy.map_or_else(InOut::none, |copy| copy.view_mut().cast()),
            overflow: InOut::none(),
            found_factor: In::none(),
            moments: InOut::none(),
        };
        let n_rates = u32::try_from(rates.len()).unwrap_or(u32::MAX);
        let mut state = state.iter_mut().map(Buffer::view_mut);
        let update = UpdateArgs {
            first: state.next().unwrap_or_else(InOut::none),
            second: state.next().unwrap_or_else(InOut::none),
            rates: rates.view(),
            step: step.map_or_else(In::none, Buffer::view),
            rule: optimizer.rule(weight_decay),
            n_state: optimizer.n_moments() as u32,
            n_rates,
            reserved: 0,
            n_values,
        };
        self.core.run_update(stream, operands.maps.as_ref(), views, 0, update)
    }

    fn queue<C: Output<T>>(
        &self,
        stream: &Stream,
        operands: &Operands<T>,
        epilogue: Epilogue<'_, T>,
        c: &mut Buffer<C>,
        moments: InOut<'_, f32>,
    ) -> Result<()> {
        let shape = &self.core.shape;
        if operands.made_for != self.made_for() {
            return Err(operands.made_for.unlike(&self.made_for()));
        }
        // Operands keep no borrow, so the compiler does not see this; tiles of C would be written while others still read it.
        let mask = epilogue.mask.map(|mask| mask.as_ptr().cast());
        let read: [*const u8; 2] = [operands.a.as_ptr(), operands.b.as_ptr().cast()];
        if read.into_iter().chain(mask).any(|read| read == c.as_ptr().cast()) {
            return Err(Error::shape("c", "another buffer than a, b and the mask", "one of them"));
        }
        let (residual, residual_short) = epilogue.residual;
        let has_residual = residual.is_some() || residual_short.is_some();
        if shape.divisions() > 1 && (epilogue.bias.is_some() || has_residual || epilogue.mask.is_some()) {
            return Err(Error::option("division", shape.division, "k where there is a bias, a residual or a mask"));
        }
        if shape.divisions() > 1 && size_of::<C>() < size_of::<f32>() {
            return Err(Error::option("division", shape.division, "k where C has 16 bits"));
        }
        if shape.c_parts > 1 && size_of::<C>() == size_of::<f32>() {
            return Err(Error::option("c_parts", shape.c_parts, "1 where C is f32"));
        }
        let is_plain = self.core.engine == Engine::Plain;
        if epilogue.mask.is_some() && size_of::<T::Short>() != size_of::<u16>() && !is_plain {
            return Err(Error::option("mask", "given", "none for operands of tf32"));
        }
        if let Some(mask) = mask.filter(|&mask| is_plain && !(mask as usize).is_multiple_of(16)) {
            return Err(Error::shape("mask", "an address that is a multiple of 16", format!("{mask:?}")));
        }
        if epilogue.mask.is_some() && (shape.mask_stride < shape.n || !shape.mask_stride.is_multiple_of(4)) {
            let allowed = format!("a multiple of 4, at least {}", shape.n);
            return Err(Error::option("mask_stride", shape.mask_stride, allowed));
        }
        let (c, c_short) = C::views(c);
        let views = Views {
            a: operands.a.view(),
            b: operands.b.view().cast(),
            rows: operands.rows.as_ref().map_or_else(In::none, Buffer::view),
            bias: epilogue.bias.map_or_else(In::none, Buffer::view),
            residual: residual.map_or_else(In::none, Buffer::view),
            residual_short: residual_short.map_or_else(In::none, |residual| residual.view().cast()),
            mask: epilogue.mask.map_or_else(In::none, |mask| mask.view().cast()),
            c,
            c_short,
            overflow: InOut::none(),
            found_factor: In::none(),
            moments,
        };
        self.core.run(stream, shape.m, operands.maps.as_ref(), views)
    }

    /// The engine.
    pub fn engine(&self) -> Engine {
        self.core.engine
    }

    /// The precision in which operands are multiplied.
    pub fn precision(&self) -> Precision {
        self.core.shape.precision(self.core.engine)
    }

    /// The tile.
    pub fn tile(&self) -> Tile {
        self.core.tile
    }

    /// Blocks that share the depth of a tile.
    pub fn cluster(&self) -> u32 {
        self.core.cluster
    }
}
