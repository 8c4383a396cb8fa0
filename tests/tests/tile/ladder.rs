//! The kernels of docs/matmul-ladder.md: each step is the product in double precision, and refuses sizes that it does not take.

use warpplay::tile::bf16;
use warpplay::{Buffer, Device, Error, Module, ShapedKernel, Stream};
use warpplay_gpu::cuda::view::{Disjoint, Slice};
use warpplay_test_kernels::ladder::{
    coalesced::ladder_coalesced, column::ladder_column, mma::ladder_mma, naive::ladder_naive, quads::ladder_quads,
    shared::ladder_shared, square::ladder_square,
};
use warpplay_test_kernels::ptx;
use warpplay_tests::Checked;
use warpplay_tests::backends::{each_image, for_each_device};

/// The parameters of a step whose operands have words `T`, and what the host passes.
type Params<T> = (*const T, *const T, *mut f32, u32, u32, u32);
type Views<T> = (Slice<T>, Slice<T>, Disjoint<f32>, u32, u32, u32);

/// Between -1 and 1, without a pattern.
fn numbers(len: u32, salt: u32) -> Vec<f32> {
    let of = |at: u32| (at ^ salt).wrapping_mul(0x9E37_79B9).rotate_left(at % 29).wrapping_mul(0x85EB_CA6B) >> 8;
    (0..len).map(|at| of(at) as f32 / 8_388_608.0 - 1.0).collect()
}

/// Compares C with sums in double precision. Each of `k` products and additions rounds by at most `eps` of the sum of the products' sizes: by half of it to
/// nearest, and by all of it towards zero, as tensor cores do.
fn compare(name: &str, c: &[f32], [m, n, k]: [u32; 3], a: impl Fn(u32, u32) -> f32, b: impl Fn(u32, u32) -> f32) {
    for (at, &got) in (0..m * n).zip(c) {
        let (row, column) = (at / n, at % n);
        let products = (0..k).map(|depth| f64::from(a(row, depth)) * f64::from(b(depth, column)));
        let (sum, size) = products.fold((0.0, 0.0), |(sum, size), product| (sum + product, size + product.abs()));
        let bound = f64::from(k) * f64::from(f32::EPSILON) * size;
        let off = (f64::from(got) - sum).abs();
        assert!(off <= bound, "{name}, {m} × {n} × {k}: C[{row}][{column}] is {got}, expected {sum} within {bound:e}");
    }
}

/// C of one launch.
fn run<T, K>(
    (stream, module): (&Stream, &Module),
    kernel: K,
    (a, b): (&Buffer<T>, &Buffer<T>),
    [m, n, k]: [u32; 3],
) -> Result<Vec<f32>, Error>
where
    T: bytemuck::Pod + Send + Sync,
    K: ShapedKernel<Launch = (), Params = Params<T>, Views = Views<T>>,
{
    let mut c = stream.alloc::<f32>((m * n) as usize)?;
    let function = module.function(kernel)?;
    // SAFETY: the buffers are this function's own, and nothing else runs on them.
    unsafe { stream.run_unchecked(&function, (a, b, &mut c, m, n, k))? };
    stream.read(&c)
}

/// The least product that a step takes, and one of several tiles and slabs; then sizes with one that is no multiple.
fn single<K>(device: &Device, kernel: K, [tile, depth]: [u32; 2]) -> Checked
where
    K: ShapedKernel<Launch = (), Params = Params<f32>, Views = Views<f32>> + Copy,
{
    for set in each_image(device, &ptx::LADDER) {
        let (stream, module) = (device.stream()?, Module::load(device, &set)?);
        for shape @ [m, n, k] in [[tile, tile, depth], [2 * tile, tile, 3 * depth], [tile, 3 * tile, 4 * depth]] {
            let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
            let there = (stream.upload(&a)?, stream.upload(&b)?);
            let c = run((&stream, &module), kernel, (&there.0, &there.1), shape)?;
            let at = |of: &[f32], index: u32| of[index as usize];
            compare(
                K::NAME,
                &c,
                shape,
                |row, depth| at(&a, row * k + depth),
                |depth, column| at(&b, depth * n + column),
            );
        }
        refuses::<f32, K>((&stream, &module), kernel, [tile, depth])?;
    }
    Ok(())
}

/// Sizes beside the multiples of a step are errors that name the kernel.
fn refuses<T, K>((stream, module): (&Stream, &Module), kernel: K, [tile, depth]: [u32; 2]) -> Checked
where
    T: bytemuck::Pod + Send + Sync,
    K: ShapedKernel<Launch = (), Params = Params<T>, Views = Views<T>> + Copy,
{
    let mut wrong = vec![[tile + 1, tile, depth], [tile, tile / 2, depth], [0, tile, depth], [tile, tile, 0]];
    if depth > 1 {
        wrong.push([tile, tile, depth + depth / 2]);
    }
    for shape in wrong {
        let size = shape.into_iter().max().unwrap_or_default() as usize + 1;
        let operand = stream.alloc::<T>(size * size)?;
        let refused = run((stream, module), kernel, (&operand, &operand), shape);
        let error = refused.expect_err("a size that the kernel does not take").to_string();
        assert!(error.contains(K::NAME), "{shape:?}: {error}");
    }
    Ok(())
}

#[test]
fn each_step_in_single_precision_is_the_product() {
    for_each_device(|device| {
        single(device, ladder_naive, [32, 1])?;
        single(device, ladder_coalesced, [32, 1])?;
        single(device, ladder_shared, [32, 32])?;
        single(device, ladder_column, [64, 8])?;
        single(device, ladder_square, [128, 8])?;
        single(device, ladder_quads, [128, 8])
    });
}

#[test]
fn the_step_on_tensor_cores_is_the_product() {
    for_each_device(|device| {
        // Below compute capability 8.0 there is no product of bfloat16.
        if device.info()?.compute_capability.is_some_and(|own| own < (8, 0)) {
            return Ok(());
        }
        let (stream, module) = (device.stream()?, Module::load(device, &ptx::LADDER)?);
        // The least, one whose slabs use every stage again, and one of several tiles.
        for shape @ [m, n, k] in [[128, 128, 32], [128, 128, 160], [256, 128, 96], [128, 256, 64]] {
            let of = |len, salt| numbers(len, salt).into_iter().map(bf16::from_f32).collect::<Vec<_>>();
            let (a, b) = (of(m * k, 3), of(n * k, 4));
            let words = |values: &[bf16]| -> Vec<u32> {
                let word = |[low, high]: [bf16; 2]| u32::from(low.to_bits()) | u32::from(high.to_bits()) << 16;
                values.as_chunks::<2>().0.iter().copied().map(word).collect()
            };
            let there = (stream.upload(&words(&a))?, stream.upload(&words(&b))?);
            let c = run((&stream, &module), ladder_mma, (&there.0, &there.1), shape)?;
            let at = |of: &[bf16], index: u32| of[index as usize].to_f32();
            let name = "ladder_mma";
            compare(name, &c, shape, |row, depth| at(&a, row * k + depth), |depth, column| at(&b, column * k + depth));
        }
        refuses::<u32, _>((&stream, &module), ladder_mma, [128, 32])
    });
}
