//! The recursive program: depth first, in one thread.

use super::{Child, Dealt, MAX_PLAYERS, N_ACTIONS, Sampled, Sequences, learn, others, strategy};

/// A number for every seat.
type Seats = [f64; MAX_PLAYERS];

struct Walk<'a> {
    sequences: &'a Sequences,
    dealt: &'a Dealt,
    regrets: &'a mut [f64],
    averages: &'a mut [f64],
}

impl Walk<'_> {
    /// Utilities of all seats from a sequence on.
    fn values(&mut self, number: usize, reach: &Seats) -> Seats {
        let sequences = self.sequences;
        let sequence = &sequences.all[number];
        let (seat, children) = (sequence.seat, &sequence.children);
        let row = sequences.row(number, self.dealt.buckets[sequence.round][seat]);
        let strategy = strategy(children, &self.regrets[row..row + N_ACTIONS]);
        let n_players = sequences.n_players();
        let mut values = [0.0; MAX_PLAYERS];
        let mut of_actions = [0.0; N_ACTIONS];
        for action in 0..N_ACTIONS {
            let after = match children[action] {
                None => continue,
                Some(Child::Ending(ending)) => {
                    let mut won = [0.0; MAX_PLAYERS];
                    sequences.endings.payoffs(ending as usize, &self.dealt.strengths, &mut won[..n_players]);
                    won
                }
                Some(Child::Sequence(child)) => {
                    let mut below = *reach;
                    below[seat] *= strategy[action];
                    self.values(child as usize, &below)
                }
            };
            of_actions[action] = after[seat];
            for player in 0..n_players {
                values[player] += strategy[action] * after[player];
            }
        }
        let weights = (values[seat], reach[seat], others(&reach[..n_players], seat));
        let row = row..row + N_ACTIONS;
        let (regrets, averages) = (&mut self.regrets[row.clone()], &mut self.averages[row]);
        learn(children, &strategy, &of_actions, weights, regrets, averages);
        values
    }
}

impl Sampled {
    /// One iteration on a deal.
    pub fn recursive(&mut self, dealt: &Dealt) {
        let sequences = &self.sequences;
        let (regrets, averages) = (&mut self.regrets[..], &mut self.averages[..]);
        let values = Walk { sequences, dealt, regrets, averages }.values(0, &[1.0; MAX_PLAYERS]);
        self.utilities.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
    }
}
