//! What ranks make sure of before they go on.

use super::Ranks;
use crate::{Device, Error, Result};

/// Checks that all ranks have a result. A rank without one gets its own error, the others [`Error::Rank`] with its text, so that no rank waits for a failed one.
///
/// # Errors
/// As above; with several errors, that of the first failed rank.
pub fn agree<T>(ranks: &dyn Ranks, result: Result<T>) -> Result<T> {
    // A failure has a text in any case; nothing means that all is well.
    let text = result.as_ref().err().map(|error| format!("!{error}")).unwrap_or_default();
    let texts = ranks.gather_bytes(text.as_bytes());
    // A rank's own error comes first, also where the group has failed meanwhile.
    let (value, texts) = (result?, texts?);
    match texts.iter().position(|text| !text.is_empty()) {
        Some(rank) => {
            let reason = String::from_utf8_lossy(texts[rank].get(1..).unwrap_or_default()).into_owned();
            Err(Error::Rank { rank, size: ranks.size(), reason })
        }
        None => Ok(value),
    }
}

/// Checks that all ranks agree on something, represented by a text such as a checksum.
///
/// # Errors
/// [`Error::Rank`] with the first rank that differs from rank 0, and both texts.
pub fn expect_same(ranks: &dyn Ranks, what: &str, text: &str) -> Result<()> {
    let texts = ranks.gather_bytes(text.as_bytes())?;
    let Some(first) = texts.first() else { return Ok(()) };
    match texts.iter().position(|text| text != first) {
        Some(rank) => {
            let text = |rank: usize| String::from_utf8_lossy(&texts[rank]).into_owned();
            let reason =
                format!("its {what} is {}, that of rank 0 is {}: all ranks need the same", text(rank), text(0));
            Err(Error::Rank { rank, size: ranks.size(), reason })
        }
        None => Ok(()),
    }
}

/// Sums 128-bit numbers over all ranks, wrapping: exact if the sum fits.
///
/// # Errors
/// Those of [`Ranks::sum`].
pub fn sum_wide(ranks: &dyn Ranks, values: &mut [i128]) -> Result<()> {
    if ranks.size() == 1 {
        return Ok(());
    }
    // Four digits of 32 bits a number: their sums stay far below 2⁶³.
    let mut digits: Vec<i64> =
        values.iter().flat_map(|&value| (0..4).map(move |digit| i64::from((value >> (32 * digit)) as u32))).collect();
    ranks.sum(&mut digits)?;
    for (value, digits) in values.iter_mut().zip(digits.chunks_exact(4)) {
        let add = |sum: i128, (digit, &part): (u32, &i64)| sum.wrapping_add(i128::from(part).wrapping_shl(32 * digit));
        *value = (0..4).zip(digits).fold(0, add);
    }
    Ok(())
}

/// The device of this rank: with `auto` and `cuda` the GPU number `rank % GPUs`, so that consecutive ranks on one machine (the default of `mpirun`) use different GPUs;
/// `auto` is the CPU if there is no GPU. Other spellings are as in [`Device::parse`].
///
/// # Errors
/// Those of [`Device::parse`].
pub fn device(ranks: &dyn Ranks, spelling: &str) -> Result<Device> {
    if ranks.size() == 1 {
        return Device::parse(spelling);
    }
    let n_cuda = Device::list().iter().filter(|info| info.backend == crate::Backend::Cuda).count();
    match gpu(ranks.rank(), n_cuda, spelling) {
        Some(number) => Device::cuda(number),
        None => Device::parse(spelling),
    }
}

/// The GPU of a rank among `n_cuda` GPUs; `None` if the spelling names a device, or there is no GPU.
fn gpu(rank: usize, n_cuda: usize, spelling: &str) -> Option<usize> {
    matches!(spelling, "auto" | "cuda").then(|| rank.checked_rem(n_cuda)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::ranks::{Alone, Threads};

    #[test]
    fn wide_sums_are_exact() {
        let numbers = [i128::from(i64::MAX) * 7, -1, 0, -(1 << 90), 1 << 36];
        for size in [1, 2, 3, 4, 5, 7] {
            let sums = Threads::run(size, |ranks| {
                let mut values = numbers.map(|number| number * (ranks.rank() as i128 + 1));
                sum_wide(ranks, &mut values)?;
                Ok(values)
            })
            .unwrap();
            let factor = (size * (size + 1) / 2) as i128;
            assert!(sums.iter().all(|sum| *sum == numbers.map(|number| number * factor)), "{size} ranks");
        }
    }

    #[test]
    fn a_failure_is_told_to_all() {
        let ends = Threads::run(3, |ranks| {
            let mine = if ranks.rank() == 1 { Err(Error::option("rate", "NaN", "a number")) } else { Ok(()) };
            Ok(agree(ranks, mine).map_err(|error| error.to_string()))
        })
        .unwrap();
        let own = "option rate: NaN is not allowed (a number)";
        let told = format!("rank 1 of 3: {own}");
        assert_eq!(ends, [Err(told.clone()), Err(own.to_string()), Err(told)]);
        assert!(agree(&Alone, Ok(7)).is_ok_and(|value| value == 7));
    }

    #[test]
    fn ranks_take_turns_at_the_gpus() {
        let of = |n_cuda, spelling| [0, 1, 2].map(|rank| gpu(rank, n_cuda, spelling));
        assert_eq!(of(0, "auto"), [None; 3]);
        assert_eq!(of(1, "cuda"), [Some(0); 3]);
        assert_eq!(of(2, "auto"), [Some(0), Some(1), Some(0)]);
        assert_eq!(of(2, "cuda:1"), [None; 3]);
        assert_eq!(of(2, "cpu"), [None; 3]);
    }

    #[test]
    fn other_data_is_named() {
        let error = Threads::run(4, |ranks| expect_same(ranks, "data", if ranks.rank() < 2 { "a" } else { "b" }));
        let text = "rank 2 of 4: its data is b, that of rank 0 is a: all ranks need the same";
        assert_eq!(error.unwrap_err().to_string(), text);
    }
}
