//! Measuring in single precision, which only this test does, beside measuring in double precision.

use std::sync::Arc;

use warpplay_gpu::cfr::small::layout::{CHUNK, list, node};
use warpplay_test_kernels::ptx::SMALL;
use warpplay_test_kernels::small::test_small_measure_f32;

use super::*;
use crate::cfr::engines::explicit::tests::devices;
use crate::cfr::game::betting::BettingTree;
use crate::cfr::game::extensive::tests::{KUHN, LEDUC, rules};
use crate::cfr::layout::VectorGame;
use crate::{Backend, Precision, PtxImage, PtxSet};

fn plan(device: &Device, text: &str, options: &Options) -> Result<Plan> {
    let rules = rules(text);
    let tree = BettingTree::new(&rules)?;
    Plan::new(device, &Arc::new(VectorGame::from_game(&rules, &tree, false)?), options)
}

/// Most roundings between an input and a result, in either precision: the longest chain of operations that the plan has.
fn roundings(plan: &Plan) -> u32 {
    let words = |from: u32, n: u32| plan.words[from as usize..(from + n) as usize].iter();
    let most =
        |of: &dyn Fn(&warpplay_gpu::cfr::small::layout::Seat) -> u32| plan.game.seats.iter().map(of).max().unwrap();
    let in_list = |word: &u32| CHUNK * (word >> list::START_BITS & ((1 << list::COUNT_BITS) - 1));
    let actions = most(&|seat| {
        let of_node = |word: &u32| word >> node::VECTOR_BITS & ((1 << node::ACTION_BITS) - 1);
        words(seat.nodes, seat.n_nodes).map(of_node).max().unwrap_or(0)
    });
    let on_path = most(&|seat| words(seat.paths, seat.n_vectors + 1).map(in_list).max().unwrap_or(0));
    let in_sum = most(&|seat| words(seat.lists, seat.n_vectors + 1).map(in_list).max().unwrap_or(0));
    // A probability: the sum of the averages of its node, then a quotient.
    let probability = actions + 1;
    // The weight from the host, then a product a step of the path.
    let reach = 1 + 1 + on_path * (probability + 1);
    // The payoff from the host, its product with each reach, the sum over the other's hands.
    let terminal = 1 + 1 + most(&|seat| seat.stride);
    // The sum of a list, its product with a probability, the sum over the actions.
    let node = in_sum + probability + 1 + actions;
    // The list of the root, and the weight from the host; what follows is in double precision.
    reach + terminal + most(&|seat| seat.n_levels) * node + in_sum + 1
}

/// What `n` roundings to nearest, with `epsilon` between 1 and the next number, do at most to each term of a sum of products (Higham, "Accuracy and Stability of
/// Numerical Algorithms", lemma 3.1).
fn gamma(n: u32, epsilon: f64) -> f64 {
    let nu = f64::from(n) * epsilon / 2.0;
    nu / (1.0 - nu)
}

/// Averages that both precisions hold, with zeros among them; after as many regrets.
fn state(plan: &Plan) -> Vec<f64> {
    (0..2 * plan.game.table_len()).map(|at| f64::from(at * 37 % 64 % 61)).collect()
}

fn measured_f64(stream: &Stream, device: &Device, plan: Plan, options: &Options) -> Result<Vec<f64>> {
    let state = state(&plan);
    let mut arrays = Arrays::<f64>::new(stream, &[plan], &[0], options)?;
    arrays.set_state(stream, 0, &state)?;
    arrays.measure(stream, &Kernels::load(device)?)
}

/// The kernels' PTX as the compiler wrote it, without what the builder added to its sums.
fn as_compiled() -> PtxSet {
    let plain = |image: &PtxImage| {
        let text = image.text().expect("PTX");
        let text: String = text.split_inclusive('\n').filter(|line| !line.contains("warpplay_zero")).collect();
        PtxImage::plain(image.arch, text.leak())
    };
    PtxSet { images: SMALL.images.iter().map(plain).collect::<Vec<_>>().leak(), ..SMALL }
}

fn measured_f32(stream: &Stream, device: &Device, set: &PtxSet, plan: Plan, options: &Options) -> Result<Vec<f64>> {
    let state: Vec<f32> = state(&plan).into_iter().map(|value| value as f32).collect();
    let mut arrays = Arrays::<f32>::new(stream, &[plan], &[0], options)?;
    arrays.set_state(stream, 0, &state)?;
    let launch = arrays.launch;
    let task = arrays.task(0, 0);
    let function = Module::load(device, set)?.function(test_small_measure_f32)?;
    // SAFETY: as in `measure`.
    unsafe { stream.run_unchecked_with(&function, launch, (task,)) }?;
    stream.read(&arrays.results)
}

/// Values and best responses are sums of products of reaches and payoffs, the latter the largest of such sums. So rounding changes them by at most `gamma` times
/// the same with absolute payoffs, of which the best response is the largest.
#[test]
fn single_precision_measures_what_double_precision_does() {
    let options = Options { precision: Precision::F64, ..Options::default() };
    for device in devices() {
        for text in [KUHN, LEDUC] {
            let stream = device.stream().expect("a stream");
            let plan = || plan(&device, text, &options).expect("fits");
            let n = roundings(&plan());
            let mut absolute = plan();
            absolute.reals.iter_mut().for_each(|real| *real = real.abs());
            let largest = measured_f64(&stream, &device, absolute, &options).expect("measures");
            let double = measured_f64(&stream, &device, plan(), &options).expect("measures");
            let single = measured_f32(&stream, &device, &SMALL, plan(), &options).expect("measures");
            if device.backend() == Backend::Cuda {
                // A driver may have the fault that the builder works around; which do is in `docs/safety.md`.
                let plain = measured_f32(&stream, &device, &as_compiled(), plan(), &options).expect("measures");
                println!("{device}: as the builder writes it {single:?}, as it was compiled {plain:?}");
            }
            let names = ["value of seat 0", "best response of seat 0", "value of seat 1", "best response of seat 1"];
            for (at, name) in names.into_iter().enumerate() {
                let bound = (gamma(n, f32::EPSILON.into()) + gamma(n, f64::EPSILON)) * largest[at | 1];
                let (single, double) = (single[at], double[at]);
                assert!(
                    (single - double).abs() <= bound,
                    "{name} on {device}: {single} in single precision, {double} in double precision, may differ by {bound:e}"
                );
            }
        }
    }
}
