//! How the time of one evaluation divides into the values of positions and the sum.

use super::super::program::{Program, Stages};
use super::Repetition;
use crate::experiment::{Run, Stop};
use warpplay::shogi::FIRST_VALUES;
use warpplay::{Backend, Device};

/// Where, and how long both stages took.
pub(super) fn of(paper: &Repetition<'_>, run: &mut Run<'_>) -> Result<Vec<(String, Stages)>, Stop> {
    let has_gpu = run.device().backend() == Backend::Cuda;
    run.expect(1 + u64::from(has_gpu));
    let mut found = Vec::new();
    for on_gpu in [false, true].into_iter().take(1 + usize::from(has_gpu)) {
        let name = if on_gpu { run.device().name() } else { "one core".to_string() };
        let key = format!("claims: stages on {}", if on_gpu { "the device" } else { "one core" });
        let stages = run.timed(&key, |now| {
            now.check()?;
            let device = if on_gpu { now.device } else { &Device::cpu() };
            let settings = &paper.settings;
            let mut program = Program::new(device, &paper.shards, settings.objective, 96, settings.repeat, Some(1))?;
            now.check()?;
            program.stages(&FIRST_VALUES)?;
            now.check()?;
            Ok(program.stages(&FIRST_VALUES)?)
        })?;
        found.push((name, stages));
    }
    Ok(found)
}
