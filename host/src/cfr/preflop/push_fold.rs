//! Pushing or folding before the flop.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use super::{Equities, N_CLASSES, N_HANDS};
use crate::cfr::game::{Game, Turn};
use crate::cfr::spot::grid;
use crate::cfr::{Options, Point, Solver, Tree};
use crate::{Device, Error, Precision, Progress, Result};

/// The small blind pushes all-in or folds, then the big blind calls or folds. Chips are counted in big blinds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PushFold {
    /// What each seat has before blinds and antes: the smaller of both stacks.
    pub stack: f64,
    /// The small blind.
    pub small_blind: f64,
    /// What each seat pays before the blinds.
    pub ante: f64,
}

/// A solved [`PushFold`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PushFoldSolved {
    /// The game.
    pub game: PushFold,
    /// How often the small blind pushes, by [class](super::N_CLASSES).
    pub push: Vec<f64>,
    /// How often the big blind calls a push, by class.
    pub call: Vec<f64>,
    /// What the small blind wins a hand, in big blinds; the big blind wins the opposite.
    pub value: f64,
    /// Half of NashConv, in big blinds.
    pub exploitability: f64,
}

/// Solutions for several stacks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PushFoldChart {
    /// In the order of the stacks, from the smallest.
    pub solved: Vec<PushFoldSolved>,
}

/// Decisions of both seats, as actions: fold is 0.
const STAYS_IN: usize = 1;

impl PushFold {
    /// With a small blind of half a big blind and no ante.
    pub fn new(stack: f64) -> Self {
        Self { stack, small_blind: 0.5, ante: 0.0 }
    }

    /// Checks the numbers.
    ///
    /// # Errors
    /// [`Error::Option`] with what is allowed.
    pub fn check(&self) -> Result<()> {
        let Self { stack, small_blind, ante } = *self;
        if !(0.0..=1.0).contains(&small_blind) {
            return Err(Error::option("small_blind", small_blind, "0 to 1 big blind"));
        }
        if !(0.0..=100.0).contains(&ante) {
            return Err(Error::option("ante", ante, "0 to 100 big blinds"));
        }
        if stack > 1.0 + ante && stack <= 1e6 {
            return Ok(());
        }
        Err(Error::option(
            "stack",
            stack,
            format!("more than the blind and the ante, {}, to 1000000 big blinds", 1.0 + ante),
        ))
    }

    /// Solves the game in `iterations` of discounted regret minimisation.
    ///
    /// # Errors
    /// As [`check`](Self::check); errors of the device.
    pub fn solve(&self, device: &Device, iterations: u64) -> Result<PushFoldSolved> {
        self.solve_watched(device, iterations, |_| ControlFlow::Continue(()))
    }

    /// The same; `watch` may end it early, with the strategies of the iterations so far.
    ///
    /// # Errors
    /// As [`solve`](Self::solve).
    pub fn solve_watched(
        &self,
        device: &Device,
        iterations: u64,
        watch: impl FnMut(&Progress<Point>) -> ControlFlow<()>,
    ) -> Result<PushFoldSolved> {
        self.check()?;
        let options = Options { iterations, precision: Precision::F64, ..Options::SPOT };
        let mut solver = Solver::builder(Tree::build(self)?).options(options).build(device)?;
        solver.run(watch)?;
        let measured = solver.exploitability()?;
        let (mut push, mut call) = (vec![0.0; N_CLASSES], vec![0.0; N_CLASSES]);
        solver.strategy()?.each(|answer| -> Result<()> {
            let of_seat = if answer.seat == 0 { &mut push } else { &mut call };
            let class = answer.key.split_once(':').and_then(|(_, number)| number.parse::<usize>().ok());
            let frequency = class.and_then(|class| of_seat.get_mut(class));
            match (frequency, answer.choices.get(STAYS_IN)) {
                (Some(frequency), Some(choice)) => *frequency = choice.probability,
                _ => return Err(Error::option("key", format!("'{}'", answer.key), "a seat and a class, as 0:168")),
            }
            Ok(())
        })?;
        Ok(PushFoldSolved {
            game: *self,
            push,
            call,
            value: measured.value.first().copied().unwrap_or_default(),
            exploitability: measured.exploitability,
        })
    }
}

/// A deal of two classes, and what the seats did.
#[derive(Clone, Copy, Debug)]
pub struct State {
    /// Classes of the small and the big blind; `None` before the deal.
    classes: Option<[usize; 2]>,
    small_blind: Option<usize>,
    big_blind: Option<usize>,
}

impl Game for PushFold {
    type State = State;

    fn name(&self) -> String {
        format!("push or fold with {} big blinds", self.stack)
    }

    fn n_players(&self) -> usize {
        2
    }

    fn root(&self) -> State {
        State { classes: None, small_blind: None, big_blind: None }
    }

    fn turn(&self, state: &State) -> Turn {
        let Some([first, second]) = state.classes else {
            let deals = (0..N_CLASSES * N_CLASSES).map(|deal| Equities::pairs(deal / N_CLASSES, deal % N_CLASSES));
            let pairs: Vec<u64> = deals.collect();
            let all: u64 = pairs.iter().sum();
            return Turn::Chance(pairs.into_iter().map(|pairs| pairs as f64 / all as f64).collect());
        };
        let won = match (state.small_blind, state.big_blind) {
            (None, _) => return Turn::Decision { seat: 0, n_actions: 2 },
            (Some(STAYS_IN), None) => return Turn::Decision { seat: 1, n_actions: 2 },
            (Some(STAYS_IN), Some(STAYS_IN)) => self.stack * (2.0 * Equities::get().equity(first, second) - 1.0),
            (Some(STAYS_IN), Some(_)) => 1.0 + self.ante,
            (Some(_), _) => -(self.small_blind + self.ante),
        };
        Turn::End(vec![won, -won])
    }

    fn next(&self, state: &State, action: usize) -> State {
        match (state.classes, state.small_blind) {
            (None, _) => State { classes: Some([action / N_CLASSES, action % N_CLASSES]), ..*state },
            (_, None) => State { small_blind: Some(action), ..*state },
            _ => State { big_blind: Some(action), ..*state },
        }
    }

    fn key(&self, state: &State) -> String {
        let seat = usize::from(state.small_blind.is_some());
        format!("{seat}:{}", state.classes.map_or(0, |classes| classes[seat]))
    }

    fn action_name(&self, state: &State, action: usize) -> String {
        let names = if state.small_blind.is_none() { ["fold", "push"] } else { ["fold", "call"] };
        names.get(action).unwrap_or(&"").to_string()
    }
}

impl PushFoldSolved {
    /// How often a seat, 0 the small blind, stays in, by class.
    fn of_seat(&self, seat: usize) -> &[f64] {
        if seat == 0 { &self.push } else { &self.call }
    }

    /// How often a seat, 0 the small blind, stays in over all hands.
    pub fn frequency(&self, seat: usize) -> f64 {
        let hands =
            self.of_seat(seat).iter().enumerate().map(|(class, part)| part * grid::combos(class).count() as f64);
        hands.sum::<f64>() / N_HANDS as f64
    }
}

impl PushFoldChart {
    /// Solves the game for each stack, from the smallest. `watch` is called about ten times a second with the number of stacks that are solved; if it returns `Break`, the chart has those,
    /// or with none solved yet the first one, with the iterations so far.
    ///
    /// # Errors
    /// As [`PushFold::solve`].
    pub fn solve(
        device: &Device,
        games: &[PushFold],
        iterations: u64,
        mut watch: impl FnMut(usize) -> ControlFlow<()>,
    ) -> Result<Self> {
        games.iter().try_for_each(PushFold::check)?;
        let mut games = games.to_vec();
        games.sort_by(|a, b| a.stack.total_cmp(&b.stack));
        let mut solved = Vec::with_capacity(games.len());
        for (number, game) in games.iter().enumerate() {
            let mut is_stopped = false;
            let found = game.solve_watched(device, iterations, |_| {
                let go_on = watch(number);
                is_stopped = go_on.is_break();
                go_on
            })?;
            if !is_stopped || number == 0 {
                solved.push(found);
            }
            if is_stopped || watch(number + 1).is_break() {
                break;
            }
        }
        Ok(Self { solved })
    }

    /// The largest stack of the chart with which a seat, 0 the small blind, stays in with a class in at least half of the cases; `None` if there is none.
    pub fn largest_stack(&self, seat: usize, class: usize) -> Option<f64> {
        let stays_in = |solved: &&PushFoldSolved| solved.of_seat(seat).get(class).is_some_and(|&part| part >= 0.5);
        self.solved.iter().rev().find(stays_in).map(|solved| solved.game.stack)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_that_is_stopped_has_what_is_solved() {
        let games = [2.0, 3.0, 4.0].map(PushFold::new);
        let chart = |stop: usize| {
            let watch = |n: usize| if n < stop { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
            let chart = PushFoldChart::solve(&Device::cpu(), &games, 20, watch).expect("solves");
            chart.solved.iter().map(|solved| solved.game.stack).collect::<Vec<_>>()
        };
        assert_eq!(
            [chart(0), chart(1), chart(2), chart(3)],
            [vec![2.0], vec![2.0], vec![2.0, 3.0], vec![2.0, 3.0, 4.0]]
        );
    }

    #[test]
    fn wrong_numbers_are_told() {
        for (game, told) in [
            (PushFold::new(1.0), "more than the blind and the ante"),
            (PushFold::new(f64::NAN), "stack"),
            (PushFold { small_blind: 2.0, ..PushFold::new(10.0) }, "0 to 1 big blind"),
            (PushFold { ante: -1.0, ..PushFold::new(10.0) }, "ante"),
        ] {
            let error = game.solve(&Device::cpu(), 10).expect_err("wrong").to_string();
            assert!(error.contains(told), "{error}");
        }
    }
}
