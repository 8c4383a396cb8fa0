//! A game in vector form, as plain data.

use crate::cfr::poker::Deck;

/// A node of the betting, without cards.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The betting round, from 0. If a child's round is one more than its parent's, cards are dealt in between.
    pub round: usize,
    /// Whose turn it is, or how it ended.
    pub kind: Kind,
}

/// Whose turn it is at a [`Node`], or how it ended. Payoffs are net winnings by seat.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A seat acts.
    Decision {
        /// The seat.
        seat: usize,
        /// The node after each action.
        children: Vec<usize>,
        /// Whether the strategy is given rather than learnt. The averages hold it, and best responses use it.
        locked: bool,
    },
    /// Somebody folded.
    Fold {
        /// Payoff to each seat.
        payoff: [f64; 2],
    },
    /// The hands are shown, after the boards of all rounds that are left.
    Showdown {
        /// Payoff to a seat that wins.
        win: [f64; 2],
        /// Payoff to a seat that loses.
        lose: [f64; 2],
        /// Payoff to a seat when hands are equal.
        tie: [f64; 2],
    },
}

/// The public cards of a round.
#[derive(Clone, Debug, PartialEq)]
pub struct Board {
    /// All public cards so far, one bit each.
    pub cards: u64,
    /// The board of the round before; 0 in the first round.
    pub parent: usize,
    /// Probability of one member, given the parent and two hands that leave it possible.
    pub weight: f64,
    /// Permutations of hands for the members; `[0]` for a board that represents only itself.
    pub members: Vec<usize>,
}

/// A two-player game in vector form.
#[derive(Clone, Debug, PartialEq)]
pub struct Game {
    /// The deck.
    pub deck: Deck,
    /// Private cards of a hand, 1 to 3.
    pub n_hole: usize,
    /// The hands of each seat, as sets of cards, none twice.
    pub hands: [Vec<u64>; 2],
    /// Weight of each hand at the root.
    pub weights: [Vec<f64>; 2],
    /// 1 / Σ of products of weights over the pairs of hands that can be dealt together.
    pub scale: f64,
    /// The betting; node 0 is the root, children stand behind their parents.
    pub nodes: Vec<Node>,
    /// The boards of each round; children of one parent are consecutive, in the order of their parents.
    pub rounds: Vec<Vec<Board>>,
    /// `permutations[id][seat][hand]`: the hand that plays on the representative's board as this hand does on the member's. 0 is the identity.
    pub permutations: Vec<[Vec<u32>; 2]>,
}

/// All sets of `n` cards of those below `n_cards` that are not in `taken`, in the order of their cards.
fn combinations(n_cards: usize, taken: u64, n: usize) -> Vec<u64> {
    fn go(n_cards: usize, taken: u64, n: usize, from: usize, set: u64, all: &mut Vec<u64>) {
        if n == 0 {
            all.push(set);
            return;
        }
        for card in (from..n_cards).filter(|card| taken >> card & 1 == 0) {
            go(n_cards, taken, n - 1, card + 1, set | 1 << card, all);
        }
    }
    let mut all = Vec::new();
    go(n_cards, taken, n, 0, 0, &mut all);
    all
}

fn choose(n: usize, k: usize) -> f64 {
    (0..k).fold(1.0, |product, i| product * (n - i) as f64 / (i + 1) as f64)
}

impl Game {
    /// A game on all boards. `dealt` are the cards of each round; `board` holds the cards on the table before the first.
    ///
    /// # Panics
    /// If hands and weights differ in number, or the deck has not enough cards.
    pub fn new(
        deck: Deck,
        n_hole: usize,
        board: u64,
        dealt: &[usize],
        hands: [Vec<u64>; 2],
        weights: [Vec<f64>; 2],
        nodes: Vec<Node>,
    ) -> Self {
        assert!((0..2).all(|seat| hands[seat].len() == weights[seat].len()), "a weight for each hand");
        let mut rounds: Vec<Vec<Board>> = Vec::new();
        for &n_dealt in dealt {
            let parents = rounds.last().map_or(vec![board], |boards| boards.iter().map(|board| board.cards).collect());
            let mut boards = Vec::new();
            for (parent, &cards) in parents.iter().enumerate() {
                let left = deck.n_cards() - cards.count_ones() as usize - 2 * n_hole;
                let weight = 1.0 / choose(left, n_dealt);
                boards.extend(combinations(deck.n_cards(), cards, n_dealt).into_iter().map(|new| Board {
                    cards: cards | new,
                    parent,
                    weight,
                    members: vec![0],
                }));
            }
            rounds.push(boards);
        }
        let identity = [0, 1].map(|seat: usize| (0..hands[seat].len() as u32).collect());
        let mut game = Self { deck, n_hole, hands, weights, scale: 1.0, nodes, rounds, permutations: vec![identity] };
        game.scale = 1.0 / game.total_weight();
        game
    }

    /// All hands of `n_hole` cards that leave `board` free.
    pub fn all_hands(deck: Deck, n_hole: usize, board: u64) -> Vec<u64> {
        combinations(deck.n_cards(), board, n_hole)
    }

    /// Σ of products of weights over the pairs of hands that can be dealt together.
    pub fn total_weight(&self) -> f64 {
        let masses = super::blockers::Blockers::new(&self.hands).free(0, &self.weights[1]);
        masses.iter().zip(&self.weights[0]).map(|(mass, weight)| mass * weight).sum()
    }

    /// Seat and number of actions of a decision node.
    pub fn decision(&self, node: usize) -> Option<(usize, usize)> {
        match &self.nodes[node].kind {
            Kind::Decision { seat, children, .. } => Some((*seat, children.len())),
            _ => None,
        }
    }

    /// Vectors of one board of a round in a seat's table: actions of the seat's nodes of the round.
    fn slots(&self, seat: usize, round: usize, nodes: usize) -> usize {
        let of_node = |node: usize| match self.decision(node) {
            Some((of, actions)) if of == seat && self.nodes[node].round == round => actions,
            _ => 0,
        };
        (0..nodes).map(of_node).sum()
    }

    /// Entries of a seat's table.
    pub fn table_len(&self, seat: usize) -> usize {
        self.round_offset(seat, self.rounds.len())
    }

    fn round_offset(&self, seat: usize, round: usize) -> usize {
        let n_slots = |round: usize| self.slots(seat, round, self.nodes.len()) * self.rounds[round].len();
        (0..round).map(n_slots).sum::<usize>() * self.hands[seat].len()
    }

    /// Where the vectors `[action][hand]` of a decision node on a board of its round begin in its seat's table: round by round, board by
    /// board, nodes in their order.
    ///
    /// # Panics
    /// If the node is no decision.
    pub fn offset(&self, node: usize, board: usize) -> usize {
        let (seat, _) = self.decision(node).expect("a decision node");
        let round = self.nodes[node].round;
        let slot = board * self.slots(seat, round, self.nodes.len()) + self.slots(seat, round, node);
        self.round_offset(seat, round) + slot * self.hands[seat].len()
    }

    /// Offset of every node's vectors on board 0, and the distance between boards: `offset = .0 + board · .1`.
    pub(super) fn strides(&self) -> Vec<(usize, usize)> {
        let of_node = |node: usize| match self.decision(node) {
            Some((seat, _)) => {
                let slots = self.slots(seat, self.nodes[node].round, self.nodes.len());
                (self.offset(node, 0), slots * self.hands[seat].len())
            }
            None => (0, 0),
        };
        (0..self.nodes.len()).map(of_node).collect()
    }

    /// The cards dealt in each round up to a board of `round`.
    pub fn dealt(&self, round: usize, board: usize) -> Vec<u64> {
        let mut cumulative = vec![0; round + 1];
        let mut at = board;
        for round in (0..=round).rev() {
            cumulative[round] = self.rounds[round][at].cards;
            at = self.rounds[round][at].parent;
        }
        let before = std::iter::once(0).chain(cumulative.iter().copied());
        cumulative.iter().zip(before).map(|(cards, before)| cards & !before).collect()
    }
}
