//! Kernels of the AlphaZero network for board games, of the search that uses it, and of its training.
//!
//! | module | feature | what | made for |
//! |---|---|---|---|
//! | `layers` | `azero-layers` | a kernel a layer, plain or by tensor cores | any shape, any GPU of compute capability 7.5 or newer |
//! | `fused` | `azero-fused` | all convolutions in one launch, activations in shared memory | 8×8 boards, 128 channels, compute capability 9.0 |
//! | `search` | `azero-search` | PUCT: trees, noise, playouts, the choice of a move | many games at once |
//! | `train` | `azero-train` | the network forward with batch statistics, backward, Adam | learning from records |
//! | [`observation`] | | what a network sees of a game | all of them |

#[cfg(feature = "azero-fused")]
pub mod fused;
#[cfg(feature = "azero-layers")]
pub mod layers;
pub mod observation;
#[cfg(feature = "azero-search")]
pub mod search;
#[cfg(feature = "azero-train")]
pub mod train;
