//! Numbers of a page: 16 bits each, in base64.

use serde::Serialize;
use warpplay::cfr::spot::{NodeHand, NodeReport};

/// The largest number of 16 bits.
const MOST: f64 = u16::MAX as f64;

/// The hands of a node: those of seat 0 and of seat 1 that the board leaves possible, in their order in the page's lists.
///
/// A number q of 16 bits, little-endian, stands for `low + q / 65535 · (high - low)`. `numbers` has in turn the reach, equity and value of the hands of seat 0, the same of seat 1, and
/// for each action of the seat that acts its probabilities, then for each action its values.
#[derive(Debug, Serialize)]
pub struct Packed {
    /// The largest reach of each seat; the least is 0.
    reach: [f64; 2],
    /// The least and the largest of all values.
    chips: [f64; 2],
    numbers: String,
}

impl Packed {
    pub fn new(report: &NodeReport) -> Self {
        let hands = || report.by_hand.iter().flatten();
        let values = || hands().flat_map(|hand| hand.action_ev.iter().copied().chain([hand.ev]));
        let chips = [values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max)];
        let chips = if chips[0] <= chips[1] { chips } else { [0.0; 2] };
        let most = |hands: &Vec<NodeHand>| hands.iter().map(|hand| hand.reach).fold(0.0, f64::max);
        let reach = report.by_hand.each_ref().map(most);
        let mut bytes = Vec::new();
        let mut put = |value: f64, [low, high]: [f64; 2]| {
            let part = if high > low { ((value - low) / (high - low)).clamp(0.0, 1.0) } else { 0.0 };
            bytes.extend(((part * MOST).round() as u16).to_le_bytes());
        };
        for (hands, &most) in report.by_hand.iter().zip(&reach) {
            hands.iter().for_each(|hand| put(hand.reach, [0.0, most]));
            hands.iter().for_each(|hand| put(hand.equity, [0.0, 1.0]));
            hands.iter().for_each(|hand| put(hand.ev, chips));
        }
        if let Some(hands) = report.seat.and_then(|seat| report.by_hand.get(seat)) {
            let each = |action: usize| hands.iter().map(move |hand| (hand.strategy[action], hand.action_ev[action]));
            let actions = 0..report.actions.len();
            actions.clone().for_each(|action| each(action).for_each(|(part, _)| put(part, [0.0, 1.0])));
            actions.for_each(|action| each(action).for_each(|(_, value)| put(value, chips)));
        }
        Self { reach, chips, numbers: base64(&bytes) }
    }

    /// Number of characters of a node with so many hands of each seat.
    pub fn n_chars(n_hands: [usize; 2], seat: Option<usize>, n_actions: usize) -> usize {
        let of_actions = seat.map_or(0, |seat| 2 * n_actions * n_hands[seat]);
        (2 * (3 * (n_hands[0] + n_hands[1]) + of_actions)).div_ceil(3) * 4
    }
}

/// The usual base64, padded.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0u32, |bits, &byte| bits << 8 | u32::from(byte)) << (8 * (3 - group.len()));
        for at in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * at) & 63) as usize];
            text.push(if at <= group.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The 16-bit numbers of a text, by a decoder of its own: each letter's place in the alphabet, bit by bit.
    fn decoded(text: &str) -> Vec<u16> {
        let value = |letter: u8| match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            _ => 63,
        };
        let letters = text.trim_end_matches('=').bytes().map(value);
        let bits: Vec<bool> = letters.flat_map(|six| (0..6).rev().map(move |bit| six >> bit & 1 == 1)).collect();
        let byte = |bits: &[bool]| bits.iter().fold(0u8, |byte, &bit| byte << 1 | u8::from(bit));
        let bytes: Vec<u8> = bits.chunks_exact(8).map(byte).collect();
        bytes.chunks_exact(2).map(|two| u16::from_le_bytes([two[0], two[1]])).collect()
    }

    #[test]
    fn base64_is_the_usual_one() {
        // RFC 4648, section 10.
        for (plain, coded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
        assert_eq!(base64(&[0xfb, 0xff, 0xfe]), "+//+");
    }

    fn hand(number: usize, n_actions: usize) -> NodeHand {
        // Numbers without a pattern: fractions of multiples of the golden ratio.
        let mut state = number as f64 + 0.5;
        let mut next = || {
            state = (state * 1.618_033_988_75 + 0.1).fract();
            state
        };
        NodeHand {
            hand: String::new(),
            reach: next() * 0.01,
            ev: next() * 300.0 - 100.0,
            equity: next(),
            strategy: (0..n_actions).map(|_| next()).collect(),
            action_ev: (0..n_actions).map(|_| next() * 300.0 - 100.0).collect(),
        }
    }

    #[test]
    fn numbers_come_back_within_half_a_step() {
        let report = NodeReport {
            history: String::new(),
            board: String::new(),
            pot: 100.0,
            seat: Some(1),
            actions: vec!["c".into(), "r50".into(), "r100".into()],
            ev: [0.0; 2],
            equity: [0.0; 2],
            by_hand: [(0..50).map(|at| hand(at, 0)).collect(), (50..97).map(|at| hand(at, 3)).collect()],
        };
        let packed = Packed::new(&report);
        assert_eq!(packed.numbers.len(), Packed::n_chars([50, 47], Some(1), 3));
        let found = decoded(&packed.numbers);
        let mut expected = Vec::new();
        for (hands, reach) in report.by_hand.iter().zip(packed.reach) {
            expected.extend(hands.iter().map(|hand| (hand.reach, [0.0, reach])));
            expected.extend(hands.iter().map(|hand| (hand.equity, [0.0, 1.0])));
            expected.extend(hands.iter().map(|hand| (hand.ev, packed.chips)));
        }
        for action in 0..3 {
            expected.extend(report.by_hand[1].iter().map(|hand| (hand.strategy[action], [0.0, 1.0])));
        }
        for action in 0..3 {
            expected.extend(report.by_hand[1].iter().map(|hand| (hand.action_ev[action], packed.chips)));
        }
        assert_eq!(found.len(), expected.len());
        for (found, (expected, [low, high])) in found.into_iter().zip(expected) {
            let value = low + f64::from(found) / MOST * (high - low);
            // Rounded to the nearest step; the arithmetic adds some roundings of 2⁻⁵³ of at most 300.
            assert!((value - expected).abs() <= (high - low) / MOST / 2.0 + 1e-12, "{value}, expected {expected}");
        }
    }

    #[test]
    fn a_node_without_hands_or_with_one_value_is_packed() {
        let mut report = NodeReport {
            history: String::new(),
            board: String::new(),
            pot: 1.0,
            seat: None,
            actions: Vec::new(),
            ev: [0.0; 2],
            equity: [0.0; 2],
            by_hand: [Vec::new(), Vec::new()],
        };
        let packed = Packed::new(&report);
        assert_eq!((packed.numbers.as_str(), packed.chips, packed.reach), ("", [0.0; 2], [0.0; 2]));
        report.by_hand[0] = vec![NodeHand { ev: 7.0, ..hand(1, 0) }];
        let packed = Packed::new(&report);
        // The only value is the least one, and its reach the largest.
        let numbers = decoded(&packed.numbers);
        assert_eq!((packed.chips, numbers[0], numbers[2]), ([7.0; 2], u16::MAX, 0));
    }
}
