//! How many iterations are done between two calls of a watcher.

/// Iterations between two calls of a watcher: about a tenth of a second, so that the calls cost nothing and a caller is heard.
pub(crate) struct Pace(u32);

impl Pace {
    /// Begins with single iterations.
    pub const fn new() -> Self {
        Self(1)
    }

    /// Iterations to do now, at most `left`.
    pub fn next(&self, left: u64) -> u32 {
        left.min(self.0.into()) as u32
    }

    /// Learns from `n` iterations that took so many seconds. What was cut short by something else says nothing of longer ones.
    pub fn took(&mut self, n: u32, seconds: f64) {
        if seconds > 0.2 {
            self.0 = (n / 2).max(1);
        } else if seconds < 0.05 && n == self.0 {
            self.0 = n.saturating_mul(2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_short_does_not_lengthen_the_next() {
        let mut pace = Pace::new();
        for _ in 0..1000 {
            let n = pace.next(10);
            pace.took(n, 0.001);
        }
        // Twice as often as whole steps were done: 1, 2, 4, 8.
        assert_eq!(pace.next(u64::MAX), 16);
        pace.took(16, 0.3);
        assert_eq!(pace.next(u64::MAX), 8);
        pace.took(8, 0.1);
        assert_eq!(pace.next(u64::MAX), 8);
        pace.took(1, 10.0);
        assert_eq!(pace.next(u64::MAX), 1);
    }
}
