//! Leduc hold'em for the crate `cfr`, on our betting tree: ranks instead of cards, so that its game is the smaller one (288 information sets, not 936).

use std::convert::Infallible;
use std::sync::Arc;

use peer_cfr::{Game, GameTree, Moves, NodeType, Outcomes, PlayerNum, RegretParams, SolveMethod, SolveParams};
use warpplay::cfr::BettingTree;
use warpplay::cfr::game::BettingKind;

/// Ranks of the deck, and cards of each.
const RANKS: u8 = 3;
const COPIES: u8 = 2;

/// A hand under way.
#[derive(Clone, Debug)]
pub struct Hand {
    tree: Arc<BettingTree>,
    node: u32,
    ranks: [u8; 2],
    board: Option<u8>,
}

/// A state of the game.
#[derive(Clone, Debug)]
pub enum Leduc {
    /// The private cards come.
    Start(Arc<BettingTree>),
    /// The board comes.
    Board(Hand),
    /// A seat acts.
    Act(Hand),
    /// Winnings of the first seat.
    End(f64),
}

/// What chance deals: the rank of each outcome and its weight.
#[derive(Debug)]
pub struct Deal(Vec<(f64, Leduc)>);

impl Hand {
    /// Cards of a rank that nobody holds.
    fn left(&self, rank: u8) -> u8 {
        COPIES - self.ranks.iter().filter(|&&held| held == rank).count() as u8
    }

    /// The hand as it goes on at its node.
    fn resume(self, round_before: u32) -> Leduc {
        let node = &self.tree.nodes[self.node as usize];
        match node.kind {
            BettingKind::Decision { .. } if node.round > round_before => Leduc::Board(self),
            BettingKind::Decision { .. } => Leduc::Act(self),
            BettingKind::Terminal => {
                let strength = |seat: usize| {
                    let pair = self.board == Some(self.ranks[seat]);
                    u32::from(self.ranks[seat]) + if pair { u32::from(RANKS) } else { 0 }
                };
                Leduc::End(self.tree.payoffs(node, &[strength(0), strength(1)])[0])
            }
        }
    }
}

impl Outcomes<Leduc> for Deal {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn get(&self, index: usize) -> (f64, Leduc) {
        self.0[index].clone()
    }
}

impl Moves<Leduc> for Hand {
    fn len(&self) -> usize {
        match &self.tree.nodes[self.node as usize].kind {
            BettingKind::Decision { children, .. } => children.len(),
            BettingKind::Terminal => 0,
        }
    }

    fn apply(&self, index: usize) -> Leduc {
        let node = &self.tree.nodes[self.node as usize];
        match &node.kind {
            BettingKind::Decision { children, .. } => Self { node: children[index], ..self.clone() }.resume(node.round),
            BettingKind::Terminal => Leduc::End(0.0),
        }
    }

    fn action(&self, index: usize) -> usize {
        index
    }
}

impl Game for Leduc {
    type Action = usize;
    type Infoset = (u32, u8, Option<u8>);
    type ChanceInfoset = Infallible;
    type Chance = Deal;
    type Player = Hand;

    fn into_node(self) -> NodeType<Self> {
        match self {
            Self::End(payoff) => NodeType::Terminal(payoff),
            Self::Start(tree) => {
                let pairs = (0..RANKS).flat_map(|first| (0..RANKS).map(move |second| [first, second]));
                let outcomes = pairs.map(|ranks| {
                    let ways = if ranks[0] == ranks[1] { COPIES * (COPIES - 1) } else { COPIES * COPIES };
                    (f64::from(ways), Self::Act(Hand { tree: Arc::clone(&tree), node: 0, ranks, board: None }))
                });
                NodeType::Chance(None, Deal(outcomes.collect()))
            }
            Self::Board(hand) => {
                let ranks = (0..RANKS).filter(|&rank| hand.left(rank) > 0);
                let outcomes = ranks
                    .map(|rank| (f64::from(hand.left(rank)), Self::Act(Hand { board: Some(rank), ..hand.clone() })));
                NodeType::Chance(None, Deal(outcomes.collect()))
            }
            Self::Act(hand) => {
                let seat = match hand.tree.nodes[hand.node as usize].kind {
                    BettingKind::Decision { seat, .. } => seat,
                    BettingKind::Terminal => 0,
                };
                let player = if seat == 0 { PlayerNum::One } else { PlayerNum::Two };
                NodeType::Player(player, (hand.node, hand.ranks[seat], hand.board), hand)
            }
        }
    }
}

/// Its solver of the whole tree, with CFR+'s numbers.
///
/// # Errors
/// As the crate says.
#[allow(clippy::type_complexity, reason = "the peer's own type, used once")]
pub fn tree(betting: &Arc<BettingTree>) -> anyhow::Result<GameTree<(u32, u8, Option<u8>), usize>> {
    Ok(GameTree::from_game(Leduc::Start(Arc::clone(betting)))?)
}

/// Does `n` iterations on one thread from the beginning; returns the first player's value.
///
/// # Errors
/// As the crate says.
pub fn solve(tree: &GameTree<(u32, u8, Option<u8>), usize>, n: u64) -> anyhow::Result<f64> {
    let params = SolveParams { regret: RegretParams::cfr_plus(), ..SolveParams::default() };
    let (strategies, _) = tree.solve(SolveMethod::Full, n, 0.0, 1, params)?;
    Ok(strategies.get_info().player_utility(PlayerNum::One))
}
