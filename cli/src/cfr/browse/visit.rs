//! A node with its hands: at once with strategy and reach, later with values.

use warpplay::Result;
use warpplay::cfr::spot::{ActionTotal, HandClass, Node, NodeHand, NodeReport, PracticeMove};

/// A node that the user has come to.
pub struct Visit<'a> {
    /// No other visit has it.
    pub number: u64,
    pub node: Node<'a>,
    /// Without values, these are 0 and the actions of hands have none.
    pub report: NodeReport,
    pub has_values: bool,
    /// The grid of each seat.
    pub classes: [Vec<HandClass>; 2],
    pub totals: Vec<ActionTotal>,
    /// The actions as players tell them.
    pub moves: Vec<PracticeMove>,
    /// The cards that can be dealt.
    pub cards: Vec<String>,
}

impl<'a> Visit<'a> {
    /// The node without values, which take time.
    pub fn new(number: u64, node: Node<'a>) -> Result<Self> {
        let report = outline(&node)?;
        let (classes, totals) = summed(&report)?;
        let (cards, moves) = (node.cards(), node.moves());
        Ok(Self { number, node, report, has_values: false, classes, totals, moves, cards })
    }

    /// Takes the node's values.
    pub fn take(&mut self, report: NodeReport) -> Result<()> {
        (self.classes, self.totals) = summed(&report)?;
        self.report = report;
        self.has_values = true;
        Ok(())
    }
}

fn summed(report: &NodeReport) -> Result<([Vec<HandClass>; 2], Vec<ActionTotal>)> {
    Ok(([report.classes(0)?, report.classes(1)?], report.action_totals()?))
}

/// What a node has without a walk over all that follows.
fn outline(node: &Node<'_>) -> Result<NodeReport> {
    let mut strategies = node.strategies()?.into_iter().map(|(_, strategy)| strategy);
    let mut hands = |seat: usize| {
        let acts = node.seat() == Some(seat);
        let hand = |(hand, reach)| {
            // Both have the same hands in the same order.
            let strategy = if acts { strategies.next().unwrap_or_default() } else { Vec::new() };
            NodeHand { hand, reach, ev: 0.0, equity: 0.0, strategy, action_ev: Vec::new() }
        };
        node.reach(seat).into_iter().map(hand).collect()
    };
    Ok(NodeReport {
        by_hand: [hands(0), hands(1)],
        history: node.history(),
        board: node.board(),
        pot: node.pot(),
        seat: node.seat(),
        actions: node.actions(),
        ev: [0.0; 2],
        equity: [0.0; 2],
    })
}
