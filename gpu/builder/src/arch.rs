//! The target, and its architectures.

/// rustc's name for the device.
pub(crate) const TARGET: &str = "nvptx64-nvidia-cuda";

/// An architecture, and features beyond what it implies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arch {
    pub(crate) name: String,
    pub(crate) features: Vec<String>,
}

/// Number and suffix of `sm_90a`, in the order of the architectures.
pub(crate) fn generation(arch: &str) -> Option<(u32, &str)> {
    let digits_and_suffix = arch.strip_prefix("sm_")?;
    let digits_end = digits_and_suffix.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits_and_suffix.len());
    let (digits, suffix) = digits_and_suffix.split_at(digits_end);
    matches!(suffix, "" | "a" | "f").then_some((digits.parse().ok()?, suffix))
}
