//! A game as the kernel wants it: the public tree walked once, paths and lists written down, offsets in shared memory assigned.

use warpplay_gpu::cfr::small::layout::{BoardRecord, CHUNK, Game, MAX_STREETS, Seat, factor, list, node, outcome};

use super::walk::{Item, SeatWalk, Walk};
use crate::cfr::game::ranking::Ranking;
use crate::cfr::layout::VectorGame;
use crate::cfr::options::{Options, Sampling};
use crate::runtime::error::bytes;
use crate::{Device, Error, Precision, Result};

/// Maximum number of hands of a seat: a terminal compares every pair of hands.
pub(super) const MAX_HANDS: usize = 128;
/// Most deals of an iteration.
pub(super) const MAX_DEALS: u32 = 256;

/// The layout of a game; offsets in global memory are still 0.
pub(super) struct Plan {
    pub game: Game,
    pub words: Vec<u32>,
    pub chunks: Vec<u64>,
    /// Weights and payoffs.
    pub reals: Vec<f64>,
    pub boards: Vec<BoardRecord>,
    pub hands: Vec<u64>,
    /// Items of the largest phase.
    pub largest_phase: u32,
    /// Shared memory in bytes.
    pub shared_bytes: u32,
}

/// Bytes of a number.
pub(super) fn real_bytes(precision: Precision) -> Result<u32> {
    match precision {
        Precision::F32 => Ok(4),
        Precision::F64 => Ok(8),
        _ => Err(Error::option("precision", precision, "f32 or f64 with engine small")),
    }
}

/// Number of deals that an iteration draws; 0 without sampling.
pub(super) fn n_deals(options: &Options) -> Result<u32> {
    match options.sampling {
        Sampling::None => Ok(0),
        Sampling::External | Sampling::Outcome => Err(Error::option(
            "sampling",
            options.sampling,
            "none, chance, public_chance, opponent_public or self_public with engine small",
        )),
        _ if !(1..=MAX_DEALS).contains(&options.batch) => {
            Err(Error::option("batch", options.batch, format!("1 to {MAX_DEALS} with engine small")))
        }
        _ => Ok(options.batch),
    }
}

/// The error for a game that the engine does not support.
fn refuse(reason: String) -> Error {
    Error::option("engine", "small", format!("{reason}: engine street has no such bound"))
}

impl Plan {
    /// Lays a game out for the options, or returns why it does not fit before anything large is allocated.
    pub fn new(device: &Device, game: &VectorGame, options: &Options) -> Result<Self> {
        let real = real_bytes(options.precision)?;
        let n_deals = n_deals(options)?;
        let predicts = options.step(1).predicts;
        let most = device.info()?.max_shared_per_block;
        check_size(game, real, predicts, most)?;
        if matches!(options.sampling, Sampling::Chance | Sampling::OpponentPublic | Sampling::SelfPublic)
            && game.streets.iter().any(|street| street.boards.iter().any(|board| board.members != [0]))
        {
            let allowed = "none or public_chance with suit isomorphism; without it also the others";
            return Err(Error::option("sampling", options.sampling, allowed));
        }
        let plan = Writer::new(game, predicts, n_deals).write(game, &Walk::new(game)?)?;
        let shared_bytes = plan.game.shared_bytes(real, n_deals);
        if shared_bytes > most {
            return Err(too_large(shared_bytes.into(), most));
        }
        Ok(Self { shared_bytes, ..plan })
    }
}

fn too_large(needed: u64, most: u32) -> Error {
    refuse(format!(
        "the game needs {} of shared memory, a block of the device has {}",
        bytes(needed),
        bytes(most.into())
    ))
}

/// Refuses a game that cannot fit, judging by sizes alone.
fn check_size(game: &VectorGame, real: u32, predicts: bool, most: u32) -> Result<()> {
    if let Some(hands) = game.hands.iter().map(Vec::len).find(|n| !(1..=MAX_HANDS).contains(n)) {
        return Err(refuse(format!("a seat has {hands} hands, allowed are 1 to {MAX_HANDS}")));
    }
    if game.streets.is_empty() || game.streets.len() > MAX_STREETS {
        return Err(refuse(format!("the game has {} streets, allowed are 1 to {MAX_STREETS}", game.streets.len())));
    }
    // Strategy, regrets and averages of both seats; the last regrets of one, or of both.
    let tables = [0, 1].map(|seat| game.table_len(seat) as u64);
    let last = if predicts { tables[0] + tables[1] } else { tables[0].max(tables[1]) };
    let needed = (3 * (tables[0] + tables[1]) + last) * u64::from(real);
    if needed > most.into() {
        return Err(too_large(needed, most));
    }
    let nodes = game.streets.iter().map(|street| {
        let nodes: usize = street.entries.iter().map(|entry| entry.nodes.len()).sum();
        street.boards.len() as u64 * nodes as u64
    });
    let nodes: u64 = nodes.sum();
    // Offsets are numbers of 16 bits, and each node has at least one value.
    if nodes > 1 << 16 {
        return Err(refuse(format!("the public tree has {nodes} nodes, allowed are {}", 1 << 16)));
    }
    Ok(())
}

/// An index of 16 bits.
fn index(value: usize) -> Result<u64> {
    match u16::try_from(value) {
        Ok(value) => Ok(value.into()),
        Err(_) => Err(refuse(format!("offset {value} of its values is beyond {}", u16::MAX))),
    }
}

/// A value that must fit in `bits` bits.
fn field(value: usize, bits: u32, what: &str) -> Result<u32> {
    if value < 1 << bits {
        return Ok(value as u32);
    }
    Err(refuse(format!("{value} {what} are more than {}", (1u32 << bits) - 1)))
}

/// The layout under construction.
struct Writer {
    game: Game,
    words: Vec<u32>,
    chunks: Vec<u64>,
    reals: Vec<f64>,
    predicts: bool,
    n_deals: u32,
}

impl Writer {
    fn new(game: &VectorGame, predicts: bool, n_deals: u32) -> Self {
        let most_hands = game.hands.iter().map(Vec::len).max().unwrap_or(0) as u32;
        let game = Game {
            most_hands,
            n_streets: game.streets.len() as u32,
            n_first_boards: game.streets[0].boards.len() as u32,
            ..Game::default()
        };
        Self { game, words: Vec::new(), chunks: Vec::new(), reals: Vec::new(), predicts, n_deals }
    }

    fn write(mut self, game: &VectorGame, walk: &Walk) -> Result<Plan> {
        self.game.n_terminals = walk.terminals.len() as u32;
        for number in 0..2 {
            let n_hands = game.hands[number].len() as u32;
            let stride = n_hands.next_multiple_of(CHUNK);
            let seat = &mut self.game.seats[number];
            seat.n_hands = n_hands;
            seat.hands_factor = factor(n_hands);
            seat.stride = stride;
            seat.stride_factor = factor(stride);
            seat.n_vectors = walk.seats[number].n_vectors() as u32;
            seat.n_nodes = walk.seats[number].nodes.len() as u32;
        }
        self.assign_reals();
        let codes = codes(game);
        for (number, codes) in codes.iter().enumerate() {
            self.write_paths(number, &walk.seats[number])?;
            self.write_nodes(number, &walk.seats[number])?;
            self.write_lists(number, &walk.seats[number])?;
            let seat = &mut self.game.seats[number];
            seat.code_words = game.hands[1 - number].len().div_ceil(outcome::PER_WORD as usize) as u32;
            seat.terminals = self.words.len() as u32;
            seat.codes = seat.terminals + self.game.n_terminals;
            let stride = self.game.seats[1 - number].stride as usize;
            for terminal in &walk.terminals {
                let row = index(terminal.rows[1 - number] as usize * stride)? as u32;
                self.words.push(row | (index(terminal.board as usize)? as u32) << 16);
            }
            self.words.extend(codes);
            self.reals.extend(&game.weights[number]);
            self.reals.extend(walk.terminals.iter().flat_map(|terminal| terminal.payoffs[number]));
        }
        let pairs = game.hands[0].iter().map(|a| game.hands[1].iter().filter(|&b| a & b == 0).count());
        self.game.n_pairs = pairs.sum::<usize>() as u32;
        self.game.n_chunks = self.chunks.len() as u32;
        self.game.n_words = self.words.len() as u32;
        let largest_phase = self.largest_phase();
        Ok(Plan {
            game: self.game,
            words: self.words,
            chunks: self.chunks,
            reals: self.reals,
            boards: boards(game),
            hands: game.hands.concat(),
            largest_phase,
            shared_bytes: 0,
        })
    }

    /// Assigns the offsets of all reals.
    fn assign_reals(&mut self) {
        let game = &mut self.game;
        let values = game.seats.map(|seat| (game.n_terminals + seat.n_nodes) * seat.n_hands);
        let mut next = game.most_hands + values[0].max(values[1]);
        let mut take = |n: u32| {
            let at = next;
            next += n;
            at
        };
        let rows = game.seats.map(|seat| (seat.n_vectors + 1) * seat.stride);
        game.reach = take(rows[0].max(rows[1]));
        let tables = game.seats.map(|seat| seat.n_vectors * seat.n_hands);
        let shared_last = if self.predicts { None } else { Some(take(tables[0].max(tables[1]))) };
        for (seat, table) in game.seats.iter_mut().zip(tables) {
            seat.strategy = take(table + seat.n_hands);
            seat.regrets = take(table);
            seat.averages = take(table);
            seat.last = shared_last.unwrap_or_else(|| take(table));
        }
        game.given_reals = take(0);
        for seat in &mut game.seats {
            seat.weights = take(seat.n_hands);
            seat.payoffs = take(3 * game.n_terminals);
        }
        game.n_given_reals = take(0) - game.given_reals;
        game.factors = take(self.n_deals * MAX_STREETS as u32);
        game.n_reals = take(0);
    }

    /// Adds the indices in chunks, filling up the last one with `filling`; returns the number of chunks.
    fn push_chunks(&mut self, indices: &[usize], filling: usize) -> Result<usize> {
        for four in indices.chunks(CHUNK as usize) {
            let mut chunk = 0;
            for slot in 0..CHUNK as usize {
                chunk |= index(four.get(slot).copied().unwrap_or(filling))? << (16 * slot);
            }
            self.chunks.push(chunk);
        }
        Ok(indices.len().div_ceil(CHUNK as usize))
    }

    fn write_paths(&mut self, number: usize, walk: &SeatWalk) -> Result<()> {
        let n_hands = self.game.seats[number].n_hands as usize;
        let ones = walk.n_vectors() * n_hands;
        let mut rows = vec![0];
        for path in &walk.paths {
            let start = field(self.chunks.len(), list::START_BITS, "chunks")?;
            let indices: Vec<usize> = path.vectors.iter().map(|&vector| vector as usize * n_hands).collect();
            let n = field(self.push_chunks(&indices, ones)?, list::COUNT_BITS, "chunks of a path")?;
            rows.push(start | n << list::START_BITS | if path.locked { list::LOCKED } else { 0 });
        }
        self.game.seats[number].paths = self.words.len() as u32;
        self.words.extend(rows);
        Ok(())
    }

    fn write_nodes(&mut self, number: usize, walk: &SeatWalk) -> Result<()> {
        self.game.seats[number].nodes = self.words.len() as u32;
        let mut levels = vec![0];
        for (index, &id) in walk.order.iter().enumerate() {
            let of_walk = &walk.nodes[id as usize];
            if index > 0 && walk.nodes[walk.order[index - 1] as usize].level != of_walk.level {
                levels.push(index as u32);
            }
            let vector = field(of_walk.vector as usize, node::VECTOR_BITS, "action vectors")?;
            let actions = field(of_walk.n_actions, node::ACTION_BITS, "actions")?;
            let locked = if of_walk.locked { node::LOCKED } else { 0 };
            self.words.push(vector | actions << node::VECTOR_BITS | locked);
        }
        let seat = &mut self.game.seats[number];
        seat.levels = self.words.len() as u32;
        seat.n_levels = if walk.order.is_empty() { 0 } else { levels.len() as u32 };
        self.words.extend(levels);
        self.words.push(walk.order.len() as u32);
        Ok(())
    }

    fn write_lists(&mut self, number: usize, walk: &SeatWalk) -> Result<()> {
        let n_hands = self.game.seats[number].n_hands as usize;
        let terminals = self.game.most_hands as usize;
        let nodes = terminals + self.game.n_terminals as usize * n_hands;
        let offset = |item: &Item| match *item {
            Item::Terminal(terminal) => terminals + terminal as usize * n_hands,
            Item::Node(id) => nodes + walk.rank[id as usize] as usize * n_hands,
        };
        let mut words = Vec::new();
        for items in &walk.lists {
            let start = field(self.chunks.len(), list::START_BITS, "chunks")?;
            let permuted = items.iter().any(|(_, map)| map.is_some());
            let n = if permuted {
                // A chunk for each hand follows that of the hand before; hand by hand it is the same number of chunks.
                let first = self.chunks.len();
                let n = items.len().div_ceil(CHUNK as usize);
                self.chunks.resize(first + n * n_hands, 0);
                for (at, (item, map)) in items.iter().enumerate() {
                    for hand in 0..n_hands {
                        let renamed = map.as_ref().map_or(hand, |map| map[hand] as usize);
                        let chunk = &mut self.chunks[first + at / CHUNK as usize * n_hands + hand];
                        *chunk |= index(offset(item) + renamed)? << (16 * (at % CHUNK as usize));
                    }
                }
                n
            } else {
                let indices: Vec<usize> = items.iter().map(|(item, _)| offset(item)).collect();
                self.push_chunks(&indices, 0)?
            };
            let n = field(n, list::COUNT_BITS, "chunks of a list")?;
            words.push(start | n << list::START_BITS | if permuted { list::PERMUTED } else { 0 });
        }
        self.game.seats[number].lists = self.words.len() as u32;
        self.words.extend(words);
        Ok(())
    }

    fn largest_phase(&self) -> u32 {
        let of_seat = |seat: &Seat| {
            let down = (seat.n_vectors + 1) * seat.stride;
            down.max(self.game.n_terminals * seat.n_hands)
        };
        self.game.seats.iter().map(of_seat).max().unwrap_or(1).max(1)
    }
}

/// Outcomes by seat: `[board over all streets][own hand][words]`.
fn codes(game: &VectorGame) -> [Vec<u32>; 2] {
    let ranking = Ranking::new(game.deck);
    let mut codes = [Vec::new(), Vec::new()];
    for (number, street) in game.streets.iter().enumerate() {
        let shows = number + 1 == game.streets.len();
        for board in &street.boards {
            let strength = |hand: u64| if shows { ranking.strength(hand | board.cards) } else { 0 };
            let strengths = [0, 1].map(|seat: usize| {
                let hands = game.hands[seat].iter();
                hands.map(|&hand| (hand & board.cards == 0).then(|| strength(hand))).collect::<Vec<_>>()
            });
            for (seat, codes) in codes.iter_mut().enumerate() {
                for (own, of_own) in strengths[seat].iter().enumerate() {
                    for (word, theirs) in strengths[1 - seat].chunks(outcome::PER_WORD as usize).enumerate() {
                        let mut bits = 0;
                        for (slot, of_other) in theirs.iter().enumerate() {
                            let other = game.hands[1 - seat][word * outcome::PER_WORD as usize + slot];
                            let code = match (of_own, of_other) {
                                (Some(a), Some(b)) if game.hands[seat][own] & other == 0 => match a.cmp(b) {
                                    std::cmp::Ordering::Less => outcome::LOSE,
                                    std::cmp::Ordering::Equal => outcome::TIE,
                                    std::cmp::Ordering::Greater => outcome::WIN,
                                },
                                _ => outcome::IMPOSSIBLE,
                            };
                            bits |= code << (2 * slot);
                        }
                        codes.push(bits);
                    }
                }
            }
        }
    }
    codes
}

/// The boards of all streets, for drawing.
fn boards(game: &VectorGame) -> Vec<BoardRecord> {
    let mut records = Vec::new();
    let mut first = 0;
    for (number, street) in game.streets.iter().enumerate() {
        let next_first = first + street.boards.len() as u32;
        for (board, of_street) in street.boards.iter().enumerate() {
            let (child, n_children) = match game.streets.get(number + 1) {
                Some(next) => super::walk::children(next, board as u32),
                None => (0, 0),
            };
            records.push(BoardRecord {
                cards: of_street.cards,
                first_child: next_first + child,
                n_children,
                n_members: of_street.members.len() as u32,
                reserved: 0,
            });
        }
        first = next_first;
    }
    records
}
