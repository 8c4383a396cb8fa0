//! PTX that a build script embedded in a program.
//!
//! The build script of a crate with kernels compiles it, and writes a [`PtxSet`] for each module: the text for every architecture asked for, or the reason why there is none. So a
//! crate builds where there is no compiler for device code, and loading its module is the error that says what to install.
//!
//! ```
//! use warpplay_gpu::ptx::{PtxImage, PtxSet};
//!
//! // As a build script writes it, with a text cut short.
//! const LINES: PtxSet = PtxSet { name: "lines", images: &[PtxImage::plain("sm_75", ".version 6.3 …")], missing: None };
//! assert!(LINES.images[0].text()?.starts_with(".version"));
//!
//! // Built where there was no device compiler.
//! const NONE: PtxSet = PtxSet { name: "lines", images: &[], missing: Some("no compiler for device code: …") };
//! assert!(NONE.images.is_empty());
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! | item | what it is |
//! | --- | --- |
//! | [`PtxSet`] | a module's PTX for all architectures, or why it is missing |
//! | [`PtxImage`] | its text for one of them, plain or compressed |
//! | [`embedded`] | the sets of this crate's own kernels |

#[cfg(not(target_arch = "nvptx64"))]
use std::borrow::Cow;
#[cfg(not(target_arch = "nvptx64"))]
use std::io::{self, Read};

/// One module's PTX for one architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PtxImage {
    /// Architecture it was compiled for, as `sm_75`.
    pub arch: &'static str,
    text: Text,
}

/// Storage of an image's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Text {
    Plain(&'static str),
    /// A member in lzip's format, and the length of the text in bytes.
    Lzip(&'static [u8], usize),
}

impl PtxImage {
    /// An image with uncompressed text.
    pub const fn plain(arch: &'static str, text: &'static str) -> Self {
        Self { arch, text: Text::Plain(text) }
    }

    /// An image whose text of `length` bytes is compressed in lzip's format (LZMA with a CRC-32 of the text), as `warpplay-gpu-builder` embeds it.
    pub const fn lzip(arch: &'static str, bytes: &'static [u8], length: usize) -> Self {
        Self { arch, text: Text::Lzip(bytes, length) }
    }

    /// The PTX text.
    ///
    /// # Errors
    /// The compressed bytes are not a text of the given length.
    #[cfg(not(target_arch = "nvptx64"))]
    pub fn text(&self) -> io::Result<Cow<'static, str>> {
        match self.text {
            Text::Plain(text) => Ok(Cow::Borrowed(text)),
            Text::Lzip(bytes, length) => {
                let mut text = String::with_capacity(length);
                // One byte more than it should be, so that a longer text is seen.
                lzma_rust2::LzipReader::new(bytes).take(length as u64 + 1).read_to_string(&mut text)?;
                match text.len() == length {
                    true => Ok(Cow::Owned(text)),
                    false => Err(io::Error::other(format!("{} bytes of text, expected {length}", text.len()))),
                }
            }
        }
    }
}

/// One module's PTX for every architecture it was built for, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PtxSet {
    /// Name of the module, as `mcts_connect4`.
    pub name: &'static str,
    /// One image per architecture; empty if no device compiler was found.
    pub images: &'static [PtxImage],
    /// Why there are no images, and the remedy.
    pub missing: Option<&'static str>,
}

/// PTX of this crate's own kernels, put here by its build script.
#[cfg(not(target_arch = "nvptx64"))]
pub mod embedded {
    #[allow(unused_imports, reason = "without any feature that has kernels there is no set")]
    use super::PtxSet;

    /// Search kernels of Connect 4.
    #[cfg(feature = "mcts-connect4")]
    pub const MCTS_CONNECT4: PtxSet = include!(concat!(env!("OUT_DIR"), "/mcts_connect4.rs"));
    /// Search kernels of Gomoku.
    #[cfg(feature = "mcts-gomoku")]
    pub const MCTS_GOMOKU: PtxSet = include!(concat!(env!("OUT_DIR"), "/mcts_gomoku.rs"));
    /// Search kernels of the same games on other boards.
    #[cfg(feature = "mcts-boards")]
    pub const MCTS_BOARDS: PtxSet = include!(concat!(env!("OUT_DIR"), "/mcts_boards.rs"));
    /// Search kernels of checkers.
    #[cfg(feature = "mcts-checkers")]
    pub const MCTS_CHECKERS: PtxSet = include!(concat!(env!("OUT_DIR"), "/mcts_checkers.rs"));
    /// Layer by layer training of any multilayer perceptron.
    #[cfg(feature = "mlp-layers")]
    pub const MLP_LAYERS: PtxSet = include!(concat!(env!("OUT_DIR"), "/mlp_layers.rs"));
    /// Training of a whole epoch in one launch.
    #[cfg(feature = "mlp-epoch")]
    pub const MLP_EPOCH: PtxSet = include!(concat!(env!("OUT_DIR"), "/mlp_epoch.rs"));
    /// The same by warps, for devices without clusters.
    #[cfg(feature = "mlp-epoch-mma")]
    pub const MLP_EPOCH_MMA: PtxSet = include!(concat!(env!("OUT_DIR"), "/mlp_epoch_mma.rs"));
    /// The AlphaZero network, one kernel per layer.
    #[cfg(feature = "azero-layers")]
    pub const AZERO_LAYERS: PtxSet = include!(concat!(env!("OUT_DIR"), "/azero_layers.rs"));
    /// The AlphaZero network with all convolutions in one launch.
    #[cfg(feature = "azero-fused")]
    pub const AZERO_FUSED: PtxSet = include!(concat!(env!("OUT_DIR"), "/azero_fused.rs"));
    /// The search that uses the network.
    #[cfg(feature = "azero-search")]
    pub const AZERO_SEARCH: PtxSet = include!(concat!(env!("OUT_DIR"), "/azero_search.rs"));
    /// The network's training.
    #[cfg(feature = "azero-train")]
    pub const AZERO_TRAIN: PtxSet = include!(concat!(env!("OUT_DIR"), "/azero_train.rs"));
    /// Whole games of counterfactual regret minimisation in one block each.
    #[cfg(feature = "cfr-small")]
    pub const CFR_SMALL: PtxSet = include!(concat!(env!("OUT_DIR"), "/cfr_small.rs"));
    /// Two-player poker, one block for each betting round on a board.
    #[cfg(feature = "cfr-street")]
    pub const CFR_STREET: PtxSet = include!(concat!(env!("OUT_DIR"), "/cfr_street.rs"));
    /// Games whose every history is a node, and their sampled traversals.
    #[cfg(feature = "cfr-explicit")]
    pub const CFR_EXPLICIT: PtxSet = include!(concat!(env!("OUT_DIR"), "/cfr_explicit.rs"));
    /// Games of one card each, all deals by a recurrence over subsets.
    #[cfg(feature = "cfr-subset")]
    pub const CFR_SUBSET: PtxSet = include!(concat!(env!("OUT_DIR"), "/cfr_subset.rs"));
    /// Many sampled deals of one betting tree at once.
    #[cfg(feature = "cfr-walk")]
    pub const CFR_WALK: PtxSet = include!(concat!(env!("OUT_DIR"), "/cfr_walk.rs"));
    /// Strength histograms of hands and their clusters.
    #[cfg(feature = "cfr-abstraction")]
    pub const CFR_ABSTRACTION: PtxSet = include!(concat!(env!("OUT_DIR"), "/cfr_abstraction.rs"));
    /// Learning of piece values from positions of bytes.
    #[cfg(feature = "shogi-persistent")]
    pub const SHOGI_PERSISTENT: PtxSet = include!(concat!(env!("OUT_DIR"), "/shogi_persistent.rs"));
    /// Learning of piece values from differences of material.
    #[cfg(feature = "shogi-material")]
    pub const SHOGI_MATERIAL: PtxSet = include!(concat!(env!("OUT_DIR"), "/shogi_material.rs"));
    /// Learning of sparse features.
    #[cfg(feature = "shogi-sparse")]
    pub const SHOGI_SPARSE: PtxSet = include!(concat!(env!("OUT_DIR"), "/shogi_sparse.rs"));
    /// Products of matrices by warpgroups.
    #[cfg(feature = "tile-wgmma")]
    pub const TILE_WGMMA: PtxSet = include!(concat!(env!("OUT_DIR"), "/tile_wgmma.rs"));
    /// Products of matrices by warps.
    #[cfg(feature = "tile-mma")]
    pub const TILE_MMA: PtxSet = include!(concat!(env!("OUT_DIR"), "/tile_mma.rs"));
    /// Products of matrices without tensor cores.
    #[cfg(feature = "tile-plain")]
    pub const TILE_PLAIN: PtxSet = include!(concat!(env!("OUT_DIR"), "/tile_plain.rs"));

    /// Every set that this build embeds.
    pub const ALL: &[PtxSet] = &[
        #[cfg(feature = "mcts-connect4")]
        MCTS_CONNECT4,
        #[cfg(feature = "mcts-gomoku")]
        MCTS_GOMOKU,
        #[cfg(feature = "mcts-boards")]
        MCTS_BOARDS,
        #[cfg(feature = "mcts-checkers")]
        MCTS_CHECKERS,
        #[cfg(feature = "mlp-layers")]
        MLP_LAYERS,
        #[cfg(feature = "mlp-epoch")]
        MLP_EPOCH,
        #[cfg(feature = "mlp-epoch-mma")]
        MLP_EPOCH_MMA,
        #[cfg(feature = "azero-layers")]
        AZERO_LAYERS,
        #[cfg(feature = "azero-fused")]
        AZERO_FUSED,
        #[cfg(feature = "azero-search")]
        AZERO_SEARCH,
        #[cfg(feature = "azero-train")]
        AZERO_TRAIN,
        #[cfg(feature = "cfr-small")]
        CFR_SMALL,
        #[cfg(feature = "cfr-street")]
        CFR_STREET,
        #[cfg(feature = "cfr-explicit")]
        CFR_EXPLICIT,
        #[cfg(feature = "cfr-subset")]
        CFR_SUBSET,
        #[cfg(feature = "cfr-walk")]
        CFR_WALK,
        #[cfg(feature = "cfr-abstraction")]
        CFR_ABSTRACTION,
        #[cfg(feature = "shogi-persistent")]
        SHOGI_PERSISTENT,
        #[cfg(feature = "shogi-material")]
        SHOGI_MATERIAL,
        #[cfg(feature = "shogi-sparse")]
        SHOGI_SPARSE,
        #[cfg(feature = "tile-wgmma")]
        TILE_WGMMA,
        #[cfg(feature = "tile-mma")]
        TILE_MMA,
        #[cfg(feature = "tile-plain")]
        TILE_PLAIN,
    ];
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn a_compressed_text_is_read_whole_or_refused() {
        const TEXT: &str = ".version 6.3\n.target sm_75\n";
        // What `lzip -9` (lzip 1.23) makes of it.
        const BYTES: &[u8] = &[
            0x4c, 0x5a, 0x49, 0x50, 0x01, 0x0c, 0x00, 0x17, 0x1d, 0x88, 0xa7, 0x56, 0x23, 0xed, 0x1f, 0x97, 0xde, 0xce,
            0x4f, 0x34, 0xdc, 0x5b, 0x9d, 0x12, 0xee, 0xd4, 0x67, 0xbb, 0xa7, 0x13, 0x9d, 0xa2, 0x14, 0xab, 0xde, 0x7e,
            0x1e, 0xe3, 0x79, 0xff, 0xff, 0x25, 0x40, 0x00, 0x00, 0x41, 0x8d, 0xfa, 0x94, 0x1b, 0x00, 0x00, 0x00, 0x00,
            0x00, 0x00, 0x00, 0x41, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        ];
        assert_eq!(PtxImage::lzip("sm_75", BYTES, TEXT.len()).text().unwrap(), TEXT);
        for length in [0, TEXT.len() - 1, TEXT.len() + 1] {
            assert!(PtxImage::lzip("sm_75", BYTES, length).text().is_err(), "{length}");
        }
        for end in 0..BYTES.len() {
            assert!(PtxImage::lzip("sm_75", &BYTES[..end], TEXT.len()).text().is_err(), "{end}");
        }
        for place in 0..BYTES.len() {
            let mut damaged = BYTES.to_vec();
            damaged[place] ^= 1;
            let found = PtxImage::lzip("sm_75", damaged.leak(), TEXT.len()).text();
            assert!(found.is_err() || found.unwrap() == TEXT, "{place}");
        }
        assert_eq!(PtxImage::plain("sm_75", TEXT).text().unwrap(), TEXT);
    }
}
