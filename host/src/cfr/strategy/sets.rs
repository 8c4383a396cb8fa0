//! Every information set of a layout, with its name.

use crate::cfr::layout::{Layout, Row, public};

impl Layout {
    /// Calls `visit(seat, row, key, actions)` with every possible information set, seat by seat, until it fails. In tables by hands or buckets a board stands for
    /// every order in which its cards can be dealt; the key has the one with the highest cards first.
    pub fn each_set<E>(&self, mut visit: impl FnMut(usize, Row, String, &[String]) -> Result<(), E>) -> Result<(), E> {
        match self {
            Self::Vector { game, tree } => {
                for seat in 0..2 {
                    for public in public::all(game, tree).filter(|public| public.seat == seat) {
                        let actions = public.actions();
                        for board in 0..game.streets[public.street].boards.len() {
                            let dealt = game.dealt(public.street, board);
                            let blocked = dealt.iter().fold(0, |all, cards| all | cards);
                            for (hand, &hole) in game.hands[seat].iter().enumerate() {
                                if hole & blocked == 0 {
                                    visit(seat, public.row(board, hand), public.key(hole, &dealt), &actions)?;
                                }
                            }
                        }
                    }
                }
                Ok(())
            }
            Self::Tree(tree) => tree.sets().iter().try_for_each(|set| {
                let row = Row { start: set.offset, stride: 1, n_actions: set.actions.len() };
                visit(set.seat, row, set.key.clone(), &set.actions)
            }),
            Self::Buckets(buckets) => {
                for seat in 0..buckets.rules.n_players {
                    for node in buckets.nodes(seat) {
                        let (actions, history) = (buckets.actions(node), buckets.tree.history(node as u32));
                        let counts = &buckets.rules.n_board_cards[..=buckets.tree.nodes[node].round as usize];
                        for (bucket, hole, board) in buckets.hands(node) {
                            // Every order of the cards is the same bucket.
                            let dealt = public::in_rounds(counts, board);
                            let key = public::key(buckets.rules.deck, seat, hole, &dealt, &history);
                            visit(seat, buckets.row(node, bucket), key, &actions)?;
                        }
                    }
                }
                Ok(())
            }
        }
    }
}
