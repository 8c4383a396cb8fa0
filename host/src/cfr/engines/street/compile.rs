//! From a betting subtree to the lists of operations that a block runs, with offsets in shared memory.
//!
//! Vectors live in slots. A slot of the opponent's reach is given up when its node is done, and used again after the segment's end at the earliest, since within a
//! segment all reach is made before any value. Values are a stack: an own node has a slot for each of its actions until their mean is taken.

use warpplay_gpu::cfr::street::layout::{self, Eval, NONE, Op, Program, Segment, code, flag};

use crate::cfr::layout::{Entry, Node};

/// Parameters of a subtree's compilation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    /// Hands of a row, by seat.
    pub stride: [u32; 2],
    /// Cards of a hand.
    pub n_hole: u32,
    /// Most values of shared memory.
    pub budget: u32,
}

/// A compiled subtree for one traverser. Ranges are relative to the start of its own lists, and operations at decisions have the node's number as `given`.
#[derive(Clone, Debug, Default)]
pub(super) struct Compiled {
    pub program: Program,
    pub segments: Vec<Segment>,
    pub evals: Vec<Eval>,
    pub ops: Vec<Op>,
    pub operands: Vec<u32>,
    /// Values of shared memory.
    pub n_shared: u32,
}

/// Numbers of evaluations that a segment may have; more evaluations need more shared memory, fewer need more barriers.
const EVALS: [usize; 9] = [256, 32, 16, 8, 6, 4, 3, 2, 1];

/// Compiles the subtree `entry` for `traverser` within the budget; `Err` holds the minimum that it needs.
pub(super) fn compile(entry: &Entry, traverser: usize, frame: &Frame) -> Result<Compiled, u32> {
    let mut least = u32::MAX;
    // Reach of one child after the other takes less room, and reads regrets again for each.
    for one_by_one in [false, true] {
        for evals in EVALS {
            let compiled = Compiler::new(entry, traverser, frame, evals, one_by_one).finish();
            if compiled.n_shared <= frame.budget {
                return Ok(compiled);
            }
            least = least.min(compiled.n_shared);
        }
    }
    Err(least)
}

/// Kinds of offsets that are not yet assigned, stored in the two upper bits.
const REACH: u32 = 0;
const VALUE: u32 = 1 << 30;
const REGION: u32 = 2 << 30;
const KIND: u32 = 3 << 30;

/// Slots that are in use, released, and free again after the segment.
#[derive(Default)]
struct Slots {
    free: Vec<u32>,
    given_up: Vec<u32>,
    n: u32,
}

impl Slots {
    fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.n += 1;
            self.n - 1
        })
    }
}

#[derive(Default)]
struct Open {
    down: Vec<Op>,
    evals: Vec<Eval>,
    up: Vec<Op>,
    /// Number of values that the evaluations take.
    len: u32,
}

/// First action vector of a seat in a subtree, and how many it has; they are contiguous.
fn rows(nodes: &[Node], seat: usize) -> [u32; 2] {
    let of_node = |node: &Node| match node {
        Node::Decision { seat: acts, children, slot, .. } if *acts == seat => {
            Some((*slot, slot + children.len() as u32))
        }
        _ => None,
    };
    let ends = nodes.iter().filter_map(of_node).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    ends.map_or([0; 2], |(first, end)| [first, end - first])
}

struct Compiler<'a> {
    nodes: &'a [Node],
    traverser: usize,
    frame: &'a Frame,
    most_evals: usize,
    one_by_one: bool,
    /// Whether a decision of the traverser, or an exit to the next street, lies at or below a node.
    own_below: Vec<bool>,
    leaves_below: Vec<bool>,
    slots: Slots,
    /// Number of value slots in use, and the maximum so far.
    height: u32,
    highest: u32,
    regions: u32,
    open: Open,
    out: Compiled,
}

impl<'a> Compiler<'a> {
    fn new(entry: &'a Entry, traverser: usize, frame: &'a Frame, most_evals: usize, one_by_one: bool) -> Self {
        let nodes = &entry.nodes;
        let (mut own_below, mut leaves_below) = (vec![false; nodes.len()], vec![false; nodes.len()]);
        // Children follow their parents.
        for (at, node) in nodes.iter().enumerate().rev() {
            match node {
                Node::Decision { seat, children, .. } => {
                    own_below[at] = *seat == traverser || children.iter().any(|&child| own_below[child as usize]);
                    leaves_below[at] = children.iter().any(|&child| leaves_below[child as usize]);
                }
                Node::Exit { .. } => leaves_below[at] = true,
                Node::Fold { .. } | Node::Showdown { .. } => {}
            }
        }
        Self {
            nodes,
            traverser,
            frame,
            most_evals,
            one_by_one,
            own_below,
            leaves_below,
            slots: Slots::default(),
            height: 0,
            highest: 0,
            regions: 0,
            open: Open::default(),
            out: Compiled::default(),
        }
    }

    fn finish(mut self) -> Compiled {
        let (traverser, opponent) = (self.traverser, 1 - self.traverser);
        // The lists for the way to the next street, and for averages: no evaluations, so slots are a stack.
        let mut list = Vec::new();
        let root = self.push_values(1);
        self.descend(0, root, traverser, VALUE, &mut list);
        self.height = 0;
        self.out.program.own = self.append(&list);
        self.out.program.own_root = root;
        list.clear();
        let root = self.slots.take();
        self.descend(0, root, opponent, REACH, &mut list);
        self.out.program.down = self.append(&list);
        self.slots = Slots { n: self.slots.n, ..Slots::default() };
        self.slots.free = (0..self.slots.n).rev().collect();

        let root = self.slots.take();
        let value = self.push_values(1);
        self.ascend(0, root, value, false);
        self.close();
        self.out.program.opponent_root = root;
        self.out.program.value_root = value;
        self.out.program.segments = [0, self.out.segments.len() as u32];
        self.out.program.rows = [0, 1].map(|seat| rows(self.nodes, seat));
        self.resolve();
        self.out
    }

    /// Appends a list to the operations and returns its range.
    fn append(&mut self, list: &[Op]) -> [u32; 2] {
        let first = self.out.ops.len() as u32;
        self.out.ops.extend_from_slice(list);
        [first, self.out.ops.len() as u32]
    }

    /// Takes `n` adjacent value slots and returns the first.
    fn push_values(&mut self, n: u32) -> u32 {
        self.height += n;
        self.highest = self.highest.max(self.height);
        VALUE | (self.height - n)
    }

    fn operands(&mut self, words: impl IntoIterator<Item = u32>) -> u32 {
        let first = self.out.operands.len() as u32;
        self.out.operands.extend(words);
        first
    }

    /// Adds operations on the reach of `seat` from `node` down, without evaluations; `kind` is the kind of its slots.
    fn descend(&mut self, node: usize, slot: u32, seat: usize, kind: u32, list: &mut Vec<Op>) {
        match &self.nodes[node] {
            &Node::Decision { seat: acts, ref children, slot: row, locked, .. } if acts == seat => {
                let own = seat == self.traverser;
                let wanted = |this: &Self, child: u32| {
                    let child = child as usize;
                    this.leaves_below[child] || own && this.own_below[child]
                };
                let height = self.height;
                let mut taken = Vec::with_capacity(children.len());
                for &child in children {
                    taken.push(match wanted(self, child) {
                        false => NONE,
                        true if kind == VALUE => self.push_values(1),
                        true => self.slots.take(),
                    });
                }
                let any = taken.iter().any(|&slot| slot != NONE);
                if any || own {
                    let operands = if any { self.operands(taken.iter().copied()) } else { NONE };
                    let n = children.len() as u32;
                    list.push(Op {
                        code: code::REACH,
                        flags: if locked { flag::LOCKED } else { 0 },
                        given: node as u32,
                        row,
                        n,
                        input: slot,
                        operands,
                        count: n,
                        ..Op::default()
                    });
                }
                for (&child, &slot) in children.iter().zip(&taken) {
                    if slot != NONE {
                        self.descend(child as usize, slot, seat, kind, list);
                    }
                }
                self.height = height;
                if kind == REACH {
                    self.slots.free.extend(taken.into_iter().filter(|&slot| slot != NONE));
                }
            }
            Node::Decision { children, .. } => {
                for &child in children {
                    self.descend(child as usize, slot, seat, kind, list);
                }
            }
            &Node::Exit { entry } => list.push(Op { code: code::LEAVE, input: slot, entry, ..Op::default() }),
            Node::Fold { .. } | Node::Showdown { .. } => {}
        }
    }

    /// Adds operations from `node` down and back up; its value goes to `output`. `slot` holds the opponent's reach.
    fn ascend(&mut self, node: usize, slot: u32, output: u32, add: bool) {
        let flags = if add { flag::ADD } else { 0 };
        match &self.nodes[node] {
            &Node::Decision { seat, ref children, slot: row, locked, .. } if seat == self.traverser => {
                let n = children.len() as u32;
                let values = self.push_values(n);
                // Ends of the betting first: they all ask for the same sums.
                let is_end =
                    |child: u32| matches!(self.nodes[child as usize], Node::Fold { .. } | Node::Showdown { .. });
                let shown = children.iter().any(|&child| matches!(self.nodes[child as usize], Node::Showdown { .. }));
                let (ends, others): (Vec<_>, Vec<_>) = (values..).zip(children).partition(|&(_, &child)| is_end(child));
                if !ends.is_empty() {
                    let region = self.evaluate(slot, shown);
                    for (value, &child) in ends {
                        self.end(child as usize, slot, region, value, false);
                    }
                }
                for (value, &child) in others {
                    self.ascend(child as usize, slot, value, false);
                }
                let operands = self.operands(values..values + n);
                let flags = flags | if locked { flag::LOCKED } else { 0 };
                self.open.up.push(Op {
                    code: code::OWN,
                    flags,
                    row,
                    n,
                    output,
                    operands,
                    given: node as u32,
                    ..Op::default()
                });
                self.height -= n;
            }
            &Node::Decision { ref children, slot: row, locked, .. } => {
                let n = children.len() as u32;
                let reach = Op {
                    code: code::REACH,
                    flags: if locked { flag::LOCKED } else { 0 },
                    row,
                    n,
                    input: slot,
                    given: node as u32,
                    ..Op::default()
                };
                let asks = |this: &Self, child: u32| !matches!(this.nodes[child as usize], Node::Exit { .. });
                if self.one_by_one {
                    for (action, &child) in children.iter().enumerate() {
                        let mut taken = slot;
                        if asks(self, child) {
                            taken = self.slots.take();
                            let operands = self.operands([taken]);
                            let first = action as u32;
                            self.open.down.push(Op { operands, first, count: 1, ..reach });
                        }
                        self.ascend(child as usize, taken, output, add || action > 0);
                        if asks(self, child) {
                            self.slots.given_up.push(taken);
                        }
                    }
                } else {
                    let mut taken = Vec::with_capacity(children.len());
                    for &child in children {
                        taken.push(if asks(self, child) { self.slots.take() } else { NONE });
                    }
                    let operands = self.operands(taken.iter().copied());
                    self.open.down.push(Op { operands, first: 0, count: n, ..reach });
                    for (action, (&child, &taken)) in children.iter().zip(&taken).enumerate() {
                        self.ascend(child as usize, taken, output, add || action > 0);
                        if taken != NONE {
                            self.slots.given_up.push(taken);
                        }
                    }
                }
            }
            &Node::Exit { entry } => {
                self.open.up.push(Op { code: code::RETURN, flags, output, entry, ..Op::default() });
            }
            Node::Fold { .. } => {
                let region = self.evaluate(slot, false);
                self.end(node, slot, region, output, add);
            }
            Node::Showdown { .. } => {
                let region = self.evaluate(slot, true);
                self.end(node, slot, region, output, add);
            }
        }
    }

    /// Requests the sums over a reach vector and returns their offset among the regions.
    fn evaluate(&mut self, source: u32, full: bool) -> u32 {
        if self.open.evals.len() >= self.most_evals {
            self.close();
        }
        let region = self.open.len;
        let opponent = 1 - self.traverser;
        self.open.len += layout::region_len(self.frame.stride[opponent], self.frame.n_hole, full);
        self.regions = self.regions.max(self.open.len);
        self.open.evals.push(Eval { source, region: REGION | region, full: u32::from(full), reserved: 0 });
        REGION | region
    }

    fn end(&mut self, node: usize, input: u32, region: u32, output: u32, add: bool) {
        let seat = self.traverser;
        let flags = if add { flag::ADD } else { 0 };
        let (code, payoff) = match &self.nodes[node] {
            Node::Fold { payoff } => (code::FOLD, [payoff[seat] as f32, 0.0, 0.0]),
            Node::Showdown { win, lose, tie } => {
                (code::SHOWDOWN, [win[seat] as f32, lose[seat] as f32, tie[seat] as f32])
            }
            Node::Decision { .. } | Node::Exit { .. } => return,
        };
        self.open.up.push(Op { code, flags, input, output, region, payoff, ..Op::default() });
    }

    /// Ends the segment and frees released slots.
    fn close(&mut self) {
        let open = std::mem::take(&mut self.open);
        let down = self.append(&open.down);
        let up = self.append(&open.up);
        let first = self.out.evals.len() as u32;
        self.out.evals.extend(open.evals);
        self.out.segments.push(Segment { down, evals: [first, self.out.evals.len() as u32], up });
        let given_up = std::mem::take(&mut self.slots.given_up);
        self.slots.free.extend(given_up);
    }

    /// Assigns every offset its value: slots of reach, slots of values, sums.
    fn resolve(&mut self) {
        // All slots are of one length: then a thread has the same values of every slot whatever it held before, and needs no barrier when it is used again.
        let reach = self.frame.stride[0].max(self.frame.stride[1]);
        let value = reach;
        let values = self.slots.n * reach;
        let regions = values + self.highest * value;
        self.out.n_shared = regions + self.regions;
        let resolved = |offset: &mut u32| {
            let number = *offset & !KIND;
            *offset = match *offset & KIND {
                REACH => number * reach,
                VALUE => values + number * value,
                REGION => regions + number,
                // `NONE` stays what it is.
                _ => *offset,
            };
        };
        for op in &mut self.out.ops {
            resolved(&mut op.input);
            resolved(&mut op.output);
            resolved(&mut op.region);
        }
        self.out.operands.iter_mut().for_each(resolved);
        for eval in &mut self.out.evals {
            resolved(&mut eval.source);
            resolved(&mut eval.region);
        }
        let program = &mut self.out.program;
        for root in [&mut program.own_root, &mut program.opponent_root, &mut program.value_root] {
            resolved(root);
        }
    }
}
