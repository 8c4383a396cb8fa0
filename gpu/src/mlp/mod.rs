//! Kernels that train and use multilayer perceptrons.
//!
//! A step takes the next batch of an epoch's order through the network, `z = x W + b` and `h = max(z, 0)` layer by layer, makes softmax and
//! cross-entropy at the end, goes back through the layers for the gradients, and moves the weights against them. Images stay bytes in device memory;
//! the kernels that read them apply the 1/255. The order of an epoch is that of random keys ([`random`], [`shuffle`]); all
//! sort it on the device.
//!
//! There are two ways to do it:
//!
//! | module | feature | a training is | made for |
//! |---|---|---|---|
//! | [`layers`] | `mlp-layers` | a few kernels a layer, recorded as a graph | any shape, optimiser and precision |
//! | [`epoch`] | `mlp-epoch`; `mlp-epoch-mma` without clusters | one launch an epoch, by blocks of 16 units of each hidden layer | one or two hidden layers of up to 512 units each, batches up to 256; many networks side by side with one hidden layer of up to 256 units |
//!
//! ```text
//! layers   order_count → order_scan → order_scatter → order_rank, then for each step
//!          forward each layer → loss_gradient → backward and gradient each layer → update
//! epoch    train: the order, then all steps
//! ```
//!
//! # Kernels
//!
//! | kernels | module |
//! |---|---|
//! | `mlp_layers_order_{count,scan,scatter,rank}` | [`layers::order`] |
//! | `mlp_layers_gather`, `…_gather_single` | [`layers::parts`], [`layers::single`] |
//! | the products of `layers`, `tile_…` | [`tile`](crate::tile) |
//! | `mlp_layers_loss_gradient`, `…_classify`, `…_active` | [`layers::loss`] |
//! | `mlp_layers_update` | [`layers::update`] |
//! | `mlp_layers_patches`, `…_pool`, `…_pool_back`, `…_filters`, `…_advance`: networks of convolutions | [`layers::patches`], [`layers::pool`], [`layers::filters`] |
//! | `mlp_epoch_train`, the same with `_decay`, `_momentum`, `_adam` and their `_parts`, `mlp_epoch_classify`; with `_grid` for more units and `_deep` for two hidden layers; `mlp_epoch_mma_…`, the same without clusters; all of them with `_short` | [`epoch`] |
//!
//! Each kernel's launch, memory, cost, twin and source stand at its declaration, and in the tables of `docs/kernels.md`.
//!
//! A cluster has ⌈hidden units / 16⌉ blocks, rounded up to a power of two, at least 2, at most 16; more units and two hidden layers have no cluster. Parts are those of a batch whose gradients are
//! made side by side; forward and backward products have one. Each launch shape is a function in the kernel's module.
//!
//! No float is added atomically: all give the same bits every time. The published kernels, one an operation, are in the crate `warpplay-papers`, `mnist_mlp`.
//!
//! # Paper
//! Ha and Beqaj, "GPU-Accelerated MLP for MNIST Classification": the network and its training. Optimisers: PyTorch's
//! definitions.

#[cfg(any(feature = "mlp-epoch", feature = "mlp-epoch-mma"))]
pub mod epoch;
#[cfg(feature = "mlp-layers")]
pub mod layers;
pub mod random;
pub mod shuffle;
