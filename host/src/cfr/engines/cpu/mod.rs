//! The CPU device's engine for games in vector form: whole vectors of hands, boards side by side with rayon.
//!
//! Tables are in the precision of the options, and so is arithmetic, but for small games, whose exact ties need double precision; exploitability is measured in double precision.
//! Boards are added in a fixed order, so the bits do not depend on the number of threads. Tables have the layout of the GPU's engines; a solve is resumed by the engine that saved it.

mod ends;
mod evaluate;
mod gadget;
mod pass;
mod program;
mod seat;
#[cfg(test)]
mod tests;
mod vectors;

use std::sync::Arc;

pub(in crate::cfr) use self::evaluate::{At, Averages, Evaluator, Play};
use self::gadget::Choice;
use self::pass::{Opponent, Pass, Role, Step, Workspace};
use self::program::Program;
use self::seat::{Part, Seat};
use self::vectors::Real;
use super::Solve;
use crate::cfr::layout::{Entry, Measured, Shown, Street, Table, Tables, Values, VectorGame};
use crate::cfr::options::{Algorithm, Options, Sampling, Updates};
use crate::runtime::threads::Threads;
use crate::{Error, Memory, Precision, Result};

/// Checks that the engine supports the game (without sampling, tables in single or double precision), and returns the memory that it needs.
///
/// # Errors
/// [`Error::Option`] for other options.
pub(in crate::cfr) fn fits(game: &VectorGame, options: &Options) -> Result<Memory> {
    if options.sampling != Sampling::None {
        let allowed = "none in vector form on the CPU; chance of a game with engine walk or mccfr, all others on a GPU";
        return Err(Error::option("sampling", options.sampling, allowed));
    }
    if options.precision == Precision::I16 {
        return Err(Error::option("precision", options.precision, "f32 or f64 on the CPU; i16 on a GPU"));
    }
    if game.gadget.is_some() && options.algorithm == Algorithm::CfrBr {
        return Err(Error::option("algorithm", options.algorithm, "an algorithm other than cfr_br for a subgame"));
    }
    Ok(memory(game, options))
}

/// Allocates the memory.
///
/// # Errors
/// As [`fits`]; [`Error::Option`] if the threads cannot be started.
pub(in crate::cfr) fn build(game: Arc<VectorGame>, options: &Options) -> Result<Box<dyn Solve>> {
    fits(&game, options)?;
    Ok(match options.precision {
        Precision::F64 => Box::new(Cpu::<f64, f64>::new(game, options)?),
        _ if ends::is_small(&game) => Box::new(Cpu::<f64, f32>::new(game, options)?),
        _ => Box::new(Cpu::<f32, f32>::new(game, options)?),
    })
}

/// Memory of the engine, all of it counted as the host's.
fn memory(game: &VectorGame, options: &Options) -> Memory {
    let value = if options.precision == Precision::F64 { 8 } else { 4 };
    let size = game.size();
    let tables = |n: u64| size.table_bytes(n, value);
    // The order of the hands on every last board, eight bytes a hand.
    let hands: usize = game.hands.iter().map(Vec::len).sum();
    let boards = game.streets.last().map_or(0, |street| street.boards.len());
    let mut memory = Memory::default().on_host("regrets and averages", tables(2));
    for (what, wanted) in [
        ("last regrets", options.algorithm == Algorithm::PcfrPlus),
        ("best responses", options.algorithm == Algorithm::CfrBr),
        ("the strategies before an iteration", options.updates == Updates::Simultaneous),
    ] {
        if wanted {
            memory = memory.on_host(what, tables(1));
        }
    }
    // Small games compute in double precision, whatever the tables have.
    let computed = if ends::is_small(game) { 8 } else { value };
    // Usually a thread holds the vectors of one board of each street; while it waits for boards of the next street it may begin another.
    let vectors = |street: &Street| {
        let of_entry = |(seat, entry): (usize, &Entry)| {
            Program::new(entry, seat).n_numbers([game.hands[seat].len(), game.hands[1 - seat].len()])
        };
        let entries = street.entries.iter().flat_map(|entry| [(0, entry), (1, entry)]);
        entries.map(of_entry).max().unwrap_or_default() as u64
    };
    let n_vectors: u64 = game.streets.iter().map(vectors).sum();
    let threads = options.threads.unwrap_or_else(rayon::current_num_threads) as u64;
    memory
        .on_host("orders of hands", 8 * (hands * boards) as u64)
        .on_host("vectors of hands", threads * n_vectors * computed)
        .on_host("vectors of hands, measuring", threads * n_vectors * 8)
}

/// What each hand of `seat` wins with its best response to the other's strategy, in a subgame without its choice: counterfactual values in chips, with the game's scale. It runs in the caller's thread
/// pool if there is one, else on all cores.
///
/// * `other`: the other's table of averages.
pub(in crate::cfr) fn best_response(game: &VectorGame, seat: usize, other: &[f32]) -> Vec<f64> {
    let (shown, workspace, opponent) = (&game.shown()[..], &Workspace::new(game), Opponent::Average(other));
    Pass { game, shown, workspace, seat, role: Role::Best, step: Step::default(), opponent, choice: None }
        .run(Part::none())
}

/// The engine, with arithmetic in `T` and tables in `S`.
struct Cpu<T, S> {
    game: Arc<VectorGame>,
    /// The order of hands on every board of the last street.
    shown: Vec<Shown>,
    workspace: Workspace<T>,
    /// That of the passes that measure.
    measuring: Workspace<f64>,
    options: Options,
    iteration: u64,
    seats: [Seat<S>; 2],
    /// Best responses of CFR-BR, by seat; empty with other algorithms.
    answers: [Vec<S>; 2],
    utilities: [f64; 2],
    /// In a subgame.
    choice: Option<Choice>,
    threads: Threads,
}

impl<T: Real, S: Real> Cpu<T, S> {
    fn new(game: Arc<VectorGame>, options: &Options) -> Result<Self> {
        let seats = [0, 1].map(|seat| Seat::new(&game, seat, options.algorithm == Algorithm::PcfrPlus));
        let answers = [0, 1].map(|seat| {
            let wanted = options.algorithm == Algorithm::CfrBr;
            vec![S::default(); if wanted { game.table_len(seat) } else { 0 }]
        });
        Ok(Self {
            threads: Threads::pooled(options.threads)?,
            shown: game.shown(),
            workspace: Workspace::new(&game),
            choice: game.gadget.as_ref().map(Choice::new),
            measuring: Workspace::new(&game),
            game,
            options: *options,
            iteration: 0,
            seats,
            answers,
            utilities: [0.0; 2],
        })
    }

    fn iterate(&mut self) {
        self.iteration += 1;
        let learning = self.options.step(self.iteration);
        let step = Step {
            factors: [learning.positive, learning.negative].map(T::rounded),
            weight: T::rounded(learning.weight),
            predicts: T::rounded(f64::from(u8::from(learning.predicts))),
        };
        let (game, shown, workspace) = (&*self.game, &self.shown[..], &self.workspace);
        let before = (self.options.updates == Updates::Simultaneous).then(|| self.seats[0].strategy());
        for seat in 0..2 {
            if self.options.algorithm == Algorithm::CfrBr {
                // The other seat's best response to what this seat plays now.
                let opponent = Opponent::Regrets(&self.seats[seat]);
                let pass =
                    Pass { game, shown, workspace, seat: 1 - seat, role: Role::Answer, step, opponent, choice: None };
                pass.run(Part::answer(&mut self.answers[1 - seat]));
            }
            let (first, second) = self.seats.split_at_mut(1);
            let (own, other) = if seat == 0 { (&mut first[0], &second[0]) } else { (&mut second[0], &first[0]) };
            let opponent = if self.options.algorithm == Algorithm::CfrBr {
                Opponent::Answer(&self.answers[1 - seat])
            } else {
                Opponent::Regrets(before.as_ref().filter(|_| seat == 1).unwrap_or(other))
            };
            let choice = self.choice.as_ref();
            let pass = Pass { game, shown, workspace, seat, role: Role::Learn, step, opponent, choice };
            let values = pass.run(own.part());
            if let Some((gadget, choice)) = game.gadget.as_ref().zip(self.choice.as_mut())
                && gadget.seat == seat
            {
                choice.learn(gadget, &values, &learning.rounded());
            }
            self.utilities[seat] +=
                game.weights[seat].iter().zip(&values).map(|(weight, value)| weight * value.widened()).sum::<f64>();
        }
    }
}

impl<T: Real, S: Real> Solve for Cpu<T, S> {
    fn run(&mut self, n: u32) -> Result<()> {
        // Taken out for the call, since the work borrows the engine.
        let threads = std::mem::replace(&mut self.threads, Threads::All);
        threads.run(|| (0..n).for_each(|_| self.iterate()));
        self.threads = threads;
        Ok(())
    }

    fn measure(&mut self) -> Result<Measured> {
        let averages = self.seats.each_ref().map(|seat| &seat.averages[..]);
        let by_hand = |seat: usize, role: Role<S>| {
            let (game, shown, workspace) = (&*self.game, &self.shown[..], &self.measuring);
            let opponent = Opponent::Average(averages[1 - seat]);
            let pass = Pass { game, shown, workspace, seat, role, step: Step::default(), opponent, choice: None };
            self.threads.run(|| pass.run(Part::none()))
        };
        if let Some(gadget) = &self.game.gadget {
            return Ok(gadget.measured(&self.game.weights[gadget.seat], &by_hand(gadget.seat, Role::Best)));
        }
        let total = |seat: usize, role: Role<S>| {
            self.game.weights[seat].iter().zip(by_hand(seat, role)).map(|(weight, value)| weight * value).sum()
        };
        Ok(Measured {
            values: (0..2).map(|seat| total(seat, Role::Average(averages[seat]))).collect(),
            best_responses: (0..2).map(|seat| total(seat, Role::Best)).collect(),
        })
    }

    fn utilities(&mut self) -> Result<Vec<f64>> {
        Ok(self.utilities.to_vec())
    }

    fn tables(&mut self) -> Result<Tables> {
        let read =
            |of_seat: fn(&Seat<S>) -> &Vec<S>| self.seats.iter().map(|seat| S::wrap(of_seat(seat).clone())).collect();
        Ok(Tables {
            iteration: self.iteration,
            regrets: read(|seat| &seat.regrets),
            averages: read(|seat| &seat.averages),
            predictions: if self.options.algorithm == Algorithm::PcfrPlus {
                read(|seat| &seat.predictions)
            } else {
                Vec::new()
            },
            utilities: self.utilities.to_vec(),
            random: Vec::new(),
            choice: self.choice.as_ref().map(|choice| choice.regrets.clone()).unwrap_or_default(),
        })
    }

    fn table(&mut self, table: Table, seat: usize) -> Result<Values> {
        let seat = &self.seats[seat];
        Ok(S::wrap(match table {
            Table::Regrets => seat.regrets.clone(),
            Table::Averages => seat.averages.clone(),
            Table::Predictions => seat.predictions.clone(),
        }))
    }

    /// Nothing, and no copy of the tables to find that out.
    fn random(&mut self) -> Result<Vec<u64>> {
        Ok(Vec::new())
    }

    fn set_tables(&mut self, tables: &Tables) -> Result<()> {
        let predicts = self.options.algorithm == Algorithm::PcfrPlus;
        let n_predictions = if predicts { 2 } else { 0 };
        for (what, values, seats) in [
            ("regrets", &tables.regrets, 2),
            ("averages", &tables.averages, 2),
            ("last regrets", &tables.predictions, n_predictions),
        ] {
            if values.len() != seats {
                return Err(Error::shape(format!("tables of {what}"), seats, values.len()));
            }
            for (seat, values) in values.iter().enumerate() {
                let expected = self.game.table_len(seat);
                if values.len() != expected {
                    return Err(Error::shape(format!("{what} of seat {seat}"), expected, values.len()));
                }
            }
        }
        let &[first, second] = &tables.utilities[..] else {
            return Err(Error::shape("sums of utilities", 2, tables.utilities.len()));
        };
        let copy = |values: &Values| (0..values.len()).map(|at| S::rounded(values.get(at))).collect();
        for (seat, own) in self.seats.iter_mut().enumerate() {
            own.regrets = copy(&tables.regrets[seat]);
            own.averages = copy(&tables.averages[seat]);
            if predicts {
                own.predictions = copy(&tables.predictions[seat]);
            }
        }
        if let Some(choice) = &mut self.choice {
            choice.regrets = tables.choice_of(choice.regrets.len())?;
        }
        self.iteration = tables.iteration;
        self.utilities = [first, second];
        Ok(())
    }
}
