//! Who beats whom in one deal of the cards, as a word a seat: enough to share any pot among any seats without looking at the cards again.

/// Most seats of a game.
pub const MAX_PLAYERS: usize = 10;

/// A seat's word: in bits 0 to 15 the seats with a stronger hand, in bits 16 to 31 those with an equal one (itself among them).
#[device_inline]
pub const fn word(stronger: u32, equal: u32) -> u32 {
    stronger | equal << 16
}

/// Among how many winners a pot for the seats `eligible` is shared if this seat, one of them, wins of it; 0 if it does not win.
#[device_inline]
pub fn winners(word: u32, eligible: u32) -> u32 {
    if word & eligible != 0 { 0 } else { ((word >> 16) & eligible).count_ones() }
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn a_pot_goes_to_the_strongest_that_may_have_it() {
        // Strengths 3 7 7 1.
        let words = [word(0b0110, 0b0001), word(0, 0b0110), word(0, 0b0110), word(0b0111, 0b1000)];
        assert_eq!(words.map(|w| winners(w, 0b1111)), [0, 2, 2, 0]);
        assert_eq!(winners(words[0], 0b1001), 1);
        assert_eq!(winners(words[1], 0b1011), 1);
        assert_eq!(winners(words[3], 0b1000), 1);
    }
}
