//! Dates of runs.

/// The day of so many seconds after 1970-01-01 in UTC, as `2026-11-22`.
pub fn date(seconds: u64) -> String {
    of_days(seconds / 86_400)
}

/// The date so many days after 1970-01-01.
fn of_days(days: u64) -> String {
    let is_leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    // The calendar repeats itself after 400 years.
    const DAYS_OF_400_YEARS: u64 = 146_097;
    let (mut year, mut left) = (1970 + 400 * (days / DAYS_OF_400_YEARS), days % DAYS_OF_400_YEARS);
    loop {
        let n = if is_leap(year) { 366 } else { 365 };
        if left < n {
            break;
        }
        left -= n;
        year += 1;
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let mut month = 1;
    for n in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if left < n {
            break;
        }
        left -= n;
        month += 1;
    }
    format!("{year:04}-{month:02}-{:02}", left + 1)
}

#[cfg(test)]
mod tests {
    #[test]
    fn dates_are_those_of_the_calendar() {
        // 951,782,400 and 1,709,164,800 seconds are the beginnings of the leap days of 2000 and 2024.
        let cases = [
            (0, "1970-01-01"),
            (59 * 86_400 - 1, "1970-02-28"),
            (59 * 86_400, "1970-03-01"),
            (951_782_400, "2000-02-29"),
            (1_709_164_800 + 86_399, "2024-02-29"),
            (1_709_164_800 + 146_097 * 86_400, "2424-02-29"),
            // Whatever a damaged file says ends at once.
            (u64::MAX, "584554051223-11-09"),
        ];
        for (seconds, text) in cases {
            assert_eq!(super::date(seconds), text);
        }
    }
}
