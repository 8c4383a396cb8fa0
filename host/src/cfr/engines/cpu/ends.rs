//! The ends of hands: what each hand wins against the other's reach. Several ends are evaluated at once, a lane each, so that one walk over the hands serves them all.

use super::program::{Fold, Showdown};
use super::vectors::{Real, wide};
use crate::cfr::layout::{Shown, VectorGame, number_sets};

/// Ends evaluated at once.
const LANES: usize = 8;

/// A number for each lane.
type Lanes<T> = [T; LANES];

/// Games with up to this many hands a seat are compared pair by pair. Differences of sums leave rounding errors where hands are equally good, and regret matching depends on their sign, so
/// small games, which have exact ties, would leave the exact solution. Larger ones take sums even where a seat has few hands: 12 hands against all take half as long with them.
const FEW: usize = 64;

/// There is no such hand.
const NONE: u32 = u32::MAX;

/// Ends of a game, by the number of hole cards.
pub(super) enum Ends {
    /// One: at most 64 hands, which are always compared pair by pair.
    One,
    /// Two.
    Two(CardSums<2>),
    /// Three.
    Three(CardSums<6>),
}

/// Card removal by inclusion and exclusion, as [`Removal`](crate::cfr::layout::Removal), for several ends at once. The set of all of a hand's cards is in one hand alone, whose reach is
/// looked up instead: few sums are left, which stay in the first-level cache. The sum of the empty set, to which every hand is added, is kept apart, in a register.
pub(super) struct CardSums<const N: usize> {
    /// Numbers of the sets of a hand's cards but the empty one and that of all, by seat and hand.
    sets: [Vec<[u32; N]>; 2],
    /// The same cards as a hand of the other seat, by seat and hand.
    same: [Vec<u32>; 2],
    n_sets: usize,
}

/// A board and its hands, from the passing seat's point of view.
#[derive(Clone, Copy)]
pub(super) struct Hands<'a> {
    pub game: &'a VectorGame,
    /// The passing seat.
    pub seat: usize,
    /// The cards that the board shows.
    pub cards: u64,
    /// The order of hands, on the last street.
    pub shown: Option<&'a Shown>,
}

/// What an evaluation needs room for.
#[derive(Default)]
pub(super) struct Scratch<T> {
    /// The other's reach, in the order of its hands or of their strength.
    reach: Vec<Lanes<T>>,
    /// Position of each of the other's hands in that order.
    positions: Vec<usize>,
    /// By set of cards.
    sums: Vec<Lanes<T>>,
    /// Values, in the order of the passing seat's hands or of their strength.
    values: Vec<Lanes<T>>,
    /// What comes of each pair of hands.
    pairs: Vec<u8>,
}

/// Whether a game is compared pair by pair, in double precision.
pub(super) fn is_small(game: &VectorGame) -> bool {
    game.hands.iter().all(|hands| hands.len() <= FEW)
}

impl Ends {
    pub fn new(game: &VectorGame) -> Self {
        match game.n_hole {
            1 => Self::One,
            2 => Self::Two(CardSums::new(game)),
            _ => Self::Three(CardSums::new(game)),
        }
    }

    /// Writes the values of all hands at these ends, 0 for hands that the board blocks. `reaches` are the other's.
    pub fn evaluate<T: Real>(
        &self,
        on: Hands,
        (showdowns, folds): (&[Showdown], &[Fold]),
        reaches: &[Vec<T>],
        values: &mut [Vec<T>],
        scratch: &mut Scratch<T>,
    ) {
        match self {
            Self::Two(sums) if !is_small(on.game) => sums.evaluate(on, (showdowns, folds), reaches, values, scratch),
            Self::Three(sums) if !is_small(on.game) => sums.evaluate(on, (showdowns, folds), reaches, values, scratch),
            Self::One | Self::Two(_) | Self::Three(_) => {
                pair_by_pair(on, (showdowns, folds), reaches, values, scratch);
            }
        }
    }
}

impl<const N: usize> CardSums<N> {
    fn new(game: &VectorGame) -> Self {
        let (sets, n_sets) = number_sets(game, N + 1);
        let without_empty = |sets: &[u32]| std::array::from_fn(|at| sets[at + 1]);
        let sets = sets.map(|sets| sets.chunks_exact(N + 1).map(without_empty).collect());
        let same = [0, 1].map(|seat: usize| {
            let others = game.hands[1 - seat].iter().zip(0..).collect::<std::collections::HashMap<_, u32>>();
            game.hands[seat].iter().map(|hand| others.get(hand).copied().unwrap_or(NONE)).collect()
        });
        Self { sets, same, n_sets }
    }

    fn evaluate<T: Real>(
        &self,
        on: Hands,
        (showdowns, folds): (&[Showdown], &[Fold]),
        reaches: &[Vec<T>],
        values: &mut [Vec<T>],
        scratch: &mut Scratch<T>,
    ) {
        scratch.sums.resize(self.n_sets, Lanes::default());
        scratch.positions.resize(on.game.hands[1 - on.seat].len(), 0);
        if let Some(shown) = on.shown.filter(|_| !showdowns.is_empty()) {
            let (own, others) = (&shown[on.seat], &shown[1 - on.seat]);
            scratch.reach.resize(others.len(), Lanes::default());
            scratch.values.resize(own.len(), Lanes::default());
            others.iter().enumerate().for_each(|(position, other)| scratch.positions[usize::from(other.1)] = position);
            for showdowns in showdowns.chunks(LANES) {
                let vectors = vectors_of(reaches, showdowns.iter().map(|end| end.reach));
                interleave_shown(&mut scratch.reach, &vectors, others);
                let payoffs = [
                    lanes(showdowns.iter().map(|end| end.win - end.tie)),
                    lanes(showdowns.iter().map(|end| end.tie - end.lose)),
                    lanes(showdowns.iter().map(|end| end.lose)),
                ];
                compare(self, on.seat, shown, &payoffs, scratch);
                for (lane, end) in showdowns.iter().enumerate() {
                    let values = &mut values[end.value];
                    values.fill(T::default());
                    own.iter().zip(&scratch.values).for_each(|(own, from)| values[usize::from(own.1)] = from[lane]);
                }
            }
        }
        scratch.reach.resize(on.game.hands[1 - on.seat].len(), Lanes::default());
        scratch.values.resize(on.game.hands[on.seat].len(), Lanes::default());
        scratch.positions.iter_mut().enumerate().for_each(|(hand, position)| *position = hand);
        for folds in folds.chunks(LANES) {
            let vectors = vectors_of(reaches, folds.iter().map(|end| end.reach));
            interleave(&mut scratch.reach, &vectors);
            let payoffs = lanes(folds.iter().map(|end| end.payoff));
            total(self, on.seat, &on.game.hands[on.seat], on.cards, &payoffs, scratch);
            write_lanes(values, folds.iter().map(|end| end.value), &scratch.values);
        }
    }

    /// Adds the reach of a hand of `seat`. `all` is the sum of the empty set.
    #[inline(always)]
    fn add<T: Real>(&self, all: &mut Lanes<T>, sums: &mut [Lanes<T>], seat: usize, hand: usize, reach: &Lanes<T>) {
        for lane in 0..LANES {
            all[lane] += reach[lane];
        }
        for &set in &self.sets[seat][hand] {
            let sum = &mut sums[set as usize];
            for lane in 0..LANES {
                sum[lane] += reach[lane];
            }
        }
    }

    /// Reach of all hands added so far that are compatible with a hand of `seat`, if the same hand of the other seat is not among them.
    #[inline(always)]
    fn beside<T: Real>(&self, all: &Lanes<T>, sums: &[Lanes<T>], seat: usize, hand: usize) -> Lanes<T> {
        let mut beside = *all;
        for (at, &set) in self.sets[seat][hand].iter().enumerate() {
            let sum = &sums[set as usize];
            for lane in 0..LANES {
                beside[lane] += if (at + 1).count_ones().is_multiple_of(2) { sum[lane] } else { -sum[lane] };
            }
        }
        beside
    }

    /// The same, if the same hand is among them.
    #[inline(always)]
    fn beside_with_same<T: Real>(&self, all: &Lanes<T>, scratch: &Scratch<T>, seat: usize, hand: usize) -> Lanes<T> {
        let mut beside = self.beside(all, &scratch.sums, seat, hand);
        let same = self.same[seat][hand];
        if same != NONE {
            let reach = &scratch.reach[scratch.positions[same as usize]];
            for lane in 0..LANES {
                // The set of all its cards would be number N + 1.
                beside[lane] += if (N + 1).count_ones().is_multiple_of(2) { reach[lane] } else { -reach[lane] };
            }
        }
        beside
    }
}

wide! {
    /// Values at showdowns: `payoffs` are for each hand that is weaker, for each that is not stronger, and for each.
    pub fn compare<T, const N: usize>(removal: &CardSums<N>, seat: usize, shown: &Shown, payoffs: &[Lanes<T>; 3], scratch: &mut Scratch<T>) {
        scratch.sums.fill(Lanes::default());
        let mut all = [T::default(); LANES];
        let (own, others) = (&shown[seat], &shown[1 - seat]);
        let (mut position, mut next) = (0, 0);
        for equals in own.chunk_by(|one, other| one.0 == other.0) {
            let strength = equals[0].0;
            while let Some(&(_, hand)) = others.get(next).filter(|other| other.0 < strength) {
                removal.add(&mut all, &mut scratch.sums, 1 - seat, hand.into(), &scratch.reach[next]);
                next += 1;
            }
            for (&(_, hand), value) in equals.iter().zip(&mut scratch.values[position..]) {
                let weaker = removal.beside(&all, &scratch.sums, seat, hand.into());
                for lane in 0..LANES {
                    value[lane] = payoffs[0][lane] * weaker[lane];
                }
            }
            while let Some(&(_, hand)) = others.get(next).filter(|other| other.0 == strength) {
                removal.add(&mut all, &mut scratch.sums, 1 - seat, hand.into(), &scratch.reach[next]);
                next += 1;
            }
            for &(_, hand) in equals {
                let up_to = removal.beside_with_same(&all, scratch, seat, hand.into());
                let value = &mut scratch.values[position];
                for lane in 0..LANES {
                    value[lane] += payoffs[1][lane] * up_to[lane];
                }
                position += 1;
            }
        }
        for (&(_, hand), reach) in others.iter().zip(&scratch.reach).skip(next) {
            removal.add(&mut all, &mut scratch.sums, 1 - seat, hand.into(), reach);
        }
        for (position, &(_, hand)) in own.iter().enumerate() {
            let beside = removal.beside_with_same(&all, scratch, seat, hand.into());
            let value = &mut scratch.values[position];
            for lane in 0..LANES {
                value[lane] += payoffs[2][lane] * beside[lane];
            }
        }
    }

    /// Values at folds, of hands that the board does not block.
    pub fn total<T, const N: usize>(
        removal: &CardSums<N>, seat: usize, hands: &[u64], board: u64, payoffs: &Lanes<T>, scratch: &mut Scratch<T>,
    ) {
        scratch.sums.fill(Lanes::default());
        let mut all = [T::default(); LANES];
        for hand in 0..scratch.reach.len() {
            removal.add(&mut all, &mut scratch.sums, 1 - seat, hand, &scratch.reach[hand]);
        }
        for (hand, &cards) in hands.iter().enumerate() {
            let mut value = [T::default(); LANES];
            if cards & board == 0 {
                let beside = removal.beside_with_same(&all, scratch, seat, hand);
                for lane in 0..LANES {
                    value[lane] = payoffs[lane] * beside[lane];
                }
            }
            scratch.values[hand] = value;
        }
    }

    /// Values of every hand: the sum of the other's reach times the payoff of each pair's outcome, in the order of the other's hands.
    pub fn add_pairs<T>(values: &mut [Lanes<T>], outcomes: &[u8], payoffs: &[Lanes<T>; 4], reach: &[Lanes<T>]) {
        for (value, outcomes) in values.iter_mut().zip(outcomes.chunks_exact(reach.len().max(1))) {
            let mut sum = [T::default(); LANES];
            for (reach, &outcome) in reach.iter().zip(outcomes) {
                let payoff = &payoffs[usize::from(outcome % 4)];
                for lane in 0..LANES {
                    sum[lane] += reach[lane] * payoff[lane];
                }
            }
            *value = sum;
        }
    }

    /// These vectors, a lane each, in the order of strength.
    pub fn interleave_shown<T>(into: &mut [Lanes<T>], vectors: &[&[T]; LANES], shown: &[(u32, u16)]) {
        for (into, &(_, hand)) in into.iter_mut().zip(shown) {
            for lane in 0..LANES {
                into[lane] = vectors[lane][usize::from(hand)];
            }
        }
    }

    /// These vectors, a lane each, in the order of hands.
    pub fn interleave<T>(into: &mut [Lanes<T>], vectors: &[&[T]; LANES]) {
        let vectors = vectors.map(|vector| &vector[..into.len()]);
        for (hand, into) in into.iter_mut().enumerate() {
            for lane in 0..LANES {
                into[lane] = vectors[lane][hand];
            }
        }
    }
}

/// A number for each end; 0 in the lanes that are left.
fn lanes<T: Real>(numbers: impl Iterator<Item = f64>) -> Lanes<T> {
    let mut lanes = Lanes::default();
    lanes.iter_mut().zip(numbers).for_each(|(lane, number)| *lane = T::rounded(number));
    lanes
}

/// The reaches of these numbers, a lane each; the first again in the lanes that are left.
fn vectors_of<T: Real>(reaches: &[Vec<T>], numbers: impl Iterator<Item = usize>) -> [&[T]; LANES] {
    let mut vectors: [Option<&[T]>; LANES] = [None; LANES];
    vectors.iter_mut().zip(numbers).for_each(|(vector, number)| *vector = Some(&reaches[number]));
    vectors.map(|vector| vector.or(vectors[0]).unwrap_or_default())
}

/// What comes of a pair of hands: the number of its payoff.
mod outcome {
    /// The hands cannot be dealt together on this board.
    pub const APART: u8 = 0;
    pub const WIN: u8 = 1;
    pub const LOSE: u8 = 2;
    pub const TIE: u8 = 3;
}

/// [`Ends::evaluate`] pair by pair.
pub(super) fn pair_by_pair<T: Real>(
    on: Hands,
    (showdowns, folds): (&[Showdown], &[Fold]),
    reaches: &[Vec<T>],
    values: &mut [Vec<T>],
    scratch: &mut Scratch<T>,
) {
    write_outcomes(&mut scratch.pairs, on);
    let n = [on.seat, 1 - on.seat].map(|seat| on.game.hands[seat].len());
    scratch.values.resize(n[0], Lanes::default());
    scratch.reach.resize(n[1], Lanes::default());
    for showdowns in showdowns.chunks(LANES) {
        let vectors = vectors_of(reaches, showdowns.iter().map(|end| end.reach));
        interleave(&mut scratch.reach, &vectors);
        let [win, lose, tie] = [
            lanes(showdowns.iter().map(|end| end.win)),
            lanes(showdowns.iter().map(|end| end.lose)),
            lanes(showdowns.iter().map(|end| end.tie)),
        ];
        add_pairs(&mut scratch.values, &scratch.pairs, &[Lanes::default(), win, lose, tie], &scratch.reach);
        write_lanes(values, showdowns.iter().map(|end| end.value), &scratch.values);
    }
    for folds in folds.chunks(LANES) {
        let vectors = vectors_of(reaches, folds.iter().map(|end| end.reach));
        interleave(&mut scratch.reach, &vectors);
        let payoff = lanes(folds.iter().map(|end| end.payoff));
        add_pairs(&mut scratch.values, &scratch.pairs, &[Lanes::default(), payoff, payoff, payoff], &scratch.reach);
        write_lanes(values, folds.iter().map(|end| end.value), &scratch.values);
    }
}

/// Writes what comes of every pair of hands, `[hand of the passing seat][hand of the other]`. Where no order is shown, hands that can be dealt together tie.
fn write_outcomes(pairs: &mut Vec<u8>, on: Hands) {
    let seats = [on.seat, 1 - on.seat];
    let strengths = seats.map(|seat| {
        let mut of_hands = vec![0; on.game.hands[seat].len()];
        let shown = on.shown.map_or(&[][..], |shown| &shown[seat]);
        shown.iter().for_each(|&(strength, hand)| of_hands[usize::from(hand)] = strength);
        of_hands
    });
    let [own, others] = seats.map(|seat| &on.game.hands[seat]);
    pairs.clear();
    for (&held, &strength) in own.iter().zip(&strengths[0]) {
        pairs.extend(others.iter().zip(&strengths[1]).map(|(&other, &of_other)| {
            let is_apart = held & (other | on.cards) != 0 || other & on.cards != 0;
            let is_worse = u8::from(strength < of_other);
            let is_equal = u8::from(strength == of_other);
            if is_apart { outcome::APART } else { outcome::WIN + is_worse + 2 * is_equal }
        }));
    }
    debug_assert!([outcome::LOSE, outcome::TIE] == [outcome::WIN + 1, outcome::WIN + 2]);
}

/// Copies the lanes of a group of ends to the ends' vectors of values.
fn write_lanes<T: Real>(values: &mut [Vec<T>], numbers: impl Iterator<Item = usize>, from: &[Lanes<T>]) {
    for (lane, number) in numbers.enumerate() {
        values[number].iter_mut().zip(from).for_each(|(value, from)| *value = from[lane]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cfr::game::betting::BettingTree;
    use crate::cfr::game::game_file::GameDef;
    use crate::cfr::spot::Spot;

    /// A river on which seat 0 has more hands than seat 1, and a game with three hole cards.
    fn games() -> [VectorGame; 2] {
        let spot = r#"{"pot": 10, "effective_stack": 10, "bet_fraction_of_pot": 1, "flop": "Qs Js 2s", "turn": "2d",
            "river": "9h", "ranges": ["all", "22+,AKs,T9o"]}"#;
        let (spot, _) = Spot::parse(spot).and_then(|spot| spot.build(true)).expect("a spot");
        let three = "GAMEDEF\nlimit\nnumPlayers = 2\nnumRounds = 1\nblind = 1 1\nraiseSize = 1\nfirstPlayer = 1\nmaxRaises = 1\nnumSuits = 3\nnumRanks = 4\nnumHoleCards = 3\nnumBoardCards = 0\nEND GAMEDEF\n";
        let rules = GameDef::parse(three).expect("good rules");
        let tree = BettingTree::new(&rules).expect("small");
        [spot, VectorGame::from_game(&rules, &tree, true).expect("two players")]
    }

    #[test]
    fn ends_together_are_ends_pair_by_pair() {
        for game in games() {
            let shown = game.shown();
            for seat in 0..2 {
                let n = game.hands.each_ref().map(Vec::len);
                assert!(!is_small(&game));
                let cards = game.streets[0].boards[0].cards;
                let on = Hands { game: &game, seat, cards, shown: Some(&shown[0]) };
                // More than one group of lanes, and one that is not full; reaches of hands that the board blocks are 0, as in a pass.
                let n_ends = LANES + 3;
                let reaches: Vec<Vec<f64>> = (0..n_ends)
                    .map(|end| {
                        let of = |(hand, &held): (usize, &u64)| {
                            if held & cards == 0 { ((hand * 37 + end * 11) % 101) as f64 / 101.0 } else { 0.0 }
                        };
                        game.hands[1 - seat].iter().enumerate().map(of).collect()
                    })
                    .collect();
                let showdowns: Vec<Showdown> = (0..n_ends)
                    .map(|end| {
                        let chips = end as f64;
                        Showdown { reach: end, win: 1.0 + chips, lose: -2.0 - chips, tie: -0.25 * chips, value: end }
                    })
                    .collect();
                let folds: Vec<Fold> =
                    (0..n_ends).map(|end| Fold { reach: end, payoff: end as f64 - 3.0, value: n_ends + end }).collect();
                let mut values = [0, 1].map(|_| vec![vec![f64::NAN; n[seat]]; 2 * n_ends]);
                let [together, pairs] = &mut values;
                Ends::new(&game).evaluate(on, (&showdowns, &folds), &reaches, together, &mut Scratch::default());
                pair_by_pair(on, (&showdowns, &folds), &reaches, pairs, &mut Scratch::default());
                // Each is a sum of at most eight times all hands' reach, at most 1 each, by payoffs of at most 15 chips.
                let terms = 8.0 * n[1 - seat] as f64;
                let bound = terms * terms * 15.0 * f64::EPSILON;
                for (number, (one, other)) in together.iter().zip(&*pairs).enumerate() {
                    for (hand, (one, other)) in one.iter().zip(other).enumerate() {
                        assert!((one - other).abs() <= bound, "seat {seat}, end {number}, hand {hand}: {one}, {other}");
                    }
                }
            }
        }
    }
}
