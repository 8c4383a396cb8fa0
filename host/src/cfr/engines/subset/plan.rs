//! A betting tree with one hole card a seat, as the kernels want it.

use rayon::prelude::*;
use warpplay_gpu::cfr::subset::layout::{CARDS, Node, OwnNode, row, terminal};

use crate::cfr::game::betting::{BettingKind, BettingNode, BettingTree, Size};
use crate::cfr::game::game_file::GameDef;
use crate::cfr::options::{Algorithm, Options, Sampling};
use crate::{Error, Memory, Precision, Result};

/// The layout of a game.
pub(super) struct Plan {
    pub n_players: usize,
    pub n_cards: usize,
    pub nodes: Vec<Node>,
    /// First node of each level, and the end.
    pub levels: Vec<u32>,
    /// Decision nodes seat by seat.
    pub own: Vec<OwnNode>,
    /// First of each seat in `own`, and the end.
    pub own_from: Vec<u32>,
    pub terminals: Vec<u32>,
    pub rows: Vec<[u32; CARDS]>,
    /// `[seat, terminal]`: payoff if the seat loses, and if it wins.
    pub payoffs: Vec<[f64; 2]>,
    /// Number of distinguishable deals, times the number of ways in which ghosts can hold the remaining cards.
    pub deals: f64,
}

fn refuse(reason: impl std::fmt::Display) -> Error {
    Error::option("engine", "subset", format!("{reason}: use engine explicit"))
}

/// Bytes of a number.
fn real_bytes(precision: Precision) -> Result<u64> {
    match precision {
        Precision::F32 => Ok(4),
        Precision::F64 => Ok(8),
        _ => Err(Error::option("precision", precision, "f32 or f64 with engine subset")),
    }
}

/// Checks everything that does not need the betting tree; returns the memory that the device needs.
pub(super) fn check(game: &GameDef, options: &Options) -> Result<Memory> {
    let real = real_bytes(options.precision)?;
    if options.sampling != Sampling::None {
        return Err(Error::option("sampling", options.sampling, "none with engine subset, whose iterations are exact"));
    }
    if options.algorithm == Algorithm::CfrBr {
        return Err(Error::option("algorithm", options.algorithm, "one without best responses with engine subset"));
    }
    let wrong = [
        (game.n_rounds != 1, format!("{} betting rounds instead of 1", game.n_rounds)),
        (game.n_hole_cards != 1, format!("{} hole cards instead of 1", game.n_hole_cards)),
        (game.n_board_cards.iter().any(|&n| n != 0), "board cards".to_string()),
        (game.deck.n_suits != 1, format!("{} suits instead of 1", game.deck.n_suits)),
        (game.deck.n_cards() as usize > CARDS, format!("{} cards, more than {CARDS}", game.deck.n_cards())),
        (!(2..=CARDS).contains(&game.n_players), format!("{} players, not 2 to {CARDS}", game.n_players)),
        (
            game.n_players > game.deck.n_cards() as usize,
            format!("{} players with {} cards", game.n_players, game.deck.n_cards()),
        ),
    ];
    if let Some((_, reason)) = wrong.into_iter().find(|(wrong, _)| *wrong) {
        return Err(refuse(reason));
    }
    let size = Size::count(game)?;
    let nodes = size.nodes();
    if nodes >= 1 << terminal::NODE_BITS {
        return Err(refuse(format!("the betting tree has {nodes} nodes, allowed are {}", 1u64 << terminal::NODE_BITS)));
    }
    // Rows by node; at most that many terminals with rows and payoffs of every seat.
    let (players, row) = (game.n_players as u64, CARDS as u64 * real);
    let memory = Memory::default().on_device("regrets and averages", 2 * row * nodes);
    let memory = if options.step(1).predicts { memory.on_device("last regrets", row * nodes) } else { memory };
    Ok(memory
        .on_device("strategies, reaches and values", 3 * row * nodes)
        .on_device("betting tree", (8 + 16) * nodes)
        .on_device("ends and payoffs", (4 + 4 * CARDS as u64 + 2 * players * real) * nodes))
}

impl Plan {
    /// Lays the game out.
    pub fn new(game: &GameDef, tree: &BettingTree) -> Result<Self> {
        let n_players = game.n_players;
        let n_cards = game.deck.n_cards() as usize;
        let mut levels: Vec<u32> = Vec::new();
        let mut nodes = Vec::with_capacity(tree.nodes.len());
        let mut own: Vec<Vec<OwnNode>> = vec![Vec::new(); n_players];
        // By node: each seat's row of reaches, and its last decision's index.
        let mut standing: Vec<Standing> = vec![Standing::default(); tree.nodes.len()];
        let (mut terminals, mut rows, mut ends) = (Vec::new(), Vec::new(), Vec::new());
        for (number, node) in (0u32..).zip(&tree.nodes) {
            if node.level as usize == levels.len() {
                levels.push(number);
            }
            let here = standing[number as usize];
            match &node.kind {
                BettingKind::Decision { seat, children, .. } => {
                    let first_child = children.first().copied().unwrap_or(0);
                    if (first_child..).zip(children).any(|(expected, &child)| child != expected) {
                        return Err(Error::shape("children of a betting node", "numbers in a row", number));
                    }
                    nodes.push(Node { first_child, children_and_seat: children.len() as u32 | (*seat as u32) << 16 });
                    let index = own[*seat].len() as u32;
                    let (row, previous) = (here.rows[*seat], here.last[*seat]);
                    own[*seat].push(OwnNode { node: number, row, previous, reserved: 0 });
                    for &child in children {
                        let mut next = here;
                        next.rows[*seat] = row::after(child);
                        next.last[*seat] = index;
                        standing[child as usize] = next;
                    }
                }
                BettingKind::Terminal => {
                    nodes.push(Node::default());
                    let everybody = (1u32 << n_players) - 1;
                    terminals.push(number | (everybody & !node.folded) << terminal::NODE_BITS);
                    let mut of_holders = here.rows;
                    of_holders[n_players..].fill(row::GHOST);
                    rows.push(of_holders);
                    ends.push(node);
                }
            }
        }
        levels.push(tree.nodes.len() as u32);
        let mut own_from = vec![0];
        for of_seat in &own {
            own_from.push(own_from[own_from.len() - 1] + of_seat.len() as u32);
        }
        let payoffs = payoffs(tree, &ends)?;
        let deals = deals(n_players, n_cards);
        Ok(Self { n_players, n_cards, nodes, levels, own: own.concat(), own_from, terminals, rows, payoffs, deals })
    }

    /// Decision nodes of a seat.
    pub fn own(&self, seat: usize) -> &[OwnNode] {
        &self.own[self.own_from[seat] as usize..self.own_from[seat + 1] as usize]
    }
}

/// State of every seat at a node.
#[derive(Clone, Copy)]
struct Standing {
    rows: [u32; CARDS],
    last: [u32; CARDS],
}

impl Default for Standing {
    fn default() -> Self {
        Self { rows: [row::ROOT; CARDS], last: [0; CARDS] }
    }
}

/// Number of distinguishable deals, times the number of ways in which ghosts can hold the remaining cards.
fn deals(n_players: usize, n_cards: usize) -> f64 {
    let deals: usize = (n_cards - n_players + 1..=n_cards).product();
    let ghosts: usize = (1..=CARDS - n_players).product();
    (deals * ghosts) as f64
}

/// Payoffs of each seat at each terminal, `[seat, terminal]`.
fn payoffs(tree: &BettingTree, ends: &[&BettingNode]) -> Result<Vec<[f64; 2]>> {
    let of_end = |end: &&BettingNode| -> Result<Vec<[f64; 2]>> {
        let n = tree.n_players;
        let mut found: Vec<[Option<f64>; 2]> = vec![[None; 2]; n];
        for winner in (0..n).filter(|&seat| end.folded >> seat & 1 == 0) {
            let mut strengths = vec![0; n];
            strengths[winner] = 1;
            for (seat, payoff) in tree.payoffs(end, &strengths).into_iter().enumerate() {
                let slot = &mut found[seat][usize::from(seat == winner)];
                if slot.is_some_and(|before| (before - payoff).abs() > 1e-9) {
                    return Err(refuse("side pots, where it matters who loses to whom"));
                }
                *slot = Some(payoff);
            }
        }
        let pair = |[lose, win]: [Option<f64>; 2]| {
            // Who folded never wins; who is left alone never loses.
            [lose.or(win).unwrap_or(0.0), win.or(lose).unwrap_or(0.0)]
        };
        Ok(found.into_iter().map(pair).collect())
    };
    let by_end: Vec<Vec<[f64; 2]>> = ends.par_iter().map(of_end).collect::<Result<_>>()?;
    Ok((0..tree.n_players).flat_map(|seat| by_end.iter().map(move |seats| seats[seat])).collect())
}
