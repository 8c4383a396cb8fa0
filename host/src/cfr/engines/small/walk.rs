//! The public tree, walked once in depth-first order, with what each seat's values are sums of.

use crate::cfr::layout::{Node, Street, VectorGame};
use crate::{Error, Result};

/// An element of a list of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// A terminal, by number.
    Terminal(u32),
    /// An own node, numbered in the order of the walk.
    Node(u32),
}

/// A map between hands; `None` for the identity.
pub(super) type Map = Option<Vec<u32>>;

/// An end of the betting on one board.
#[derive(Clone, Debug)]
pub(super) struct Terminal {
    /// Row of reach by seat: 0 at the root, otherwise the last action vector plus 1.
    pub rows: [u32; 2],
    /// The board's number over all streets.
    pub board: u32,
    /// Payoffs by seat for a losing, an equal and a winning hand, multiplied by the probability of the board and the game's scale.
    pub payoffs: [[f64; 3]; 2],
}

/// A seat's own action vectors from the root to one of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Path {
    pub vectors: Vec<u32>,
    pub locked: bool,
}

/// A decision node.
#[derive(Clone, Debug)]
pub(super) struct OwnNode {
    pub vector: u32,
    pub n_actions: usize,
    pub locked: bool,
    /// Number of own decisions before it.
    pub level: u32,
}

/// Results of the walk for one seat.
#[derive(Clone, Debug, Default)]
pub(super) struct SeatWalk {
    pub nodes: Vec<OwnNode>,
    /// Nodes, the deepest level first.
    pub order: Vec<u32>,
    /// Position of each node in that order.
    pub rank: Vec<u32>,
    /// By action vector.
    pub paths: Vec<Path>,
    /// By action vector, and at the end that of the root.
    pub lists: Vec<Vec<(Item, Map)>>,
}

impl SeatWalk {
    /// Number of action vectors on all boards.
    pub fn n_vectors(&self) -> usize {
        self.paths.len()
    }
}

/// Results of the walk.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    pub seats: [SeatWalk; 2],
    pub terminals: Vec<Terminal>,
}

/// Boards of `street` that continue board `parent` of the street before: the first, and how many.
pub(super) fn children(street: &Street, parent: u32) -> (u32, u32) {
    let first = street.boards.partition_point(|board| board.parent < parent);
    let end = street.boards.partition_point(|board| board.parent <= parent);
    (first as u32, (end - first) as u32)
}

/// State of a seat during the walk.
#[derive(Clone, Debug)]
struct Side {
    /// Own action vectors so far.
    path: Vec<u32>,
    /// The list to which the next items belong.
    list: usize,
    /// Renamings of hands since that list's action, one for each combination of class members of the boards dealt since.
    maps: Vec<Map>,
    level: u32,
}

impl Side {
    fn row(&self) -> u32 {
        self.path.last().map_or(0, |vector| vector + 1)
    }

    /// The state after one more board, whose members are images under `permutations`.
    fn after_board(&self, game: &VectorGame, seat: usize, permutations: &[u32]) -> Self {
        let mut maps = Vec::with_capacity(self.maps.len() * permutations.len());
        for map in &self.maps {
            for &id in permutations {
                let step = &game.permutations[id as usize][seat];
                maps.push(match (map, id) {
                    (map, 0) => map.clone(),
                    (None, _) => Some(step.clone()),
                    (Some(map), _) => Some(map.iter().map(|&hand| step[hand as usize]).collect()),
                });
            }
        }
        Self { maps, ..self.clone() }
    }
}

/// A position in the tree.
#[derive(Clone, Copy)]
struct Position {
    street: usize,
    board: usize,
    entry: usize,
    node: usize,
    /// Probability of the boards so far.
    chance: f64,
}

/// Maximum number of elements of all lists: far more than can fit, so that a game with many boards after an all-in is refused before memory runs out.
const MAX_ITEMS: usize = 1 << 21;

struct Walker<'a> {
    game: &'a VectorGame,
    walk: Walk,
    n_items: usize,
    /// First board of each street, over all streets.
    first_boards: Vec<u32>,
    /// First action vector of each street, by seat.
    first_vectors: [Vec<u32>; 2],
}

impl Walk {
    /// Walks the tree.
    pub fn new(game: &VectorGame) -> Result<Self> {
        let mut first_boards = vec![0];
        for street in &game.streets {
            first_boards.push(first_boards[first_boards.len() - 1] + street.boards.len() as u32);
        }
        let first_vectors = [0, 1].map(|seat: usize| {
            let n_hands = game.hands[seat].len().max(1);
            (0..=game.streets.len()).map(|s| (game.street_offset(seat, s) / n_hands) as u32).collect::<Vec<_>>()
        });
        let seats = [0, 1].map(|seat: usize| {
            let n = first_vectors[seat][game.streets.len()] as usize;
            SeatWalk { paths: vec![Path::default(); n], lists: vec![Vec::new(); n + 1], ..SeatWalk::default() }
        });
        let roots = [0, 1].map(|seat: usize| Side {
            path: Vec::new(),
            list: seats[seat].paths.len(),
            maps: vec![None],
            level: 0,
        });
        let walk = Self { seats, terminals: Vec::new() };
        let mut walker = Walker { game, walk, n_items: 0, first_boards, first_vectors };
        for (board, of_street) in game.streets[0].boards.iter().enumerate() {
            let sides = [0, 1].map(|seat| roots[seat].after_board(game, seat, &of_street.members));
            walker.visit(Position { street: 0, board, entry: 0, node: 0, chance: of_street.weight }, &sides)?;
        }
        let mut walk = walker.walk;
        for seat in &mut walk.seats {
            seat.order = (0..seat.nodes.len() as u32).collect();
            seat.order.sort_by_key(|&id| std::cmp::Reverse(seat.nodes[id as usize].level));
            seat.rank = vec![0; seat.nodes.len()];
            for (rank, &id) in seat.order.iter().enumerate() {
                seat.rank[id as usize] = rank as u32;
            }
        }
        Ok(walk)
    }
}

impl Walker<'_> {
    fn add(&mut self, seat: usize, side: &Side, item: Item) -> Result<()> {
        self.n_items += side.maps.len();
        if self.n_items > MAX_ITEMS {
            let allowed = "the game's boards after an all-in are too many for a block: use engine street";
            return Err(Error::option("engine", "small", allowed));
        }
        self.walk.seats[seat].lists[side.list].extend(side.maps.iter().map(|map| (item, map.clone())));
        Ok(())
    }

    fn terminal(&mut self, at: Position, sides: &[Side; 2], payoffs: [[f64; 3]; 2]) -> Result<()> {
        let number = self.walk.terminals.len() as u32;
        let factor = at.chance * self.game.scale;
        self.walk.terminals.push(Terminal {
            rows: [sides[0].row(), sides[1].row()],
            board: self.first_boards[at.street] + at.board as u32,
            payoffs: payoffs.map(|of_seat| of_seat.map(|payoff| payoff * factor)),
        });
        for (seat, side) in sides.iter().enumerate() {
            self.add(seat, side, Item::Terminal(number))?;
        }
        Ok(())
    }

    fn visit(&mut self, at: Position, sides: &[Side; 2]) -> Result<()> {
        let game = self.game;
        let street = &game.streets[at.street];
        match &street.entries[at.entry].nodes[at.node] {
            Node::Decision { seat, children, slot, locked, .. } => {
                let (seat, locked) = (*seat, *locked);
                let first = self.first_vectors[seat][at.street] + at.board as u32 * street.n_slots[seat] + slot;
                let side = &sides[seat];
                let id = self.walk.seats[seat].nodes.len() as u32;
                let node = OwnNode { vector: first, n_actions: children.len(), locked, level: side.level };
                self.walk.seats[seat].nodes.push(node);
                self.add(seat, side, Item::Node(id))?;
                for (vector, &child) in (first..).zip(children) {
                    let path: Vec<u32> = side.path.iter().copied().chain([vector]).collect();
                    self.walk.seats[seat].paths[vector as usize] = Path { vectors: path.clone(), locked };
                    let mut next = sides.clone();
                    next[seat] = Side { path, list: vector as usize, maps: vec![None], level: side.level + 1 };
                    self.visit(Position { node: child as usize, ..at }, &next)?;
                }
                Ok(())
            }
            Node::Exit { entry } => {
                let Some(next) = game.streets.get(at.street + 1) else { return Ok(()) };
                let (first, n) = children(next, at.board as u32);
                for board in first as usize..(first + n) as usize {
                    let of_next = &next.boards[board];
                    let sides = [0, 1].map(|seat| sides[seat].after_board(game, seat, &of_next.members));
                    let chance = at.chance * of_next.weight;
                    self.visit(
                        Position { street: at.street + 1, board, entry: *entry as usize, node: 0, chance },
                        &sides,
                    )?;
                }
                Ok(())
            }
            Node::Fold { payoff } => self.terminal(at, sides, payoff.map(|payoff| [payoff; 3])),
            Node::Showdown { win, lose, tie } => {
                self.terminal(at, sides, [0, 1].map(|seat| [lose[seat], tie[seat], win[seat]]))
            }
        }
    }
}
