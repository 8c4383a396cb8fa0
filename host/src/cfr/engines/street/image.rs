//! Games as the kernels take them: arrays on the host, ready to be uploaded.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::sync::Arc;

use warpplay_gpu::cfr::street::layout::{self, BEGINS, Board, Eval, Link, Op, Program, Record, Segment};
use warpplay_gpu::cfr::street::{parts, returns};

use super::boards::{Hands, n_list_rows, strides};
use super::compile::{Compiled, Frame, compile};
use crate::cfr::layout::VectorGame;
use crate::{DeviceInfo, Error, Result};

/// Shared memory that the driver reserves in every block, in bytes.
const RESERVED_SHARED: u32 = 1024;
/// The largest inverse prior, 2⁶⁴, with which averages are added from a reach that includes priors. Own reach is at most 1, so reach × inverse, which is the own reach, does not overflow; and an
/// own reach down to 2⁻⁶² leaves a reach of at least 2⁻¹²⁶, a normal number that has lost no bits.
const LARGEST_INVERSE_PRIOR: f32 = (1u128 << 64) as f32;

/// A street of all games.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Level {
    /// Most boards × entries of a game.
    pub n_subtrees: u32,
    /// Length of the longest row.
    pub stride: u32,
    /// Number of values in a block's shared memory.
    pub n_shared: u32,
    /// Blocks that share a subtree's hands, where the street is not the last.
    pub n_parts: u32,
    /// Most blocks of a game that add up the values of the next street; 0 for the last street.
    pub n_return_blocks: u32,
}

/// The sizes of games in the kernels' arrays, and their compiled subtrees.
#[derive(Clone, Debug, Default)]
pub(super) struct Shape {
    pub levels: Vec<Level>,
    /// By street and game: lengths of rows.
    strides: Vec<Vec<[u32; 2]>>,
    /// By street and game, then (entry, traverser).
    compiled: Vec<Vec<Vec<Compiled>>>,
    /// Values of each seat's tables.
    pub table_len: [u64; 2],
    /// Values of reach, and of values.
    pub reach_len: u64,
    pub values_len: u64,
    /// Sums of utilities.
    pub utilities_len: u64,
    /// Bytes of the constant arrays of hands and boards.
    pub static_bytes: u64,
}

/// Hands between two rows that have the game's own numbers.
fn hand_stride(game: &VectorGame) -> u64 {
    game.hands[0].len().max(game.hands[1].len()) as u64
}

/// Sets of arrays of hands: one where both seats have the same hands.
fn n_sets(game: &VectorGame) -> u64 {
    if game.hands[0] == game.hands[1] { 1 } else { 2 }
}

/// Compiles all subtrees of a street, if possible such that two blocks fit into a multiprocessor's shared memory.
fn compile_street(
    game: &VectorGame,
    street: usize,
    stride: [u32; 2],
    n_subtrees: u32,
    info: &DeviceInfo,
) -> Result<Vec<Compiled>> {
    let most = info.max_shared_per_block / 4;
    let half = ((info.max_shared_per_multiprocessor / 2).saturating_sub(RESERVED_SHARED) / 4).min(most);
    // A block that is alone on its multiprocessor may have all of the shared memory.
    let budgets = if n_subtrees > info.n_multiprocessors { [half, most] } else { [most, most] };
    let attempt = |budget: u32| {
        let frame = Frame { stride, n_hole: game.n_hole as u32, budget };
        let entries = game.streets[street].entries.iter();
        entries.flat_map(|entry| [0, 1].map(|seat| compile(entry, seat, &frame))).collect::<Result<Vec<_>, u32>>()
    };
    attempt(budgets[0]).or_else(|_| attempt(budgets[1])).map_err(|needed| {
        Error::option(
            "engine",
            "street",
            format!(
                "street {street} of the game has a betting subtree that needs {} bytes of shared memory for rows of {} and {} hands, a block has {}: \
                 ask for fewer bet sizes or raises",
                u64::from(needed) * 4,
                stride[0],
                stride[1],
                info.max_shared_per_block
            ),
        )
    })
}

impl Shape {
    /// Sizes of games with the same number of streets.
    pub fn new<G: Borrow<VectorGame>>(games: &[G], info: &DeviceInfo) -> Result<Self> {
        let mut shape = Self::default();
        let n_streets = games.first().map_or(0, |game| game.borrow().streets.len());
        if let Some(other) = games.iter().map(Borrow::borrow).find(|game| game.streets.len() != n_streets) {
            let allowed = format!("{n_streets} streets, as the first game of the batch");
            return Err(Error::option("batch", format!("a game of {} streets", other.streets.len()), allowed));
        }
        for street in 0..n_streets {
            let mut level = Level::default();
            let (mut all_strides, mut all_compiled) = (Vec::new(), Vec::new());
            for game in games.iter().map(Borrow::borrow) {
                let here = &game.streets[street];
                let stride = strides(game, street);
                let (n_boards, n_entries) = (here.boards.len() as u64, here.entries.len() as u64);
                let n_subtrees = u32::try_from(n_boards * n_entries).ok().filter(|&n| n <= i32::MAX as u32);
                let n_subtrees = n_subtrees.ok_or_else(|| {
                    let value = format!("{n_boards} boards × {n_entries} entries on street {street}");
                    Error::option("engine", value, format!("at most {} betting subtrees a street", i32::MAX))
                })?;
                let n_all = n_subtrees.saturating_mul(games.len() as u32);
                let compiled = compile_street(game, street, stride, n_all, info)?;
                level.n_subtrees = level.n_subtrees.max(n_subtrees);
                level.stride = level.stride.max(stride[0]).max(stride[1]);
                level.n_shared = compiled.iter().map(|c| c.n_shared).fold(level.n_shared, u32::max);
                for (seat, len) in shape.table_len.iter_mut().enumerate() {
                    *len += n_boards * u64::from(here.n_slots[seat]) * u64::from(stride[seat]);
                }
                let n_parents = if street == 0 { 1 } else { game.streets[street - 1].boards.len() as u64 };
                shape.reach_len += 2 * n_parents * n_entries * hand_stride(game);
                shape.values_len += n_sets(game) * n_boards * n_entries * hand_stride(game);
                let row = u64::from(stride[0]) + if n_sets(game) == 2 { u64::from(stride[1]) } else { 0 };
                let of_hand = size_of::<Record>() as u64 + 2;
                let lists = n_sets(game) * u64::from(n_list_rows(game)) * 2 * u64::from(BEGINS);
                shape.static_bytes +=
                    n_boards * (row * of_hand + lists + 4 * u64::from(BEGINS) + size_of::<Board>() as u64);
                for lock in game.locks.iter().filter(|lock| lock.street == street) {
                    let n_rows: usize = lock.given.iter().map(|given| given.strategy.len()).sum();
                    shape.static_bytes += 4 * (n_boards + n_rows as u64 * hand_stride(game));
                }
                if street + 1 == n_streets {
                    shape.static_bytes += 4 * n_boards * u64::from(stride[0] + stride[1]);
                }
                if street == 0 {
                    shape.utilities_len += n_boards * u64::from(stride[0] + stride[1]);
                    // Alternative, reach and two regrets of a hand.
                    let n_choices = game.gadget.as_ref().map_or(0, |gadget| gadget.alternatives.len());
                    shape.static_bytes += 16 * n_choices as u64;
                }
                if let Some(next) = game.streets.get(street + 1) {
                    let n_blocks =
                        returns::n_blocks(n_boards as u32, next.entries.len() as u32, hand_stride(game) as u32);
                    let n_blocks = u32::try_from(n_blocks).ok().filter(|&n| n <= i32::MAX as u32).ok_or_else(|| {
                        let value = format!("{n_boards} boards × {} exits of street {street}", next.entries.len());
                        Error::option(
                            "engine",
                            value,
                            format!("at most {} blocks of {} hands", i32::MAX, returns::BLOCK),
                        )
                    })?;
                    level.n_return_blocks = level.n_return_blocks.max(n_blocks);
                }
                all_strides.push(stride);
                all_compiled.push(compiled);
            }
            level.n_parts =
                parts(level.n_subtrees.saturating_mul(games.len() as u32), level.stride, info.n_multiprocessors);
            shape.levels.push(level);
            shape.strides.push(all_strides);
            shape.compiled.push(all_compiled);
        }
        Ok(shape)
    }
}

/// The arrays.
#[derive(Clone, Debug, Default)]
pub(super) struct Image {
    /// `[street][game]`, followed by one more row of games that is never used.
    pub streets: Vec<layout::Street>,
    pub programs: Vec<Program>,
    pub segments: Vec<Segment>,
    pub evals: Vec<Eval>,
    pub ops: Vec<Op>,
    pub operands: Vec<u32>,
    pub boards: Vec<Board>,
    pub links: Vec<Link>,
    pub permutations: Vec<u16>,
    pub hands: Vec<u16>,
    pub records: Vec<Record>,
    pub inverse_priors: Vec<f32>,
    pub given_rows: Vec<u32>,
    pub given: Vec<f32>,
    pub lists: Vec<u16>,
    pub begins: Vec<u16>,
    /// Reach at the roots, by offset.
    pub roots: Vec<(u64, Vec<f32>)>,
}

/// Offsets handed out so far.
#[derive(Default)]
struct Ends {
    tables: [u64; 2],
    reach: u64,
    values: u64,
    utilities: u64,
}

impl Image {
    /// The arrays of some games.
    pub fn new(games: &[Arc<VectorGame>], shape: &Shape) -> Self {
        let mut image = Self::default();
        let mut ends = Ends::default();
        let permutations: Vec<u64> = games.iter().map(|game| image.add_permutations(game)).collect();
        for street in 0..shape.levels.len() {
            for (number, game) in games.iter().enumerate() {
                let mut here = image.add_hands(game, street);
                here.permutations = permutations[number];
                here.stride = shape.strides[street][number];
                let given = image.add_locks(game, street);
                here.programs = image.add_programs(&shape.compiled[street][number], &given);
                here.masks = [0, game.hands[0].len() as u64];
                image.assign_offsets(game, street, &mut here, &mut ends);
                image.streets.push(here);
            }
        }
        image.add_boards(games);
        image.add_priors(games);
        image.streets.extend((0..games.len()).map(|_| layout::Street::default()));
        image
    }

    fn add_permutations(&mut self, game: &VectorGame) -> u64 {
        let first = self.permutations.len() as u64;
        let stride = hand_stride(game) as usize;
        for of_seat in game.permutations.iter().flatten() {
            let end = self.permutations.len() + stride;
            self.permutations.extend(of_seat.iter().map(|&hand| hand as u16));
            self.permutations.resize(end, 0);
        }
        first
    }

    fn add_hands(&mut self, game: &VectorGame, street: usize) -> layout::Street {
        let hands = Hands::new(game, street);
        let first = self.hands.len() as u64;
        let second = if hands.shared { first } else { first + hands.numbers[0].len() as u64 };
        let lists = self.lists.len() as u64;
        let lists = [lists, if hands.shared { lists } else { lists + hands.lists[0].len() as u64 }];
        for seat in 0..2 {
            self.hands.extend_from_slice(&hands.numbers[seat]);
            self.records.extend_from_slice(&hands.records[seat]);
            self.lists.extend_from_slice(&hands.lists[seat]);
        }
        self.begins.extend_from_slice(&hands.begins);
        let boards = self.boards.len() as u64;
        for (board, &n_hands) in game.streets[street].boards.iter().zip(&hands.counts) {
            self.boards.push(Board { parent: board.parent, chance: board.weight as f32, n_hands, ..Board::default() });
        }
        layout::Street {
            hands: [first, second],
            lists,
            n_list_rows: n_list_rows(game),
            boards,
            ..layout::Street::default()
        }
    }

    /// What is given at the nodes of a street: for (entry, node), the first of its boards' words.
    fn add_locks(&mut self, game: &VectorGame, street: usize) -> HashMap<(usize, usize), u32> {
        let stride = hand_stride(game) as usize;
        let mut firsts = HashMap::new();
        for lock in game.locks.iter().filter(|lock| lock.street == street) {
            let mut rows = Vec::with_capacity(lock.given.len());
            for given in &lock.given {
                rows.push((self.given.len() / stride) as u32);
                for vector in &given.strategy {
                    let end = self.given.len() + stride;
                    let of_hands = vector.iter().zip(&given.hands);
                    self.given.extend(of_hands.map(|(&part, &is_given)| if is_given { part as f32 } else { -1.0 }));
                    self.given.resize(end, -1.0);
                }
            }
            firsts.insert((lock.entry, lock.node), self.given_rows.len() as u32);
            let of_board = |given: &Option<u32>| given.map_or(layout::NONE, |given| rows[given as usize]);
            self.given_rows.extend(lock.of_boards.iter().map(of_board));
        }
        firsts
    }

    /// * `given`: for (entry, node), what an operation there has as `given`.
    fn add_programs(&mut self, compiled: &[Compiled], given: &HashMap<(usize, usize), u32>) -> u32 {
        let first = self.programs.len() as u32;
        // By entry, a subtree for each traverser.
        for (number, subtree) in compiled.iter().enumerate() {
            let (ops, operands) = (self.ops.len() as u32, self.operands.len() as u32);
            let (segments, evals) = (self.segments.len() as u32, self.evals.len() as u32);
            let moved = |range: [u32; 2], by: u32| range.map(|end| end + by);
            let program = subtree.program;
            self.programs.push(Program {
                own: moved(program.own, ops),
                down: moved(program.down, ops),
                segments: moved(program.segments, segments),
                ..program
            });
            self.segments.extend(subtree.segments.iter().map(|segment| Segment {
                down: moved(segment.down, ops),
                evals: moved(segment.evals, evals),
                up: moved(segment.up, ops),
            }));
            self.evals.extend_from_slice(&subtree.evals);
            self.ops.extend(subtree.ops.iter().map(|op| Op {
                operands: if op.operands == layout::NONE { layout::NONE } else { op.operands + operands },
                given: given.get(&(number / 2, op.given as usize)).copied().unwrap_or_default(),
                ..*op
            }));
            self.operands.extend_from_slice(&subtree.operands);
        }
        first
    }

    /// Assigns the offsets of a street's tables, reach and values.
    fn assign_offsets(&mut self, game: &VectorGame, street: usize, here: &mut layout::Street, ends: &mut Ends) {
        let of = &game.streets[street];
        let (n_boards, n_entries) = (of.boards.len() as u64, of.entries.len() as u64);
        let row = hand_stride(game);
        here.n_boards = n_boards as u32;
        here.n_entries = n_entries as u32;
        here.n_hands = [0, 1].map(|seat| game.hands[seat].len() as u32);
        here.n_slots = of.n_slots;
        here.hand_stride = row as u32;
        here.n_hole = game.n_hole as u32;
        here.n_cards = game.deck.n_cards();
        here.is_first = u32::from(street == 0);
        let n_parents = if street == 0 { 1 } else { game.streets[street - 1].boards.len() as u64 };
        for seat in 0..2 {
            here.tables[seat] = ends.tables[seat];
            ends.tables[seat] += n_boards * u64::from(of.n_slots[seat]) * u64::from(here.stride[seat]);
            here.reach[seat] = ends.reach;
            ends.reach += n_parents * n_entries * row;
            if street == 0 {
                here.utilities[seat] = ends.utilities;
                ends.utilities += n_boards * u64::from(here.stride[seat]);
                let reach = game.weights[seat].iter().map(|weight| (weight * game.scale) as f32).collect();
                self.roots.push((here.reach[seat], reach));
            }
        }
        here.values = [ends.values; 2];
        ends.values += n_boards * n_entries * row;
        // Seats with other hands have rows of their own: what one blocks the other may write.
        if n_sets(game) == 2 {
            here.values[1] = ends.values;
            ends.values += n_boards * n_entries * row;
        }
    }

    /// Links from boards to those of the next street, and the numbers of parents.
    fn add_boards(&mut self, games: &[Arc<VectorGame>]) {
        let n_all = self.boards.len() as u32;
        for (at, here) in self.streets.clone().into_iter().enumerate() {
            let (street, game) = (at / games.len(), &games[at % games.len()]);
            let first = here.boards as usize;
            for board in &mut self.boards[first..first + here.n_boards as usize] {
                board.parent_global = match at.checked_sub(games.len()) {
                    Some(before) => self.streets[before].boards as u32 + board.parent,
                    None => n_all,
                };
            }
            let Some(next) = game.streets.get(street + 1) else { continue };
            // Children of one parent are consecutive, parents in order.
            let mut child = 0;
            for parent in 0..here.n_boards {
                let from = self.links.len() as u32;
                while next.boards.get(child).is_some_and(|board| board.parent == parent) {
                    let members = next.boards[child].members.iter();
                    self.links.extend(members.map(|&permutation| Link { board: child as u32, permutation }));
                    child += 1;
                }
                self.boards[first + parent as usize].links = [from, self.links.len() as u32];
            }
        }
    }

    /// The inverse priors of the last street's hands: 1 / the factors of their reach that are not strategies.
    fn add_priors(&mut self, games: &[Arc<VectorGame>]) {
        let first_of_last = self.streets.len() - games.len();
        for (number, game) in games.iter().enumerate() {
            // Probabilities of the boards of a street, by those of the street before.
            let mut chances = vec![1.0];
            for street in &game.streets {
                let boards = street.boards.iter();
                chances = boards.map(|board| f64::from(board.weight as f32) * chances[board.parent as usize]).collect();
            }
            let at = first_of_last + number;
            for seat in 0..2 {
                let here = self.streets[at];
                let (first, stride) = (here.hands[seat] as usize, here.stride[seat] as usize);
                self.streets[at].inverse_priors[seat] = self.inverse_priors.len() as u64;
                for (board, chance) in chances.iter().enumerate() {
                    let n = self.boards[here.boards as usize + board].n_hands[seat] as usize;
                    let inverse = |&hand: &u16| {
                        let weight = game.weights[seat][hand as usize];
                        let prior = f64::from((weight * game.scale) as f32) * chance;
                        if weight > 0.0 { (1.0 / prior) as f32 } else { 0.0 }
                    };
                    let end = self.inverse_priors.len() + stride;
                    self.inverse_priors.extend(self.hands[first + board * stride..][..n].iter().map(inverse));
                    self.inverse_priors.resize(end, 0.0);
                }
            }
        }
    }

    /// Whether own reach can be found as reach × inverse prior, without overflow and with all bits.
    pub fn has_usable_priors(&self) -> bool {
        self.inverse_priors.iter().all(|&inverse| inverse <= LARGEST_INVERSE_PRIOR)
    }
}

/// The reason why no kernel of this engine can hold the game's cards, if so.
pub(super) fn unfit(game: &VectorGame) -> Option<String> {
    let n_cards = game.deck.n_cards();
    if !(1..=2).contains(&game.n_hole) {
        return Some(format!("{} private cards, engine street takes 1 or 2", game.n_hole));
    }
    if n_cards > layout::MAX_CARDS {
        return Some(format!("a deck of {n_cards} cards, engine street takes {}", layout::MAX_CARDS));
    }
    let most = game.hands.iter().map(Vec::len).max().unwrap_or(0);
    if most >= layout::NO_HAND as usize {
        return Some(format!("{most} hands of a seat, engine street takes fewer than {}", layout::NO_HAND));
    }
    None
}
