//! Which engine solves a problem: the rule, and the table of engines.

use std::fmt;

use super::engine::Engine;
use super::options::{Algorithm, Form, Numbers, Options};
use super::solver::Problem;
use super::strategy::Layout;
use crate::named::named;
use crate::{Backend, Device, Error, Result};

named! {
    /// The engines, by the folder that holds each.
    EngineName, "engine":
    /// Vector form, a whole game in one block.
    Small = "small",
    /// Vector form, a block a betting round on a board.
    Street = "street",
    /// Betting tree × cards, all deals by a recurrence over subsets.
    Subset = "subset",
    /// Explicit tree, level by level.
    Explicit = "explicit",
    /// Explicit tree, sampled traversals.
    Mccfr = "mccfr",
    /// Betting tree, sampled deals, a warp a subtree.
    Walk = "walk",
    /// Vector form on the CPU.
    Cpu = "cpu",
}

/// What will solve a problem, and the memory that it needs.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(in crate::cfr) layout: Layout,
    pub(in crate::cfr) engine: EngineName,
    pub(in crate::cfr) isomorphism: bool,
    infoset_actions: u64,
    table_bytes: u64,
}

impl Plan {
    fn new(layout: Layout, engine: EngineName, isomorphism: bool, options: &Options) -> Self {
        let infoset_actions = layout.len() as u64;
        let tables = if options.algorithm == Algorithm::PcfrPlus { 3 } else { 2 };
        let value = match options.numbers {
            Numbers::F32 => 4,
            Numbers::F64 => 8,
            Numbers::I16 => 2,
        };
        Self { layout, engine, isomorphism, infoset_actions, table_bytes: infoset_actions * tables * value }
    }

    /// The engine.
    pub fn engine(&self) -> EngineName {
        self.engine
    }

    /// Pairs of information set and action over all seats; hands that the board blocks are among them.
    pub fn infoset_actions(&self) -> u64 {
        self.infoset_actions
    }

    /// Bytes of regrets and averages, and of last regrets where the algorithm predicts. What an engine needs besides is small.
    pub fn table_bytes(&self) -> u64 {
        self.table_bytes
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { engine, infoset_actions, table_bytes, .. } = self;
        write!(f, "engine {engine}, {infoset_actions} infoset-actions, {} of tables", crate::error::bytes(*table_bytes))
    }
}

/// The rule of [`cfr`](super).
pub(in crate::cfr) fn plan(device: &Device, problem: &Problem, options: &Options, isomorphism: bool) -> Result<Plan> {
    let _ = (options, isomorphism, Plan::new, Form::Auto, Backend::Cpu);
    Err(Error::Unsupported {
        what: format!("solving {}", problem.describe()),
        backend: device.backend().to_string(),
        remedy: "no engine offers it".into(),
    })
}

/// The engine for a problem that is laid out already.
pub(in crate::cfr) fn plan_layout(
    device: &Device,
    problem: &Problem,
    layout: &Layout,
    options: &Options,
    isomorphism: bool,
) -> Result<Plan> {
    let _ = layout;
    plan(device, problem, options, isomorphism)
}

/// Takes the memory.
pub(in crate::cfr) fn build(device: &Device, plan: &Plan, options: &Options) -> Result<Box<dyn Engine>> {
    let _ = options;
    Err(Error::Unsupported {
        what: format!("engine {}", plan.engine),
        backend: device.backend().to_string(),
        remedy: "no engine offers it".into(),
    })
}
