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

/// Names of a PTX text's entries.
pub(super) fn entries(ptx: &str) -> impl Iterator<Item = &str> {
    let is_part_of_name = |c: char| c.is_ascii_alphanumeric() || "_$".contains(c);
    ptx.match_indices(".entry").filter_map(move |(at, word)| {
        let rest = ptx[at + word.len()..].trim_start();
        rest.split(|c| !is_part_of_name(c)).next().filter(|name| !name.is_empty())
    })
}

/// The text without all entries but the one of this name, or `None` if that is not there.
pub(super) fn with_entry_alone(ptx: &str, name: &str) -> Option<String> {
    let mut text = String::with_capacity(ptx.len() / 8);
    let mut found = false;
    // Inside an entry: whether it stays, how many braces are open, and whether its first one has come.
    let mut entry: Option<(bool, usize, bool)> = None;
    for line in ptx.split_inclusive('\n') {
        let code = line.split("//").next().unwrap_or_default();
        if entry.is_none() && code.contains(".entry") {
            let stays = entries(code).any(|entry| entry == name);
            found |= stays;
            entry = Some((stays, 0, false));
        }
        let Some((stays, open, begun)) = &mut entry else {
            text.push_str(line);
            continue;
        };
        if *stays {
            text.push_str(line);
        }
        for c in code.chars() {
            match c {
                '{' => (*open, *begun) = (*open + 1, true),
                '}' => *open = open.saturating_sub(1),
                _ => {}
            }
        }
        if *begun && *open == 0 {
            entry = None;
        }
    }
    found.then_some(text)
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
    fn an_entry_keeps_what_lies_around_the_others() {
        const TEXT: &str = "\
.version 8.1
.global .b8 table[4];
.visible .entry first(
\t.param .u64 first_param_0
)
.maxntid 64
{
\t{ // callseq 0, 0 {
\tst.v2.u32 [%rd1], {%r1, %r2};
}
\tret;
}
.func help()
{
\tret;
}
.entry first_too() { ret; }
.visible .entry last()
{
\tret;
}
";
        let head = ".version 8.1\n.global .b8 table[4];\n";
        let help = ".func help()\n{\n\tret;\n}\n";
        let last = ".visible .entry last()\n{\n\tret;\n}\n";
        assert_eq!(with_entry_alone(TEXT, "last"), Some(format!("{head}{help}{last}")));
        assert_eq!(with_entry_alone(TEXT, "first_too"), Some(format!("{head}{help}.entry first_too() {{ ret; }}\n")));
        let first = &TEXT[head.len()..TEXT.find(".func").unwrap()];
        assert_eq!(with_entry_alone(TEXT, "first").as_deref(), Some(&*format!("{head}{first}{help}")));
        assert_eq!(with_entry_alone(TEXT, "help"), None);
    }

    #[test]
    fn versions_and_entries_are_read_from_the_text() {
        assert_eq!(declared_version("// c\n.version 8.3\n.target sm_75"), Some((8, 3)));
        assert_eq!(declared_version(".target sm_75"), None);
        assert!(entries(test_kernels::PTX).any(|name| name == "fill"));
        let text = ".visible .entry fill_all(\n)\n.entry\tfill$2()\n.entry (";
        assert_eq!(entries(text).collect::<Vec<_>>(), ["fill_all", "fill$2"]);
    }
}
