//! Sums whose base moves on: kernels read the right words, and whether the driver's compiler would have.

use warpplay::{Device, LaunchShape, Module, PtxImage, PtxSet};
use warpplay_gpu_builder::{stale_sums, with_opaque_sums};
use warpplay_test_kernels::ptx::SMALL;
use warpplay_test_kernels::small::test_moved_base;
use warpplay_tests::Checked;
use warpplay_tests::backends::{each_image, for_each_device, gpu};
use warpplay_tests::tolerance::same;

use crate::ptx::{body, is_there};

/// Lanes of a warp, which is the block.
const LANES: u32 = 32;

/// What [`test_moved_base`] puts out: the word and the sum of each lane.
fn run(device: &Device, set: &PtxSet, [n, step, index]: [u32; 3]) -> Result<Vec<[u32; 2]>, warpplay::Error> {
    let stream = device.stream()?;
    let mut out = stream.alloc::<[u32; 2]>(LANES as usize)?;
    // Twice as many words as there are, so that a wrong address is one of the block's too.
    let shape = LaunchShape::new(1, LANES).with_shared(8 * n);
    let function = Module::load(device, set)?.function(test_moved_base)?;
    // SAFETY: a pair a lane; the callers' steps are at least 1 and `n` at least `index` and 36.
    unsafe { stream.launch(&function, shape, (&mut out, n, step, index))? };
    stream.read(&out)
}

fn expected([n, step, index]: [u32; 3]) -> Vec<[u32; 2]> {
    let sum = (0..n).step_by(step as usize).sum();
    (0..LANES).map(|lane| [4 + index + lane, sum]).collect()
}

#[test]
fn an_address_does_not_follow_the_base_that_it_was_made_from() {
    for_each_device(|device| -> Checked {
        for set in each_image(device, &SMALL) {
            for case in [[36, 1, 0], [64, 32, 0], [300, 7, 100], [512, 512, 476]] {
                same(&format!("n, step, index {case:?}"), &run(device, &set, case)?, &expected(case));
            }
        }
        Ok(())
    });
}

/// The text without what the builder added to its sums.
fn as_compiled(ptx: &str) -> String {
    ptx.split_inclusive('\n').filter(|line| !line.contains("warpplay_zero")).collect()
}

#[test]
fn the_kernel_has_such_a_sum_and_the_builder_made_it_opaque() {
    if !is_there(&SMALL) {
        return;
    }
    for image in SMALL.images {
        let text = image.text().expect("PTX");
        assert_eq!(stale_sums(&text).expect("PTX"), [], "{}", image.arch);
        let plain = as_compiled(&text);
        assert_eq!(with_opaque_sums(&plain).expect("PTX"), text, "{}", image.arch);
        for name in ["test_moved_base", "test_small_measure_f32"] {
            let found = stale_sums(&format!(".visible {}\n}}", body(&plain, name))).expect("PTX");
            println!("{name} for {}: {found:?}", image.arch);
            // What the other kernel's sums become is the compiler's affair.
            assert!(name != "test_moved_base" || !found.is_empty(), "{name} for {} tests nothing any more", image.arch);
        }
    }
}

/// `test_moved_base`, written by hand: the driver's compiler sees the same text whatever compiler the crate was built with.
const BY_HAND: &str = "\
.version 6.3
.target sm_75
.address_size 64
.extern .shared .align 16 .b8 words[];
.visible .entry test_moved_base(.param .u64 out, .param .u32 n, .param .u32 step, .param .u32 index)
{
	.reg .pred %p<4>;
	.reg .b32 %r<16>;
	.reg .b64 %rd<4>;
	ld.param.b64 %rd1, [out];
	ld.param.b32 %r1, [n];
	ld.param.b32 %r2, [step];
	ld.param.b32 %r3, [index];
	mov.u32 %r4, %tid.x;
	mov.u32 %r5, words;
	shl.b32 %r13, %r1, 1; // all words, twice n
	mov.b32 %r6, %r4;
$L_fill:
	shl.b32 %r7, %r6, 2;
	add.s32 %r7, %r7, %r5;
	st.shared.b32 [%r7], %r6;
	add.s32 %r6, %r6, 32;
	setp.lt.u32 %p1, %r6, %r13;
	@%p1 bra $L_fill;
	bar.sync 0;
	add.s32 %r8, %r5, 16; // the sum
	mov.b32 %r9, 0;
	mov.b32 %r10, 0;
	shl.b32 %r11, %r2, 2;
$L_walk:
	ld.shared.b32 %r12, [%r5];
	add.s32 %r9, %r9, %r12;
	add.s32 %r5, %r5, %r11; // its base moves
	add.s32 %r10, %r10, %r2;
	setp.lt.u32 %p2, %r10, %r1;
	@%p2 bra $L_walk;
	add.s32 %r14, %r3, %r4;
	shl.b32 %r14, %r14, 2;
	add.s32 %r14, %r14, %r8;
	ld.shared.b32 %r15, [%r14];
	mul.wide.u32 %rd2, %r4, 8;
	add.s64 %rd3, %rd1, %rd2;
	st.global.b32 [%rd3], %r15;
	st.global.b32 [%rd3+4], %r9;
	ret;
}
";

/// A set of one text.
fn set(text: &str) -> PtxSet {
    let images = vec![PtxImage::plain("sm_75", text.to_owned().leak())].leak();
    PtxSet { name: "by_hand", images, missing: None }
}

#[test]
fn the_drivers_compiler_keeps_an_opaque_sum() {
    let Some(gpu) = gpu() else { return };
    // A wrong address is that of word 64 + 4 + lane, below twice `n`.
    let case = [64, 32, 0];
    let opaque = with_opaque_sums(BY_HAND).expect("PTX");
    assert_ne!(opaque, BY_HAND);
    same("opaque", &run(&gpu, &set(&opaque), case).expect("runs"), &expected(case));
    // A driver may have the fault or not; the suite only says which.
    let plain = run(&gpu, &set(BY_HAND), case).expect("runs");
    match plain == expected(case) {
        true => println!("the compiler of {gpu}'s driver keeps the plain sum too"),
        false => println!(
            "the compiler of {gpu}'s driver has the fault: lane 0 reads word {} in place of {}",
            plain[0][0],
            expected(case)[0][0]
        ),
    }
}
