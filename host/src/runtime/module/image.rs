//! PTX images as text: which one a device runs, what it declares.

use warpplay_gpu::ptx::PtxImage;

/// An architecture's number, and whether the image runs on that architecture only (`sm_90a`).
pub(super) fn parse_arch(arch: &str) -> Option<((u32, u32), bool)> {
    let digits = arch.strip_prefix("sm_").or_else(|| arch.strip_prefix("compute_"))?;
    let (digits, exact) = match digits.strip_suffix('a') {
        Some(digits) => (digits, true),
        None => (digits, false),
    };
    let number: u32 = digits.parse().ok()?;
    Some(((number / 10, number % 10), exact))
}

/// The image for the newest architecture that a device of this compute capability runs.
pub(super) fn choose_image(images: &[PtxImage], capability: (u32, u32)) -> Option<&PtxImage> {
    let runs = |image: &&PtxImage| match parse_arch(image.arch) {
        Some((arch, true)) => arch == capability,
        Some((arch, false)) => arch <= capability,
        None => false,
    };
    images.iter().filter(runs).max_by_key(|image| parse_arch(image.arch))
}

/// Whether launches of an image's kernels can overlap: whether they wait for those before, as kernels do from `sm_90` on.
pub(super) fn can_overlap(image: &PtxImage) -> bool {
    parse_arch(image.arch).is_some_and(|(arch, _)| arch >= (9, 0))
}

/// The PTX version that a text declares.
pub(super) fn declared_version(ptx: &str) -> Option<(u32, u32)> {
    let line = ptx.lines().find_map(|line| line.trim().strip_prefix(".version"))?;
    let (major, minor) = line.split_whitespace().next()?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Whether a PTX text has an entry of exactly this name.
pub(super) fn has_entry(ptx: &str, name: &str) -> bool {
    ptx.match_indices(".entry").any(|(at, word)| {
        let rest = ptx[at + word.len()..].trim_start();
        rest.strip_prefix(name)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || "_$".contains(c)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::test_kernels;

    const fn image(arch: &'static str) -> PtxImage {
        PtxImage::plain(arch, "")
    }

    fn chosen(archs: &[&'static str], capability: (u32, u32)) -> Option<&'static str> {
        let images: Vec<_> = archs.iter().copied().map(image).collect();
        choose_image(&images, capability).map(|image| image.arch)
    }

    #[test]
    fn the_newest_image_that_runs_is_chosen() {
        let all = ["sm_75", "sm_80", "sm_90", "sm_90a"];
        assert_eq!(chosen(&all, (7, 0)), None);
        assert_eq!(chosen(&all, (7, 5)), Some("sm_75"));
        assert_eq!(chosen(&all, (8, 9)), Some("sm_80"));
        assert_eq!(chosen(&all, (9, 0)), Some("sm_90a"));
        assert_eq!(chosen(&all, (10, 0)), Some("sm_90"));
        assert_eq!(chosen(&["sm_120", "sm_75"], (12, 0)), Some("sm_120"));
        assert_eq!(chosen(&["other"], (9, 0)), None);
    }

    #[test]
    fn launches_overlap_where_kernels_wait() {
        assert_eq!(
            ["sm_75", "sm_80", "sm_90", "sm_90a", "other"].map(|arch| can_overlap(&image(arch))),
            [false, false, true, true, false]
        );
    }

    #[test]
    fn versions_and_entries_are_read_from_the_text() {
        assert_eq!(declared_version("// c\n.version 8.3\n.target sm_75"), Some((8, 3)));
        assert_eq!(declared_version(".target sm_75"), None);
        assert!(has_entry(test_kernels::PTX, "fill"));
        assert!(!has_entry(test_kernels::PTX, "fil"));
        assert!(!has_entry(".visible .entry fill_all(", "fill"));
    }
}
