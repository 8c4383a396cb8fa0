//! Words of device memory that say where a training stands, so that the same recorded launches serve every step.

/// The step of the epoch.
pub const STEP: usize = 0;
/// Blocks of the update that are done.
pub const TICKET: usize = 1;
/// 1 where a gradient of this step is not finite.
pub const OVERFLOW: usize = 2;
/// Bits of the loss scale.
pub const SCALE: usize = 3;
/// Good steps since the loss scale last changed.
pub const GOOD: usize = 4;
/// Number of words.
pub const WORDS: usize = 5;

/// The loss scale at first.
pub const FIRST_SCALE: f32 = 65_536.0;
/// Good steps after which the loss scale doubles.
pub const PATIENCE: u32 = 2000;
/// The largest and the smallest loss scale: 2^24 and 2^-14.
pub const SCALES: [f32; 2] = [16_777_216.0, 1.0 / 16_384.0];

/// The loss scale after a step, and the good steps since it changed.
#[device_inline]
pub const fn next_scale(scale: f32, good: u32, overflow: bool) -> (f32, u32) {
    if overflow {
        (if scale > SCALES[1] { scale * 0.5 } else { scale }, 0)
    } else if good + 1 >= PATIENCE {
        (if scale < SCALES[0] { scale * 2.0 } else { scale }, 0)
    } else {
        (scale, good + 1)
    }
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn the_loss_scale_halves_at_once_and_doubles_with_patience() {
        assert_eq!(next_scale(FIRST_SCALE, 7, true), (32_768.0, 0));
        assert_eq!(next_scale(8.0, 0, false), (8.0, 1));
        assert_eq!(next_scale(8.0, PATIENCE - 1, false), (16.0, 0));
        assert_eq!(next_scale(SCALES[0], PATIENCE - 1, false), (SCALES[0], 0));
        assert_eq!(next_scale(SCALES[1], 0, true), (SCALES[1], 0));
    }
}
