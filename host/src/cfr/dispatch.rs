//! Which engine solves a problem: the rule, and the table of engines.

use std::fmt;
use std::sync::Arc;

use crate::cfr::abstraction::Recipe;
use crate::cfr::engines::walk::{self, Information};
use crate::cfr::engines::{Solve, cpu, explicit, mccfr, merged, small, street, subset};
use crate::cfr::game::game_file::GameDef;
use crate::cfr::game::{BettingTree, Game, Poker, Tree};
use crate::cfr::layout::{Buckets, Layout, LayoutKind, MOST_MEASURED, VectorGame};
use crate::cfr::options::{Algorithm, Engine, Options, Sampling, Updates};
use crate::cfr::problem::Problem;
use crate::{Backend, Device, Error, Memory, Precision, Result};

/// Maximum number of nodes of an explicit tree that is preferred to the recurrence over sets of cards.
const MOST_HISTORIES: u128 = 4_000_000;

/// The engine that will solve a problem, and the memory that it needs.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(in crate::cfr) layout: Layout,
    pub(in crate::cfr) engine: Engine,
    /// Of a game in buckets, where all deals are walked.
    merged: Option<Arc<merged::Trees>>,
    infoset_actions: u64,
    tables: u64,
    memory: Memory,
}

impl Plan {
    fn new(layout: Layout, engine: Engine, options: &Options, memory: Memory) -> Self {
        let infoset_actions = layout.len() as u64;
        let n_tables = if options.algorithm == Algorithm::PcfrPlus { 3 } else { 2 };
        let value = match options.precision {
            Precision::F64 => 8,
            Precision::I16 => 2,
            _ => 4,
        };
        let tables = infoset_actions.saturating_mul(n_tables * value);
        Self { layout, engine, merged: None, infoset_actions, tables, memory }
    }

    /// The engine; never `auto`.
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// Number of pairs of information set and action over all seats, including hands that the board blocks.
    pub fn infoset_actions(&self) -> u64 {
        self.infoset_actions
    }

    /// Memory that the solve takes, regardless of how much is free.
    pub fn memory_needed(&self) -> &Memory {
        &self.memory
    }

    /// With memory of the host that is taken beside the engine's.
    pub(in crate::cfr) fn with_host(mut self, what: &str, bytes: u64) -> Self {
        self.memory = self.memory.on_host(what, bytes);
        self
    }

    /// Bytes of regrets and averages, and of last regrets if the algorithm predicts.
    pub(in crate::cfr) fn tables(&self) -> u64 {
        self.tables
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { engine, infoset_actions, tables, memory, .. } = self;
        let tables = crate::runtime::error::bytes(*tables);
        write!(f, "engine {engine}, {infoset_actions} infoset-actions, {tables} of tables; memory {memory}")
    }
}

/// Applies the rule of [`cfr`](super): lays the problem out, and checks that the engine supports it. The choice does not depend on free memory.
pub(in crate::cfr) fn plan(device: &Device, problem: &Problem, options: &Options) -> Result<Plan> {
    let kind = kind_on(device, problem, options)?;
    let layout = layout_of(problem, kind, options.isomorphism)?;
    plan_layout(device, &layout, options)
}

/// The layout for a problem on a device, as far as that depends on no sizes.
///
/// # Errors
/// [`Error::Option`] for an engine that the device or the problem does not have, and for options that do not go together.
pub(in crate::cfr) fn kind_on(device: &Device, problem: &Problem, options: &Options) -> Result<LayoutKind> {
    check_device(device, options)?;
    layout_kind(problem, options, device)
}

/// Checks that a device has the engine that is asked for.
fn check_device(device: &Device, options: &Options) -> Result<()> {
    let on_cpu = matches!(options.engine, Engine::Auto | Engine::Explicit | Engine::Mccfr | Engine::Walk | Engine::Cpu);
    match device.backend() {
        Backend::Cpu if !on_cpu => {
            Err(Error::option("engine", options.engine, "auto, cpu, explicit, mccfr or walk on the CPU"))
        }
        Backend::Cuda | Backend::Simt if options.engine == Engine::Cpu => Err(Error::option(
            "engine",
            options.engine,
            "an engine other than cpu on devices that run kernels, or the device cpu",
        )),
        _ => Ok(()),
    }
}

/// The layout of a game with buckets of cards.
fn bucket_kind(options: &Options) -> Result<LayoutKind> {
    match (options.engine, options.sampling) {
        (Engine::Auto | Engine::Walk, Sampling::Chance) => Ok(LayoutKind::Padded),
        (Engine::Walk, _) if !options.algorithm.takes_sampled_deals() => Err(walk::no_sampled_deals(options.algorithm)),
        (Engine::Walk, sampling) => Err(Error::option("sampling", sampling, "chance with engine walk")),
        (Engine::Mccfr, Sampling::None) => {
            Err(Error::option("sampling", options.sampling, "external, outcome or chance with engine mccfr"))
        }
        (Engine::Auto | Engine::Explicit, Sampling::None | Sampling::External | Sampling::Outcome)
        | (Engine::Explicit, Sampling::Chance)
        | (Engine::Mccfr, Sampling::External | Sampling::Outcome | Sampling::Chance) => Ok(LayoutKind::Merged),
        (Engine::Auto | Engine::Explicit | Engine::Mccfr, sampling) => Err(Error::option(
            "sampling",
            sampling,
            "none, chance, external or outcome for a game with buckets of cards",
        )),
        (engine, _) => {
            Err(Error::option("engine", engine, "auto, explicit, mccfr or walk for a game with buckets of cards"))
        }
    }
}

/// Memory of a solve in the buckets of a recipe, before they are found: with the number of buckets that it asks for in each round.
///
/// # Errors
/// [`Error::Option`] for a recipe that does not suit the game, and for options that a game with buckets does not have.
pub(in crate::cfr) fn memory_of_recipe(
    device: &Device,
    rules: &GameDef,
    recipe: &Recipe,
    options: &Options,
) -> Result<Memory> {
    check_device(device, options)?;
    let kind = bucket_kind(options)?;
    let asked = recipe.asked(rules)?;
    if kind == LayoutKind::Merged {
        merged::check(device, rules.n_players, options)?;
        let trees = merged::Trees::largest(rules, &asked, options.algorithm)?;
        let n_values = Buckets::count(rules, &asked)?;
        return merged::fits(device, &trees, n_values, options);
    }
    walk::fits(device, rules, &Information::Buckets(Arc::new(asked)), options)
}

/// The layout for a problem.
fn layout_kind(problem: &Problem, options: &Options, device: &Device) -> Result<LayoutKind> {
    let wrong = |allowed: &str| Err(Error::option("engine", options.engine, allowed));
    let walks_tree = matches!(options.sampling, Sampling::External | Sampling::Outcome);
    if options.engine == Engine::Mccfr && options.sampling == Sampling::None {
        return Err(Error::option("sampling", options.sampling, "external, outcome or chance with engine mccfr"));
    }
    match (problem, options.engine) {
        (Problem::Tree(_), Engine::Auto | Engine::Explicit | Engine::Mccfr) => Ok(LayoutKind::Tree),
        (Problem::Tree(_), _) => wrong("auto, explicit or mccfr for a tree"),
        (Problem::Spot(_), Engine::Auto | Engine::Small | Engine::Street | Engine::Cpu) if walks_tree => {
            Err(Error::option(
                "sampling",
                options.sampling,
                "none or chance, public_chance, opponent_public, self_public for a spot",
            ))
        }
        (Problem::Spot(_), Engine::Auto | Engine::Small | Engine::Street | Engine::Cpu) => Ok(LayoutKind::Vector),
        (Problem::Spot(_), _) => wrong("auto, small, street or cpu for a spot"),
        (Problem::Subgame(_), Engine::Auto | Engine::Street | Engine::Cpu)
            if options.sampling == Sampling::None && options.updates == Updates::Alternating =>
        {
            Ok(LayoutKind::Vector)
        }
        (Problem::Subgame(_), Engine::Auto | Engine::Street | Engine::Cpu)
            if options.updates != Updates::Alternating =>
        {
            Err(Error::option("updates", options.updates, "alternating for a subgame"))
        }
        (Problem::Subgame(_), Engine::Auto | Engine::Street | Engine::Cpu) => {
            Err(Error::option("sampling", options.sampling, "none for a subgame"))
        }
        (Problem::Subgame(_), _) => wrong("auto, street or cpu for a subgame"),
        (Problem::Abstracted(..), _) => bucket_kind(options),
        (Problem::Poker(_), Engine::Explicit | Engine::Mccfr) => Ok(LayoutKind::Tree),
        (Problem::Poker(_), Engine::Auto) if walks_tree => Ok(LayoutKind::Tree),
        (Problem::Poker(_), _) if walks_tree => wrong("auto, mccfr or explicit with external or outcome sampling"),
        (Problem::Poker(rules), Engine::Small | Engine::Street | Engine::Cpu) if rules.n_players != 2 => {
            wrong("auto, explicit, mccfr, subset or walk for more than two players")
        }
        (Problem::Poker(_), Engine::Small | Engine::Street | Engine::Cpu) => Ok(LayoutKind::Vector),
        (Problem::Poker(_), Engine::Subset) => Ok(LayoutKind::Buckets),
        (Problem::Poker(_), Engine::Walk) => Ok(LayoutKind::Padded),
        (Problem::Poker(rules), Engine::Auto) if rules.n_players == 2 => Ok(LayoutKind::Vector),
        (Problem::Poker(_), Engine::Auto) if options.sampling == Sampling::Chance => Ok(LayoutKind::Padded),
        (Problem::Poker(rules), Engine::Auto) => exact_kind(rules, device),
    }
}

/// Lays a problem out.
pub(in crate::cfr) fn layout_of(problem: &Problem, kind: LayoutKind, isomorphism: bool) -> Result<Layout> {
    let unknown = || Error::option("engine", kind, format!("another layout for {}", problem.describe()));
    match (kind, problem) {
        (LayoutKind::Padded, Problem::Abstracted(rules, abstraction)) => {
            Ok(Layout::Buckets(Arc::new(Buckets::new(rules, true, Some(abstraction))?)))
        }
        (LayoutKind::Merged, Problem::Abstracted(rules, abstraction)) => {
            Ok(Layout::Buckets(Arc::new(Buckets::new(rules, false, Some(abstraction))?)))
        }
        (LayoutKind::Vector, Problem::Poker(rules) | Problem::Abstracted(rules, _)) => {
            let tree = BettingTree::new(rules)?;
            let game = VectorGame::from_game(rules, &tree, isomorphism)?;
            Ok(Layout::Vector { game: Arc::new(game), tree: Arc::new(tree) })
        }
        (LayoutKind::Vector, Problem::Spot(spot)) => {
            let (game, tree) = spot.build(isomorphism)?;
            Ok(Layout::Vector { game: Arc::new(game), tree: Arc::new(tree) })
        }
        (LayoutKind::Vector, Problem::Subgame(subgame)) => {
            let (game, tree) = subgame.build(isomorphism)?;
            Ok(Layout::Vector { game: Arc::new(game), tree: Arc::new(tree) })
        }
        (LayoutKind::Tree, Problem::Poker(rules) | Problem::Abstracted(rules, _)) => {
            Ok(Layout::Tree(Arc::new(Tree::build(&Poker::new(rules)?)?)))
        }
        (LayoutKind::Tree, Problem::Tree(tree)) => Ok(Layout::Tree(Arc::clone(tree))),
        (LayoutKind::Buckets | LayoutKind::Padded, Problem::Poker(rules) | Problem::Abstracted(rules, _)) => {
            Ok(Layout::Buckets(Arc::new(Buckets::new(rules, kind == LayoutKind::Padded, None)?)))
        }
        (LayoutKind::Merged, Problem::Poker(_)) | (_, Problem::Tree(_) | Problem::Spot(_) | Problem::Subgame(_)) => {
            Err(unknown())
        }
    }
}

/// Whether the recurrence over sets of cards supports this game.
fn is_subset(rules: &GameDef) -> bool {
    rules.n_hole_cards == 1 && rules.deck.n_suits == 1 && rules.n_rounds == 1 && rules.n_board_cards == [0]
}

/// The layout for walking all deals of a game with tables by hands.
pub(in crate::cfr) fn exact_kind(rules: &GameDef, device: &Device) -> Result<LayoutKind> {
    let by_subsets = device.backend() != Backend::Cpu && is_subset(rules) && n_histories(rules)? > MOST_HISTORIES;
    Ok(if by_subsets { LayoutKind::Buckets } else { LayoutKind::Tree })
}

/// Whether an engine can walk all deals of a game with tables by hands within a minute.
pub(in crate::cfr) fn walks_all_deals(rules: &GameDef, device: &Device) -> Result<bool> {
    Ok(exact_kind(rules, device)? == LayoutKind::Buckets || n_histories(rules)? <= MOST_MEASURED)
}

/// Nodes of the explicit tree.
fn n_histories(rules: &GameDef) -> Result<u128> {
    Ok(Poker::new(rules)?.n_histories().unwrap_or(u128::MAX))
}

/// The engine for a problem that is laid out already.
pub(in crate::cfr) fn plan_layout(device: &Device, layout: &Layout, options: &Options) -> Result<Plan> {
    let (engine, memory) = match layout {
        Layout::Vector { game, .. } => vector_engine(device, game, options)?,
        Layout::Buckets(buckets) if buckets.padded => {
            (Engine::Walk, walk::fits(device, &buckets.rules, &information(buckets), options)?)
        }
        Layout::Buckets(buckets) => match &buckets.abstraction {
            Some(abstraction) => {
                merged::check(device, buckets.rules.n_players, options)?;
                let trees = merged::Trees::new(&buckets.rules, &**abstraction, options.algorithm)?;
                let memory = merged::fits(device, &trees, layout.len() as u64, options)?;
                let plan = Plan::new(layout.clone(), tree_engine(options), options, memory);
                return Ok(Plan { merged: Some(Arc::new(trees)), ..plan });
            }
            None => (Engine::Subset, subset::fits(&buckets.rules, options)?),
        },
        Layout::Tree(tree) => match tree_engine(options) {
            Engine::Explicit => (Engine::Explicit, explicit::fits(device, tree, options)?),
            engine => (engine, mccfr::fits(device, tree, options)?),
        },
    };
    Ok(Plan::new(layout.clone(), engine, options, memory))
}

/// The engine of explicit trees.
fn tree_engine(options: &Options) -> Engine {
    if options.sampling == Sampling::None { Engine::Explicit } else { Engine::Mccfr }
}

/// What the players of a game with tables by hands or buckets know of the cards, for the walk.
fn information(buckets: &Buckets) -> Information {
    match &buckets.abstraction {
        Some(abstraction) => Information::Buckets(Arc::clone(abstraction) as Arc<dyn walk::Buckets>),
        None => Information::Exact,
    }
}

/// Chooses `small` or `street` for a game in vector form, and computes the memory that the engine needs.
fn vector_engine(device: &Device, game: &VectorGame, options: &Options) -> Result<(Engine, Memory)> {
    if device.backend() == Backend::Cpu {
        return Ok((Engine::Cpu, cpu::fits(game, options)?));
    }
    match options.engine {
        Engine::Small => Ok((Engine::Small, small::fits(device, game, options)?)),
        Engine::Auto => match small::fits(device, game, options) {
            Ok(memory) => Ok((Engine::Small, memory)),
            Err(_) => Ok((Engine::Street, street::fits(device, game, options)?)),
        },
        _ => Ok((Engine::Street, street::fits(device, game, options)?)),
    }
}

fn build_engine(device: &Device, engine: Engine, game: &Arc<VectorGame>, options: &Options) -> Result<Box<dyn Solve>> {
    match engine {
        Engine::Small => small::build(device, Arc::clone(game), options),
        Engine::Street => street::build(device, Arc::clone(game), options),
        _ => cpu::build(Arc::clone(game), options),
    }
}

/// Allocates the memory and builds the engine.
///
/// # Errors
/// [`Error::OutOfMemory`] with the bytes of [`Plan::memory_needed`]; errors of the device.
pub(in crate::cfr) fn build(device: &Device, plan: &Plan, options: &Options) -> Result<Box<dyn Solve>> {
    device.expect_memory(plan.memory_needed())?;
    if let (Layout::Buckets(buckets), Some(trees)) = (&plan.layout, &plan.merged) {
        return merged::build(device, trees, buckets, options);
    }
    match (&plan.layout, plan.engine) {
        (Layout::Vector { game, .. }, engine) => build_engine(device, engine, game, options),
        (Layout::Buckets(buckets), Engine::Walk) => walk::build(device, &buckets.rules, &information(buckets), options),
        (Layout::Buckets(buckets), _) => subset::build(device, Arc::clone(&buckets.rules), options),
        (Layout::Tree(tree), Engine::Mccfr) => mccfr::build(device, Arc::clone(tree), options),
        (Layout::Tree(tree), _) => explicit::build(device, Arc::clone(tree), options),
    }
}
