//! Which engine solves a problem: the rule, and the table of engines.

use std::fmt;
use std::sync::Arc;

use crate::cfr::engines::Solve;
use crate::cfr::engines::walk;
use crate::cfr::engines::walk::Information;
use crate::cfr::engines::{cpu, explicit, mccfr, small, street, subset};
use crate::cfr::game::game_file::GameDef;
use crate::cfr::game::{BettingTree, Game, Poker, Tree};
use crate::cfr::layout::VectorGame;
use crate::cfr::layout::{Buckets, Layout, LayoutKind};
use crate::cfr::options::{Algorithm, Form, Numbers, Options, Sampling};
use crate::cfr::problem::Problem;
use crate::runtime::named::named;
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

/// Most nodes of an explicit tree that is chosen where the recurrence over sets of cards is another way.
const MOST_HISTORIES: u128 = 4_000_000;

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
        write!(
            f,
            "engine {engine}, {infoset_actions} infoset-actions, {} of tables",
            crate::runtime::error::bytes(*table_bytes)
        )
    }
}

/// The rule of [`cfr`](super): lays the problem out, and asks the engine whether it can.
pub(in crate::cfr) fn plan(device: &Device, problem: &Problem, options: &Options, isomorphism: bool) -> Result<Plan> {
    if device.backend() == Backend::Cpu && !matches!(options.form, Form::Auto | Form::Explicit) {
        return Err(Error::option("form", options.form, "auto or explicit on the CPU"));
    }
    let kind = layout_kind(problem, options, device)?;
    let layout = layout_of(problem, kind, isomorphism)?;
    plan_layout(device, &layout, options, isomorphism)
}

/// Which layout suits a problem.
fn layout_kind(problem: &Problem, options: &Options, device: &Device) -> Result<LayoutKind> {
    let wrong_form = |allowed: &str| Err(Error::option("form", options.form, allowed));
    let walks_tree = matches!(options.sampling, Sampling::External | Sampling::Outcome);
    match (problem, options.form) {
        (Problem::Tree(_), Form::Auto | Form::Explicit) => Ok(LayoutKind::Tree),
        (Problem::Tree(_), _) => wrong_form("auto or explicit for a tree"),
        (Problem::Spot(_), Form::Explicit | Form::Subset) => wrong_form("auto, block or street for a spot"),
        (Problem::Spot(_), _) if walks_tree => Err(Error::option(
            "sampling",
            options.sampling,
            "none or chance, public_chance, opponent_public, self_public for a spot",
        )),
        (Problem::Spot(_), _) => Ok(LayoutKind::Vector),
        (Problem::Poker(_), Form::Explicit) => Ok(LayoutKind::Tree),
        (Problem::Poker(_), Form::Auto) if walks_tree => Ok(LayoutKind::Tree),
        (Problem::Poker(_), _) if walks_tree => wrong_form("auto or explicit with external or outcome sampling"),
        (Problem::Poker(rules), Form::Block | Form::Street) if rules.n_players != 2 => {
            wrong_form("auto, explicit or subset for more than two players")
        }
        (Problem::Poker(_), Form::Block | Form::Street) => Ok(LayoutKind::Vector),
        (Problem::Poker(_), Form::Subset) => Ok(LayoutKind::Buckets),
        (Problem::Poker(rules), Form::Auto) if rules.n_players == 2 => Ok(LayoutKind::Vector),
        (Problem::Poker(_), Form::Auto) if options.sampling == Sampling::Chance && device.backend() != Backend::Cpu => {
            Ok(LayoutKind::Padded)
        }
        (Problem::Poker(rules), Form::Auto) => exact_kind(rules, device),
    }
}

/// Lays a problem out.
pub(in crate::cfr) fn layout_of(problem: &Problem, kind: LayoutKind, isomorphism: bool) -> Result<Layout> {
    let unknown = || Error::option("form", kind, format!("another layout for {}", problem.describe()));
    match (kind, problem) {
        (LayoutKind::Vector, Problem::Poker(rules)) => {
            let tree = BettingTree::new(rules)?;
            let game = VectorGame::from_game(rules, &tree, isomorphism)?;
            Ok(Layout::Vector { game: Arc::new(game), tree: Arc::new(tree) })
        }
        (LayoutKind::Vector, Problem::Spot(spot)) => {
            let (game, tree) = spot.build(isomorphism)?;
            Ok(Layout::Vector { game: Arc::new(game), tree: Arc::new(tree) })
        }
        (LayoutKind::Tree, Problem::Poker(rules)) => Ok(Layout::Tree(Arc::new(Tree::build(&Poker::new(rules)?)?))),
        (LayoutKind::Tree, Problem::Tree(tree)) => Ok(Layout::Tree(Arc::clone(tree))),
        (LayoutKind::Buckets | LayoutKind::Padded, Problem::Poker(rules)) => {
            Ok(Layout::Buckets(Arc::new(Buckets::new(rules, kind == LayoutKind::Padded)?)))
        }
        (_, Problem::Tree(_) | Problem::Spot(_)) => Err(unknown()),
    }
}

/// Whether the recurrence over sets of cards has a game's form.
fn is_subset(rules: &GameDef) -> bool {
    rules.n_hole_cards == 1 && rules.deck.n_suits == 1 && rules.n_rounds == 1 && rules.n_board_cards == [0]
}

/// The layout in which all deals of a game with tables by hands are walked.
pub(in crate::cfr) fn exact_kind(rules: &GameDef, device: &Device) -> Result<LayoutKind> {
    let by_subsets = device.backend() != Backend::Cpu && is_subset(rules) && n_histories(rules)? > MOST_HISTORIES;
    Ok(if by_subsets { LayoutKind::Buckets } else { LayoutKind::Tree })
}

/// Nodes of the explicit tree.
fn n_histories(rules: &GameDef) -> Result<u128> {
    Ok(Poker::new(rules)?.n_histories().unwrap_or(u128::MAX))
}

/// The engine for a problem that is laid out already.
pub(in crate::cfr) fn plan_layout(
    device: &Device,
    layout: &Layout,
    options: &Options,
    isomorphism: bool,
) -> Result<Plan> {
    let engine = match layout {
        Layout::Vector { game, .. } => vector_engine(device, game, options)?,
        Layout::Buckets(buckets) if buckets.padded => {
            walk::fits(device, &buckets.rules, &Information::Exact, options)?;
            EngineName::Walk
        }
        Layout::Buckets(buckets) => {
            subset::fits(device, &buckets.rules, options)?;
            EngineName::Subset
        }
        Layout::Tree(tree) => match options.sampling {
            Sampling::None => {
                explicit::fits(device, tree, options)?;
                EngineName::Explicit
            }
            _ => {
                mccfr::fits(device, tree, options)?;
                EngineName::Mccfr
            }
        },
    };
    Ok(Plan::new(layout.clone(), engine, isomorphism, options))
}

/// The engine for a game in vector form.
fn vector_engine(device: &Device, game: &VectorGame, options: &Options) -> Result<EngineName> {
    if device.backend() == Backend::Cpu {
        cpu::fits(device, game, options)?;
        return Ok(EngineName::Cpu);
    }
    match options.form {
        Form::Block => {
            small::fits(device, game, options)?;
            Ok(EngineName::Small)
        }
        Form::Auto if small::fits(device, game, options).is_ok() => Ok(EngineName::Small),
        _ => {
            street::fits(device, game, options)?;
            Ok(EngineName::Street)
        }
    }
}

fn build_engine(
    device: &Device,
    engine: EngineName,
    game: &Arc<VectorGame>,
    options: &Options,
) -> Result<Box<dyn Solve>> {
    match engine {
        EngineName::Small => small::build(device, Arc::clone(game), options),
        EngineName::Street => street::build(device, Arc::clone(game), options),
        _ => cpu::build(device, Arc::clone(game), options),
    }
}

/// The engine for a game in vector form, by the same rule.
pub(in crate::cfr) fn build_vector(
    device: &Device,
    game: &Arc<VectorGame>,
    options: &Options,
) -> Result<Box<dyn Solve>> {
    build_engine(device, vector_engine(device, game, options)?, game, options)
}

/// Takes the memory.
pub(in crate::cfr) fn build(device: &Device, plan: &Plan, options: &Options) -> Result<Box<dyn Solve>> {
    match (&plan.layout, plan.engine) {
        (Layout::Vector { game, .. }, engine) => build_engine(device, engine, game, options),
        (Layout::Buckets(buckets), EngineName::Walk) => {
            walk::build(device, &buckets.rules, &Information::Exact, options)
        }
        (Layout::Buckets(buckets), _) => subset::build(device, Arc::clone(&buckets.rules), options),
        (Layout::Tree(tree), EngineName::Mccfr) => mccfr::build(device, Arc::clone(tree), options),
        (Layout::Tree(tree), _) => explicit::build(device, Arc::clone(tree), options),
    }
}
