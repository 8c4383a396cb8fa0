//! The worked examples of the paper, computed by the library, by the reference and by the kernels' own functions.

use warpplay::Result;
use warpplay::cfr::game::{Sequences, Turn};
use warpplay::cfr::{BettingTree, Game, GameDef, MatrixGame};
use warpplay_cpu_ref::cfr::matrix::Learner;

use super::kernels::sequence::{ACTIONS, matched};

/// Figure 8 and section 3.1.3 (pp. 17 and 18): one information set, call, raise and fold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure8 {
    /// Value of the strategy.
    pub value: f64,
    /// What each action would have won more.
    pub regrets: [f64; ACTIONS],
    /// The same, weighted with the opponent's reach.
    pub counterfactual: [f64; ACTIONS],
    /// The next strategy.
    pub strategy: [f64; ACTIONS],
}

/// Figure 8 from its utilities, strategy and opponent's reach: regrets as the reference learns them, with the kernels' matching.
pub fn figure8(utilities: [f64; ACTIONS], strategy: [f64; ACTIONS], reach: f64) -> Figure8 {
    let value: f64 = utilities.iter().zip(&strategy).map(|(utility, probability)| utility * probability).sum();
    let mut learner = Learner::new(ACTIONS);
    learner.learn(&strategy, &utilities, value);
    let regrets: [f64; ACTIONS] = std::array::from_fn(|action| learner.regrets[action]);
    let counterfactual = regrets.map(|regret| reach * regret);
    Figure8 { value, regrets, counterfactual, strategy: matched(counterfactual, [0; ACTIONS]) }
}

/// Payoffs to both after two moves of a game of one move each.
fn payoffs(game: &MatrixGame, row: usize, column: usize) -> Vec<f64> {
    match game.turn(&game.next(&game.next(&game.root(), row), column)) {
        Turn::End(payoffs) => payoffs,
        _ => Vec::new(),
    }
}

/// Section 3.1.1 (p. 16): the first player's regrets after rock against paper, and the strategy matched from them; rock, paper, scissors.
pub fn rock_against_paper() -> ([f64; ACTIONS], [f64; ACTIONS]) {
    let (game, [rock, paper, scissors]) = (MatrixGame::rock_paper_scissors(), [0, 1, 2]);
    let won = |action: usize| payoffs(&game, action, paper).first().copied().unwrap_or(0.0);
    let regrets = [rock, paper, scissors].map(|action| won(action) - won(rock));
    (regrets, matched(regrets, [0; ACTIONS]))
}

/// Figure 3 and section 2.1.7 (pp. 8 and 9): the prisoner's dilemma, `[silent, confess][silent, confess]`, payoffs of both.
pub fn prisoners_dilemma() -> [[[f64; 2]; 2]; 2] {
    let game = MatrixGame::prisoners_dilemma();
    let of = |row, column| {
        let both = payoffs(&game, row, column);
        [both.first().copied().unwrap_or(0.0), both.get(1).copied().unwrap_or(0.0)]
    };
    [0, 1].map(|row| [0, 1].map(|column| of(row, column)))
}

/// Pairs of actions of the dilemma that nobody gains by leaving alone.
pub fn dilemma_equilibria() -> Vec<(usize, usize)> {
    let table = prisoners_dilemma();
    let pairs = [(0, 0), (0, 1), (1, 0), (1, 1)].into_iter();
    let stays = |&(row, column): &(usize, usize)| {
        table[row][column][0] >= table[1 - row][column][0] && table[row][column][1] >= table[row][1 - column][1]
    };
    pairs.filter(stays).collect()
}

/// The shape of figure 10: a sequence whose three actions lead to three more. The figure names no game; here the first of three players faces a blind, and each
/// of fold, call and raise leaves somebody to act.
///
/// # Errors
/// None: the definition is part of the program.
pub fn small_tree() -> Result<Sequences> {
    let game = GameDef::parse(
        "GAMEDEF\nlimit\nnumPlayers = 3\nnumRounds = 1\nblind = 0 1 1\nraiseSize = 1\nfirstPlayer = 1\nmaxRaises = 1\nnumSuits = 1\nnumRanks = 4\n\
         numHoleCards = 1\nnumBoardCards = 0\nEND GAMEDEF\n",
    )?;
    Sequences::of(&BettingTree::new(&game)?)
}

/// Figure 14 (p. 27): both players' reaches of the root and of the sequence that player 0 comes to from there by an action of probability `played`.
pub fn reaches(played: f64) -> [[f64; 2]; 2] {
    [[1.0, 1.0], [played, 1.0]]
}

/// Figure 15 (p. 28): the reaches of all sequences in one array, `[sequence][player]`.
pub fn reaches_in_one_array(of_sequences: &[[f64; 2]]) -> Vec<f64> {
    of_sequences.concat()
}

/// Figure 16 (p. 29): the sequences of every level.
pub fn sequences_per_level(game: &Sequences) -> Vec<Vec<u32>> {
    game.levels.iter().map(|level| level.clone().collect()).collect()
}

/// The same flattened as section 4.3.2 (p. 31) says: one array, and the sizes beside it.
pub fn flattened(levels: &[Vec<u32>]) -> (Vec<u32>, Vec<usize>) {
    (levels.concat(), levels.iter().map(Vec::len).collect())
}
