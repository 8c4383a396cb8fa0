//! A strategy of poker read by the cards of a deal, whatever its layout.

use std::collections::HashMap;

use super::Strategy;
use crate::cfr::game::betting::{BettingKind, BettingTree};
use crate::cfr::game::cards::CardSet;
use crate::cfr::layout::public::{self, Public};
use crate::cfr::layout::{Layout, Row};

/// A strategy with what finds its information sets by the cards. No layout is converted into another, since not all tell apart in which round a card was dealt.
pub(in crate::cfr) struct ByCards<'a> {
    strategy: &'a Strategy,
    /// Number of actions of each node of the betting tree; 0 at ends.
    n_actions: Vec<usize>,
    by: By<'a>,
}

enum By<'a> {
    Vector {
        /// By node of the betting tree.
        public: Vec<Option<Public<'a>>>,
        /// Numbers of the hands, by seat.
        numbers: [HashMap<CardSet, usize>; 2],
    },
    /// The history of each node.
    Tree(Vec<String>),
    Buckets,
}

/// What a seat knows of the cards in a round, as the layout has it.
#[derive(Clone, Debug)]
pub(in crate::cfr) enum Known {
    Vector {
        board: usize,
        hand: usize,
    },
    /// A key without its history.
    Tree(String),
    Bucket(usize),
}

impl<'a> ByCards<'a> {
    /// * `tree`: the betting of the strategy's game.
    pub fn new(strategy: &'a Strategy, tree: &BettingTree) -> Self {
        let n_actions = tree.nodes.iter().map(|node| match &node.kind {
            BettingKind::Decision { actions, .. } => actions.len(),
            BettingKind::Terminal => 0,
        });
        let by = match &strategy.layout {
            Layout::Vector { game, tree } => {
                let mut of_node: Vec<Option<Public<'a>>> = tree.nodes.iter().map(|_| None).collect();
                for public in public::all(game, tree) {
                    let node = public.betting as usize;
                    of_node[node] = Some(public);
                }
                let numbers = game.hands.each_ref().map(|hands| hands.iter().copied().zip(0..).collect());
                By::Vector { public: of_node, numbers }
            }
            Layout::Tree(_) => By::Tree((0..tree.nodes.len() as u32).map(|node| tree.history(node)).collect()),
            Layout::Buckets(_) => By::Buckets,
        };
        Self { strategy, n_actions: n_actions.collect(), by }
    }

    /// What a seat knows with each of these hands in the round of the last board; `None` for hands that the board blocks, and cards that the layout does not have.
    ///
    /// * `boards`: the board as of each round so far.
    pub fn known(&self, seat: usize, hands: &[CardSet], boards: &[CardSet]) -> Vec<Option<Known>> {
        let board = boards.last().copied().unwrap_or(0);
        let open = hands.iter().map(|&hand| Some(hand).filter(|hand| hand & board == 0));
        match (&self.strategy.layout, &self.by) {
            (Layout::Vector { game, .. }, By::Vector { numbers, .. }) => {
                let placed = game.placed_on(&dealt(boards));
                let known = |hand: CardSet| {
                    let (placed, number) = (placed.as_ref()?, *numbers[seat].get(&hand)?);
                    Some(Known::Vector { board: placed.board, hand: placed.images[seat][number] as usize })
                };
                open.map(|hand| hand.and_then(known)).collect()
            }
            (Layout::Buckets(buckets), _) => {
                let buckets = buckets.indices(boards.len() - 1, hands, board).into_iter();
                buckets.map(|bucket| bucket.map(Known::Bucket)).collect()
            }
            _ => {
                let (dealt, deck) = (dealt(boards), self.strategy.problem.rules().map(|rules| rules.deck));
                let known = |hand: CardSet| Some(Known::Tree(public::key(deck?, seat, hand, &dealt, "")));
                open.map(|hand| hand.and_then(known)).collect()
            }
        }
    }

    /// Probabilities of the actions of a seat's decision, uniform where the solve never came.
    pub fn at<'s>(&'s self, node: usize, seat: usize, known: &Known) -> impl Iterator<Item = f32> + use<'a, 's> {
        let row = self.row(node, seat, known);
        let table = &self.strategy.probabilities[seat];
        let n_actions = self.n_actions[node];
        let of = move |action: usize| row.map_or(0.0, |row| table[row.start + action * row.stride]);
        let total: f32 = (0..n_actions).map(of).sum();
        (0..n_actions).map(move |action| if total > 0.0 { of(action) / total } else { 1.0 / n_actions as f32 })
    }

    fn row(&self, node: usize, seat: usize, known: &Known) -> Option<Row> {
        match (&self.strategy.layout, &self.by, known) {
            (_, By::Vector { public, .. }, &Known::Vector { board, hand }) => {
                public[node].as_ref().map(|public| public.row(board, hand))
            }
            (Layout::Tree(tree), By::Tree(histories), Known::Tree(cards)) => {
                let set = tree.find(seat, &format!("{cards}{}", histories[node]))?;
                Some(Row { start: set.offset, stride: 1, n_actions: set.actions.len() })
            }
            (Layout::Buckets(buckets), _, &Known::Bucket(bucket)) => Some(buckets.row(node, bucket)),
            _ => None,
        }
    }
}

/// The cards dealt at the start of each round, from the boards as of each.
fn dealt(boards: &[CardSet]) -> Vec<CardSet> {
    let before = [0].into_iter().chain(boards.iter().copied());
    boards.iter().zip(before).map(|(&board, before)| board & !before).collect()
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::sync::Arc;

    use crate::cfr::dispatch;
    use crate::cfr::game::GameDef;
    use crate::cfr::layout::LayoutKind;
    use crate::cfr::options::Options;
    use crate::cfr::problem::Problem;
    use crate::cfr::strategy::{Strategy, head_to_head, head_to_head_sampled};
    use crate::{Device, Precision};

    /// Rhode Island hold'em with eight cards and one raise in each round.
    const RULES: &str = "GAMEDEF\nlimit\nnumPlayers = 2\nnumRounds = 3\nblind = 5 5\nraiseSize = 10 20 20\nfirstPlayer = 1 1 1\n\
        maxRaises = 1 1 1\nnumSuits = 2\nnumRanks = 4\nnumHoleCards = 1\nnumBoardCards = 0 1 1\nEND GAMEDEF\n";

    /// A strategy that takes `special` where it can once a board of two rising ranks is dealt, and else calls.
    fn strategy(kind: LayoutKind, special: &str) -> Strategy {
        let rules = GameDef::parse(RULES).expect("rules");
        let deck = rules.deck;
        let problem = Problem::Poker(Arc::new(rules));
        let layout = dispatch::layout_of(&problem, kind, true).expect("a layout");
        let mut probabilities: Vec<Vec<f32>> = (0..2).map(|seat| vec![0.0; layout.table_len(seat)]).collect();
        let rank = |name: &str| deck.rank(deck.card(name).expect("a card"));
        let rises = |board: &str| board.split_once('/').is_some_and(|(first, second)| rank(first) < rank(second));
        let filled = layout.each_set::<()>(|seat, row, key, actions| {
            let wanted = if rises(key.split(':').nth(2).expect("a board")) { special } else { "c" };
            let action = [wanted, "c"].iter().find_map(|wanted| actions.iter().position(|name| name == wanted));
            let at = row.indices().nth(action.expect("a call")).expect("an index");
            probabilities[seat][at] = 1.0;
            Ok(())
        });
        filled.expect("nothing fails");
        Strategy { problem, layout, options: Options::default(), iteration: 1, probabilities }
    }

    /// One of two strategies folds, the other raises, where the second card of the board is higher than the first: for 3 of 7 boards, half of those whose ranks differ. All else goes to a showdown for the
    /// antes of 5, which is worth 0 to both.
    #[test]
    fn the_order_of_the_board_counts_in_every_layout() {
        let on = |_: &crate::Progress| ControlFlow::Continue(());
        let lost = 5.0 * 3.0 / 7.0;
        let mut found = Vec::new();
        for kind in [LayoutKind::Vector, LayoutKind::Tree] {
            let (folds, raises) = (strategy(kind, "f"), strategy(kind, "r"));
            let exact = head_to_head(&Device::cpu(), &folds, &raises, Precision::F64).expect("values");
            // Sums of a few thousand products of probabilities and chips.
            assert!((exact.value + lost).abs() < 1e-9, "{kind}: {}, expected {}", exact.value, -lost);
            let sampled = head_to_head_sampled(&folds, &raises, 4000, 7, on).expect("values");
            let error = sampled.sampled.as_ref().expect("sampled").standard_error;
            assert!((sampled.value - exact.value).abs() < 5.0 * error, "{kind}: {} +- {error}", sampled.value);

            // Against the one that folds the response raises there, and wins the ante; elsewhere it bets only hands that win more often than not.
            let bound = folds.local_best_response(1000, 3, on).expect("a bound");
            let (least, error) = (bound.exploitability_at_least, bound.sampled.standard_error);
            let best = folds.profile(&Device::cpu(), Precision::F64).expect("a profile").exploitability;
            assert!(least <= best + 5.0 * error && least >= lost - 5.0 * error, "{kind}: {least} +- {error}, {best}");
            found.push((sampled, bound));
        }
        assert_eq!(found[0], found[1]);
    }

    #[test]
    fn keys_of_tables_by_hands_divide_the_rounds() {
        let strategy = strategy(LayoutKind::Padded, "f");
        let each = strategy.each(|answer| {
            let board = answer.key.split(':').nth(2).expect("a board");
            assert_eq!(board.contains('/'), board.len() > 2, "{}", answer.key);
            assert_eq!(strategy.query_key(&answer.key)?, answer);
            Ok::<(), crate::Error>(())
        });
        each.expect("every key is found");
    }
}
