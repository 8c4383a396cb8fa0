//! One pass over all boards and hands for one seat: reaches downwards, values upwards.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::ends::{self, Ends, Hands};
use super::gadget::Choice;
use super::program::{Op, Other, Own, Program};
use super::seat::{Part, Seat, divide, write_given};
use super::vectors::{Real, add, add_averages, add_product, learn, matched, multiply, raise, subtract};
use crate::cfr::layout::{Given, Shown, VectorGame};

/// What the passing seat does.
#[derive(Clone, Copy)]
pub(super) enum Role<'a, S> {
    /// Plays its current strategy, and updates regrets and averages.
    Learn,
    /// Computes and stores its best response.
    Answer,
    /// Computes the values of its best response.
    Best,
    /// Computes the values of the average strategies of this table.
    Average(&'a [S]),
}

/// How the other seat plays.
pub(super) enum Opponent<'a, S> {
    /// Plays the strategy of its regrets.
    Regrets(&'a Seat<S>),
    /// Plays a best response.
    Answer(&'a [S]),
    /// Plays the average strategies of this table.
    Average(&'a [S]),
}

/// Factors and weights that an iteration applies to cumulative regrets and averages.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Step<T> {
    /// Factors of cumulative regrets after adding this iteration's regrets: of those that are ≥ 0, and of the others.
    pub factors: [T; 2],
    /// Weight of this iteration's strategy in the average.
    pub weight: T,
    /// 1 if the next strategy is matched from `max(cumulative + last, 0)`, else 0.
    pub predicts: T,
}

/// Compiled programs and reusable vectors, shared by all passes.
pub(super) struct Workspace<T> {
    ends: Ends,
    /// `[seat][street][entry]`.
    programs: [Vec<Vec<Program>>; 2],
    /// Vectors that no pass uses at the moment.
    vectors: Mutex<Vec<Vectors<T>>>,
}

/// The vectors of an entry on a board.
#[derive(Default)]
struct Vectors<T> {
    /// Reach of the passing seat and of the other; a pass that does not learn leaves the first as it is, and nobody reads it.
    reaches: [Vec<Vec<T>>; 2],
    /// The passing seat's strategy, one vector after the other.
    played: Vec<T>,
    /// The strategy of the other seat at a node.
    other: Vec<T>,
    /// Sums over the actions of a node.
    sums: Vec<T>,
    values: Vec<Vec<T>>,
    ends: ends::Scratch<T>,
}

/// A pass over the game for one seat, in numbers `T`, over tables of numbers `S`.
pub(super) struct Pass<'a, T, S> {
    pub game: &'a VectorGame,
    pub shown: &'a [Shown],
    pub workspace: &'a Workspace<T>,
    /// The passing seat.
    pub seat: usize,
    pub role: Role<'a, S>,
    pub step: Step<T>,
    pub opponent: Opponent<'a, S>,
    /// In a subgame, the choice before the first decision.
    pub choice: Option<&'a Choice>,
}

/// A betting subtree on a board.
#[derive(Clone, Copy)]
struct At {
    street: usize,
    board: usize,
    entry: usize,
}

impl<T: Real> Workspace<T> {
    pub fn new(game: &VectorGame) -> Self {
        let programs = [0, 1].map(|seat| {
            let of_street = |street: &crate::cfr::layout::Street| {
                street.entries.iter().map(|entry| Program::new(entry, seat)).collect()
            };
            game.streets.iter().map(of_street).collect()
        });
        Self { ends: Ends::new(game), programs, vectors: Mutex::default() }
    }

    /// Vectors as a program needs them, with any values.
    fn take(&self, program: &Program, n_hands: [usize; 2]) -> Vectors<T> {
        let mut vectors = self.vectors.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        let [own, other] = n_hands;
        let grow = |vectors: &mut Vec<Vec<T>>, n: usize, n_hands: usize| {
            if vectors.len() < n {
                vectors.resize_with(n, || vec![T::default(); n_hands]);
            }
            vectors[..n].iter_mut().for_each(|vector| vector.resize(n_hands, T::default()));
        };
        grow(&mut vectors.reaches[0], program.n_reaches[0], own);
        grow(&mut vectors.reaches[1], program.n_reaches[1], other);
        grow(&mut vectors.values, program.n_values, own);
        let room = program.n_played * own;
        if vectors.played.len() < room {
            vectors.played.resize(room, T::default());
        }
        vectors
    }

    fn give_back(&self, vectors: Vectors<T>) {
        self.vectors.lock().unwrap_or_else(PoisonError::into_inner).push(vectors);
    }
}

impl<T: Real, S: Real> Pass<'_, T, S> {
    /// Passes through the game and returns the values of the seat's hands at the root; the seat writes to `part`.
    pub fn run(&self, part: Part<S>) -> Vec<T> {
        let mut parts = part.by_street(self.game, self.seat);
        let rounded = |values: &[f64], factor: f64| values.iter().map(|value| T::rounded(value * factor)).collect();
        let [own, mut other]: [Vec<T>; 2] = [
            rounded(&self.game.weights[self.seat], 1.0),
            // With the scale in it values are chips times probabilities, as the regrets have to be.
            rounded(&self.game.weights[1 - self.seat], self.game.scale),
        ];
        let chooses = self.game.gadget.as_ref().is_some_and(|gadget| gadget.seat != self.seat);
        if let Some(choice) = self.choice.filter(|_| chooses) {
            for (hand, reach) in other.iter_mut().enumerate() {
                *reach = T::rounded(reach.widened() * choice.plays_on(hand));
            }
        }
        let [values] = self.deal(0, 0, &[(0, [&own, &other])], &mut parts).try_into().unwrap_or_default();
        values
    }

    /// Values at the ends of a street's betting, before the cards of `street` are dealt, from the boards after `parent`. An exit is the entry it leads to, and the reach there of the passing seat
    /// and of the other. All of them are dealt together, so that threads meet once.
    fn deal(&self, street: usize, parent: usize, exits: &[(usize, [&[T]; 2])], parts: &mut [Part<S>]) -> Vec<Vec<T>> {
        let game = self.game;
        let boards = &game.streets[street].boards;
        let first = boards.partition_point(|board| (board.parent as usize) < parent);
        let end = boards.partition_point(|board| board.parent as usize <= parent);
        let mut divided = divide(game, self.seat, street, first..end, parts);
        let of_board = |(number, parts): (usize, &mut Vec<Part<S>>)| -> Vec<Vec<T>> {
            let board = first + number;
            let of_exit = |&(entry, reach): &(usize, [&[T]; 2])| {
                let values = self.board(At { street, board, entry }, parts, reach);
                let mut sum = vec![T::default(); values.len()];
                for &member in &boards[board].members {
                    for (sum, &image) in sum.iter_mut().zip(&game.permutations[member as usize][self.seat]) {
                        *sum += values[image as usize];
                    }
                }
                sum
            };
            exits.iter().map(of_exit).collect()
        };
        let sums: Vec<Vec<Vec<T>>> = divided.par_iter_mut().enumerate().map(of_board).collect();
        // In the order of the boards, so that the bits do not depend on the number of threads.
        sums.into_iter()
            .reduce(|mut totals, sums| {
                totals.iter_mut().zip(&sums).for_each(|(total, sum)| add(total, sum));
                totals
            })
            .unwrap_or_else(|| vec![vec![T::default(); game.hands[self.seat].len()]; exits.len()])
    }

    /// Values of an entry on a board, from the reach before its cards are dealt.
    fn board(&self, at: At, parts: &mut [Part<S>], reach: [&[T]; 2]) -> Vec<T> {
        let program = &self.workspace.programs[self.seat][at.street][at.entry];
        let (game, seats) = (self.game, [self.seat, 1 - self.seat]);
        let mut vectors = self.workspace.take(program, seats.map(|seat| game.hands[seat].len()));
        let board = &game.streets[at.street].boards[at.board];
        // The other's reach carries the probability of the cards, so that regrets below are weighed with it.
        for (side, chance) in [T::rounded(1.0), T::rounded(board.weight)].into_iter().enumerate() {
            let possible = vectors.reaches[side][0].iter_mut().zip(reach[side].iter().zip(&game.hands[seats[side]]));
            for (possible, (&reach, &hand)) in possible {
                *possible = if hand & board.cards == 0 { reach * chance } else { T::default() };
            }
        }
        self.down(at, program, &mut parts[0], &mut vectors);
        let is_last = at.street + 1 == game.streets.len();
        let hands = Hands { game, seat: self.seat, cards: board.cards, shown: is_last.then(|| &self.shown[at.board]) };
        let ends = (&program.showdowns[..], &program.folds[..]);
        self.workspace.ends.evaluate(hands, ends, &vectors.reaches[1], &mut vectors.values, &mut vectors.ends);
        if !is_last {
            let exits = program.ops.iter().filter_map(|op| match *op {
                Op::Exit { entry, reach: [own, other], value } => {
                    Some((value, (entry, [&vectors.reaches[0][own][..], &vectors.reaches[1][other]])))
                }
                Op::Own(_) | Op::Other(_) | Op::End => None,
            });
            let (numbers, exits): (Vec<usize>, Vec<_>) = exits.unzip();
            let values = self.deal(at.street + 1, at.board, &exits, &mut parts[1..]);
            numbers.into_iter().zip(values).for_each(|(number, values)| vectors.values[number] = values);
        }
        self.up(at, program, &mut parts[0], &mut vectors);
        let values = vectors.values[program.value].clone();
        self.workspace.give_back(vectors);
        values
    }

    /// Strategies, reaches and averages.
    fn down(&self, at: At, program: &Program, part: &mut Part<S>, vectors: &mut Vectors<T>) {
        for op in &program.ops {
            match op {
                Op::Own(own) => match self.role {
                    Role::Learn => self.play(at, own, part, vectors),
                    Role::Average(averages) => self.play_average(at, own, averages, vectors),
                    Role::Answer | Role::Best => {}
                },
                Op::Other(other) => self.play_other(at, other, vectors),
                Op::Exit { .. } | Op::End => {}
            }
        }
    }

    fn play(&self, at: At, own: &Own, part: &mut Part<S>, vectors: &mut Vectors<T>) {
        let n = self.game.hands[self.seat].len();
        let row = vectors_of(own.slot, own.n_actions, n);
        let played = &mut vectors.played[vectors_of(own.played, own.n_actions, n)];
        let [regrets, averages, last] = &mut part.written;
        let given = self.given(at, own.locked);
        let last = last.get(row.clone()).unwrap_or_default();
        vectors.sums.resize(n, T::default());
        matched(played, &regrets[row.clone()], last, self.step.predicts, &mut vectors.sums);
        if let Some(given) = given {
            write_given(played, given);
        }
        for (action, &after) in own.reach_after.iter().enumerate() {
            let played = &played[vectors_of(action, 1, n)];
            let averages = &mut averages[vectors_of(own.slot + action, 1, n)];
            add_averages(averages, self.step.weight, &vectors.reaches[0][own.reach], played);
            if let Some(after) = after {
                let (before, after) = vectors.reaches[0].split_at_mut(after);
                multiply(&mut after[0], &before[own.reach], played);
            }
        }
        // A given strategy is its own average.
        if let Some(given) = given {
            write_given(&mut averages[row], given);
        }
    }

    fn play_average(&self, at: At, own: &Own, averages: &[S], vectors: &mut Vectors<T>) {
        let n = self.game.hands[self.seat].len();
        let first = self.game.offset(self.seat, at.street, at.board, own.slot as u32);
        let played = &mut vectors.played[vectors_of(own.played, own.n_actions, n)];
        vectors.sums.resize(n, T::default());
        matched(played, &averages[first..first + own.n_actions * n], &[], T::default(), &mut vectors.sums);
    }

    fn play_other(&self, at: At, other: &Other, vectors: &mut Vectors<T>) {
        let (game, seat) = (self.game, 1 - self.seat);
        let n = game.hands[seat].len();
        let first = game.offset(seat, at.street, at.board, other.slot as u32);
        let row = first..first + other.n_actions * n;
        let mut written = std::mem::take(&mut vectors.other);
        written.resize(other.n_actions * n, T::default());
        match &self.opponent {
            Opponent::Regrets(tables) => {
                let last = tables.predictions.get(row.clone()).unwrap_or_default();
                vectors.sums.resize(n, T::default());
                matched(&mut written, &tables.regrets[row], last, self.step.predicts, &mut vectors.sums);
            }
            Opponent::Average(averages) => {
                vectors.sums.resize(n, T::default());
                matched(&mut written, &averages[row], &[], T::default(), &mut vectors.sums);
            }
            Opponent::Answer(answers) => {
                written
                    .iter_mut()
                    .zip(&answers[row])
                    .for_each(|(part, of_table)| *part = T::rounded(of_table.widened()));
            }
        }
        if let Some(given) = self.given(at, other.locked) {
            write_given(&mut written, given);
        }
        let (before, after) = vectors.reaches[1].split_at_mut(other.reach_after);
        for (action, after) in after[..other.n_actions].iter_mut().enumerate() {
            multiply(after, &before[other.reach], &written[vectors_of(action, 1, n)]);
        }
        vectors.other = written;
    }

    /// Values and regrets.
    fn up(&self, at: At, program: &Program, part: &mut Part<S>, vectors: &mut Vectors<T>) {
        for op in program.ops.iter().rev() {
            match op {
                Op::Own(own) => self.value(at, own, part, vectors),
                Op::Other(other) => {
                    let mut sum = std::mem::take(&mut vectors.values[other.values[0]]);
                    for &after in &other.values[1..] {
                        add(&mut sum, &vectors.values[after]);
                    }
                    vectors.values[other.values[0]] = sum;
                }
                Op::Exit { .. } | Op::End => {}
            }
        }
    }

    fn value(&self, at: At, own: &Own, part: &mut Part<S>, vectors: &mut Vectors<T>) {
        let n = self.game.hands[self.seat].len();
        let row = vectors_of(own.slot, own.n_actions, n);
        let given = self.given(at, own.locked);
        let mut result = std::mem::take(&mut vectors.values[own.value]);
        result.fill(T::default());
        let values_after = || own.values.iter().map(|&after| &vectors.values[after][..]);
        match self.role {
            Role::Answer => {
                answer(&mut part.written[0][row.clone()], given, &values_after().collect::<Vec<_>>(), &mut result);
            }
            Role::Best => best(given, values_after(), &mut result),
            Role::Average(_) | Role::Learn => {
                let played = vectors.played[vectors_of(own.played, own.n_actions, n)].chunks_exact(n.max(1));
                values_after().zip(played).for_each(|(values, played)| add_product(&mut result, values, played));
            }
        }
        if matches!(self.role, Role::Learn) {
            let [regrets, _, last] = &mut part.written;
            for (action, values) in values_after().enumerate() {
                let row = vectors_of(own.slot + action, 1, n);
                learn(&mut regrets[row.clone()], values, &result, self.step.factors);
                if let Some(last) = last.get_mut(row) {
                    subtract(last, values, &result);
                }
            }
            if let Some(given) = given {
                [regrets, last]
                    .into_iter()
                    .filter_map(|table| table.get_mut(row.clone()))
                    .for_each(|table| clear(table, given));
            }
        }
        vectors.values[own.value] = result;
    }

    /// What is given at a locked node.
    fn given(&self, at: At, node: Option<usize>) -> Option<&Given> {
        self.game.given(at.street, at.entry, node?, at.board)
    }
}

/// Where `count` vectors of `n_hands` hands lie, from the one numbered `first` on.
fn vectors_of(first: usize, count: usize, n_hands: usize) -> Range<usize> {
    first * n_hands..(first + count) * n_hands
}

/// Forgets what hands with a given strategy have learnt.
fn clear<S: Real>(table: &mut [S], given: &Given) {
    for vector in table.chunks_exact_mut(given.hands.len()) {
        given.numbers().for_each(|hand| vector[hand] = S::default());
    }
}

/// Writes the value of the best action of every hand, or of its given strategy. `largest` is 0 before.
fn best<'a, T: Real>(given: Option<&Given>, mut values: impl Iterator<Item = &'a [T]> + Clone, largest: &mut [T]) {
    let all = values.clone();
    if let Some(first) = values.next() {
        largest.copy_from_slice(first);
    }
    values.for_each(|values| raise(largest, values));
    if let Some(given) = given {
        for hand in given.numbers() {
            let played = given.strategy.iter().zip(all.clone());
            largest[hand] =
                played.fold(T::default(), |sum, (part, values)| sum + T::rounded(part[hand]) * values[hand]);
        }
    }
}

/// Writes the best action of every hand, or its given strategy, and adds the resulting values to `sum`. Among equal actions it takes the first.
fn answer<T: Real, S: Real>(answers: &mut [S], given: Option<&Given>, values: &[&[T]], sum: &mut [T]) {
    let n_hands = sum.len();
    for (hand, sum) in sum.iter_mut().enumerate() {
        let given = given.filter(|given| given.hands[hand]);
        let best = (1..values.len()).fold(0, |best, at| if values[at][hand] > values[best][hand] { at } else { best });
        for (action, values) in values.iter().enumerate() {
            let best = f64::from(u8::from(action == best));
            let part = T::rounded(given.map_or(best, |given| given.strategy[action][hand]));
            answers[action * n_hands + hand] = S::rounded(part.widened());
            *sum += part * values[hand];
        }
    }
}
