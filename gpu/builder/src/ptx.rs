//! Reading PTX text: its entries, and the launch bounds that `#[kernel]` left in it as comments.

use std::collections::BTreeMap;

use crate::{Error, Result};

/// Start of the comment in which `#[kernel]` passes launch bounds.
const BOUNDS_MARK: &str = "// warpplay:bounds ";

/// One kernel of a PTX text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PtxEntry {
    /// Entry name.
    pub name: String,
    /// Size and alignment in bytes of each parameter, in order.
    pub params: Vec<(usize, usize)>,
}

/// The kernels of a PTX text, in its order.
///
/// # Errors
/// [`Error::Ptx`] if the head of an entry is not as a compiler writes it.
///
/// # Examples
/// ```
/// let ptx = ".visible .entry scale(\n\t.param .u64 .ptr .align 1 scale_param_0,\n\t.param .f32 scale_param_1\n)\n{ ret; }";
/// let entries = warpplay_gpu_builder::parse_entries(ptx)?;
/// assert_eq!(entries[0].name, "scale");
/// assert_eq!(entries[0].params, [(8, 8), (4, 4)]);
/// # Ok::<(), warpplay_gpu_builder::Error>(())
/// ```
pub fn parse_entries(ptx: &str) -> Result<Vec<PtxEntry>> {
    Ok(heads(ptx)?.into_iter().map(|head| head.entry).collect())
}

/// An entry, and the end of its head, where launch bounds are placed.
struct Head {
    entry: PtxEntry,
    end: usize,
}

fn heads(ptx: &str) -> Result<Vec<Head>> {
    const DIRECTIVE: &str = ".entry ";
    let mut heads = Vec::new();
    let mut line_start = 0;
    for (number, line) in ptx.split_inclusive('\n').enumerate() {
        // A directive is not part of a comment.
        let code = line.split("//").next().unwrap_or_default();
        if let Some(column) = code.find(DIRECTIVE) {
            let start = line_start + column + DIRECTIVE.len();
            heads.push(head(&ptx[start..], start).map_err(|reason| Error::Ptx { line: number + 1, reason })?);
        }
        line_start += line.len();
    }
    Ok(heads)
}

/// The head whose text, from the name on, begins `text`; `start` is its offset in the whole.
fn head(text: &str, start: usize) -> Result<Head, String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%' | '.');
    let name_end = text.find(|c| !is_name(c)).unwrap_or(text.len());
    let name = text[..name_end].to_owned();
    if name.is_empty() {
        return Err("an entry without a name".to_owned());
    }
    let rest = &text[name_end..];
    let (list, end) = match rest.trim_start().strip_prefix('(') {
        // An entry without parameters may have no list at all.
        None => ("", name_end),
        Some(list) => {
            let length = list.find(')').ok_or_else(|| format!("the parameters of entry `{name}` have no end"))?;
            let list_start = text.len() - list.len();
            (&list[..length], list_start + length + 1)
        }
    };
    let params = list
        .split(',')
        .map(str::trim)
        .filter(|param| !param.is_empty())
        .map(|text| param(text).ok_or_else(|| format!("entry `{name}` has the unknown parameter `{text}`")))
        .collect::<Result<_, _>>()?;
    Ok(Head { entry: PtxEntry { name, params }, end: start + end })
}

/// Size and alignment of `.param .u64 .ptr .align 1 name` or `.param .align 8 .b8 name[24]`.
fn param(text: &str) -> Option<(usize, usize)> {
    let mut words = text.split_whitespace();
    if words.next()? != ".param" {
        return None;
    }
    let mut size = None;
    let mut align = None;
    let mut is_pointer = false;
    while let Some(word) = words.next() {
        match word {
            ".ptr" => is_pointer = true,
            ".align" => {
                let value: usize = words.next()?.parse().ok()?;
                // After `.ptr` it is the alignment of what is pointed to.
                if !is_pointer {
                    align = Some(value);
                }
            }
            _ => match word.strip_prefix('.') {
                Some(ty) => {
                    let bits = ty.trim_start_matches(|c: char| c.is_ascii_alphabetic());
                    // State spaces of pointers (`.global`) have no digits.
                    if let Ok(bits) = bits.parse::<usize>() {
                        size = Some(bits / 8);
                    }
                }
                None => {
                    // The name; an array has its length in brackets.
                    if let Some((_, length)) = word.split_once('[') {
                        let length: usize = length.strip_suffix(']')?.parse().ok()?;
                        let element = size?;
                        align.get_or_insert(element);
                        size = Some(element.checked_mul(length)?);
                    }
                }
            },
        }
    }
    let size = size?;
    Some((size, align.unwrap_or(size)))
}

/// Launch bounds of one entry.
#[derive(Clone, Copy, Default)]
struct Bounds {
    max_threads: u32,
    min_blocks: Option<u32>,
}

/// The text with the launch bounds of its comments as directives of the entries they name.
///
/// A comment whose entry does not exist is left unchanged.
pub(crate) fn with_launch_bounds(ptx: &str) -> Result<String> {
    let mut bounds = BTreeMap::new();
    for (number, line) in ptx.lines().enumerate() {
        if let Some(text) = line.trim().strip_prefix(BOUNDS_MARK) {
            let (name, value) = parse_bounds(text).ok_or_else(|| Error::Ptx {
                line: number + 1,
                reason: format!("launch bounds `{text}` are out of range (max_threads 1 to 1024, min_blocks 1 to 32)"),
            })?;
            bounds.insert(name, value);
        }
    }
    let mut result = String::with_capacity(ptx.len() + 64 * bounds.len());
    let mut done = 0;
    for head in heads(ptx)? {
        let Some(bounds) = bounds.get(head.entry.name.as_str()) else {
            continue;
        };
        result.push_str(&ptx[done..head.end]);
        done = head.end;
        result.push_str(&format!("\n.maxntid {}, 1, 1", bounds.max_threads));
        if let Some(min_blocks) = bounds.min_blocks {
            result.push_str(&format!("\n.minnctapersm {min_blocks}"));
        }
    }
    result.push_str(&ptx[done..]);
    Ok(result)
}

/// `name maxntid=256 minnctapersm=2`.
fn parse_bounds(text: &str) -> Option<(&str, Bounds)> {
    let mut words = text.split_whitespace();
    let name = words.next()?;
    let mut bounds = Bounds::default();
    for word in words {
        match word.split_once('=')? {
            ("maxntid", value) => bounds.max_threads = value.parse().ok()?,
            ("minnctapersm", value) => bounds.min_blocks = Some(value.parse().ok()?),
            _ => return None,
        }
    }
    let allowed = (1..=1024).contains(&bounds.max_threads) && (1..=32).contains(&bounds.min_blocks.unwrap_or(1));
    allowed.then_some((name, bounds))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "\
.version 6.3
// warpplay:bounds b_kernel maxntid=128 minnctapersm=2
// warpplay:bounds absent maxntid=32
// a comment with .entry in it
.visible .entry a_kernel()
{
\tret;
}
.visible .entry b_kernel(
\t.param .u64 .ptr .global .align 16 b_kernel_param_0,
\t.param .align 8 .b8 b_kernel_param_1[24],
\t.param .u8 b_kernel_param_2,
\t.param .b64 b_kernel_param_3,
\t.param .f32 b_kernel_param_4
)
{
\tret;
}
.entry c_kernel { ret; }
";

    #[test]
    fn entries_with_sizes_and_alignments() {
        let entries = parse_entries(PTX).unwrap();
        let names: Vec<_> = entries.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, ["a_kernel", "b_kernel", "c_kernel"]);
        assert_eq!(entries[0].params, []);
        assert_eq!(entries[1].params, [(8, 8), (24, 8), (1, 1), (8, 8), (4, 4)]);
        assert_eq!(parse_entries("").unwrap(), []);
    }

    #[test]
    fn bounds_become_directives_of_their_entry_alone() {
        let text = with_launch_bounds(PTX).unwrap();
        assert!(text.contains("b_kernel_param_4\n)\n.maxntid 128, 1, 1\n.minnctapersm 2\n{"), "{text}");
        assert_eq!(text.matches(".maxntid").count(), 1);
        let without: String = text
            .split_inclusive('\n')
            .filter(|line| !line.starts_with(".maxntid") && !line.starts_with(".minncta"))
            .collect();
        assert_eq!(without, PTX, "nothing else changes");
    }

    #[test]
    fn broken_texts_are_errors_with_a_line() {
        for (ptx, part) in [
            ("\n.entry x(.param .u32 a", "line 2: the parameters of entry `x` have no end"),
            (".entry (", "line 1: an entry without a name"),
            (".entry x(.reg .u32 a)", "unknown parameter"),
            (".entry x(.param a)", "unknown parameter"),
            (".entry x(.param .b64 a[18446744073709551615])", "unknown parameter"),
        ] {
            let text = parse_entries(ptx).unwrap_err().to_string();
            assert!(text.contains(part), "{text}");
        }
        for bounds in ["x maxntid=0", "x maxntid=1025", "x minnctapersm=2", "x maxntid=8 minnctapersm=33", "x maxntid"]
        {
            let text = with_launch_bounds(&format!("{BOUNDS_MARK}{bounds}\n")).unwrap_err().to_string();
            assert!(text.contains("line 1: launch bounds"), "{text}");
        }
    }
}
