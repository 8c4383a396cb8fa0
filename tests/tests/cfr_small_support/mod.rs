//! Two-player limit games in vector form, written down from the betting tree alone: no renaming of suits, every board for itself.

use warpplay::cfr::{
    BettingKind, BettingTree, Board, CardSet, Entry, GameDef, Node, Street, VectorGame, choose, subsets,
};
use warpplay_tests::golden;

/// A game of the reference file.
pub fn reference(name: &str) -> Option<serde_json::Value> {
    let path = golden::shared("vectors/cfr_reference.json")?;
    let text = std::fs::read_to_string(path).expect("the reference");
    let mut all: serde_json::Value = serde_json::from_str(&text).expect("the reference is JSON");
    Some(all["games"][name].take())
}

/// A game file of the golden ones.
pub fn rules(name: &str) -> GameDef {
    GameDef::parse(&golden::text(&format!("cfr/games/{name}.game"))).expect("a game")
}

/// The game.
pub fn game(name: &str) -> VectorGame {
    build(name).0
}

/// The game and its betting.
pub fn build(name: &str) -> (VectorGame, BettingTree) {
    let rules = rules(name);
    let tree = BettingTree::new(&rules).expect("a tree");
    let deck = rules.deck;
    let hands: Vec<CardSet> = subsets(deck.all(), rules.n_hole_cards).collect();
    let pairs = hands.iter().flat_map(|a| hands.iter().filter(move |&b| a & b == 0)).count();
    let mut streets = Vec::new();
    let mut roots = vec![0u32];
    let mut boards = vec![Board { cards: 0, parent: 0, weight: 1.0, members: vec![0] }];
    for round in 0..rules.n_rounds {
        let n_new = rules.n_board_cards[round];
        if n_new > 0 {
            let mut next = Vec::new();
            for (parent, board) in boards.iter().enumerate() {
                let left = deck.n_cards() - board.cards.count_ones() - 2 * rules.n_hole_cards as u32;
                let weight = 1.0 / choose(left, n_new as u32) as f64;
                for new in subsets(deck.all() & !board.cards, n_new) {
                    let cards = board.cards | new;
                    next.push(Board { cards, parent: parent as u32, weight, members: vec![0] });
                }
            }
            boards = next;
        } else if round > 0 {
            for (parent, board) in boards.iter_mut().enumerate() {
                board.parent = parent as u32;
            }
        }
        let mut n_slots = [0; 2];
        let mut next_roots = Vec::new();
        let mut entries = Vec::new();
        for &root in &roots {
            let mut nodes = Vec::new();
            add(&tree, round as u32, root, &mut nodes, &mut n_slots, &mut next_roots);
            entries.push(Entry { nodes });
        }
        streets.push(Street { boards: boards.clone(), entries, n_slots });
        roots = next_roots;
    }
    let weights = [0, 1].map(|_| vec![1.0; hands.len()]);
    let identity: Vec<u32> = (0..hands.len() as u32).collect();
    let game = VectorGame {
        deck,
        n_hole: rules.n_hole_cards,
        hands: [hands.clone(), hands],
        weights,
        scale: 1.0 / pairs as f64,
        permutations: vec![[identity.clone(), identity]],
        streets,
    };
    (game, tree)
}

/// Adds the subtree of a betting node in depth-first order; gives its place.
fn add(
    tree: &BettingTree,
    round: u32,
    betting: u32,
    nodes: &mut Vec<Node>,
    n_slots: &mut [u32; 2],
    exits: &mut Vec<u32>,
) -> u32 {
    let place = nodes.len();
    let of_tree = &tree.nodes[betting as usize];
    match &of_tree.kind {
        BettingKind::Decision { .. } if of_tree.round > round => {
            nodes.push(Node::Exit { entry: exits.len() as u32 });
            exits.push(betting);
        }
        BettingKind::Decision { seat, actions, children } => {
            let slot = n_slots[*seat];
            n_slots[*seat] += actions.len() as u32;
            nodes.push(Node::Exit { entry: 0 });
            let children: Vec<u32> =
                children.iter().map(|&child| add(tree, round, child, nodes, n_slots, exits)).collect();
            let (seat, actions) = (*seat, actions.clone());
            nodes[place] = Node::Decision { seat, actions, children, slot, betting, locked: false };
        }
        BettingKind::Terminal => {
            let pair = |strengths: [u32; 2]| {
                let payoffs = tree.payoffs(of_tree, &strengths);
                [payoffs[0], payoffs[1]]
            };
            nodes.push(if of_tree.folded != 0 {
                Node::Fold { payoff: pair([0, 0]) }
            } else {
                let (first, second) = (pair([1, 0]), pair([0, 1]));
                Node::Showdown { win: [first[0], second[1]], lose: [second[0], first[1]], tie: pair([0, 0]) }
            });
        }
    }
    place as u32
}

/// The reference's key of an information set.
pub fn key(game: &VectorGame, tree: &BettingTree, seat: usize, hand: CardSet, board: CardSet, betting: u32) -> String {
    format!("{seat}:{}:{}:{}", game.deck.names(hand), game.deck.names(board), tree.history(betting))
}
