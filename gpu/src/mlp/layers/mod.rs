//! Training layer by layer: any number of layers, any widths, any batch, every optimiser.
//!
//! ```text
//! an epoch   order_count -> order_scan -> order_scatter -> order_rank, then steps
//! a step     forward of each layer -> loss_gradient -> backward of each layer's inputs from the last -> gradients of parameters -> (norm -> clip ->) update
//! ```
//!
//! With another activation than the rectifier, `activate` follows each hidden layer's forward product, and `slope` the backward product of the layer behind it.
//!
//! With layer norm, `layer_norm` precedes each activation, which is a launch for the rectifier too, and `layer_norm_back` and `layer_norm_parameters` are in the place of `slope`.
//!
//! With batch norm, `batch_norm` and `batch_norm_back` are in these places, and `batch_norm_apply` in evaluations.
//!
//! With dropout, `dropout` follows the outputs of each hidden layer.
//!
//! All launches of a step take the step's number from device memory ([`control`]), which the update moves on: one recorded graph serves every step.
//! No float atomics: the same inputs give the same bits.
//!
//! | module | kernels |
//! |---|---|
//! | [`order`] | the epoch's order |
//! | [`parts`] | what the products of [`tile`](crate::tile) read |
//! | [`features`] | inputs that are numbers, not pixels |
//! | [`single`] | the same in single precision, for GPUs before compute capability 8.0 |
//! | [`loss`] | softmax, loss and its gradient; classes; active units |
//! | [`regression`] | losses of a regression and their gradient |
//! | [`activate`] | activations that are not part of the products |
//! | [`layer_norm`] | layer norm before activations |
//! | [`batch_norm`] | batch norm before activations |
//! | [`dropout`] | dropout of hidden units |
//! | [`clip`] | the norm of all gradients, if they are clipped |
//! | [`update`] | all optimisers |
//! | [`patches`], [`pool`], [`filters`] | networks of convolutions: what the first one reads, the largest of 2 × 2 pixels, the update |

pub mod activate;
pub mod batch_norm;
pub mod clip;
pub mod control;
pub mod dropout;
pub mod features;
pub mod filters;
pub mod layer_norm;
pub mod loss;
pub mod order;
pub mod parts;
pub mod patches;
pub mod pool;
pub mod regression;
pub mod single;
pub mod update;
pub mod view;

crate::kernel_set! {
    /// The kernels that train layer by layer.
    order::mlp_layers_order_count,
    order::mlp_layers_order_scan,
    order::mlp_layers_order_scatter,
    order::mlp_layers_order_rank,
    parts::mlp_layers_gather,
    single::mlp_layers_gather_single,
    features::mlp_layers_gather_features,
    loss::mlp_layers_loss_gradient,
    loss::mlp_layers_classify,
    loss::mlp_layers_active,
    loss::mlp_layers_active_parts,
    regression::mlp_layers_regression_gradient,
    regression::mlp_layers_regression_losses,
    activate::mlp_layers_activate,
    activate::mlp_layers_slope,
    dropout::mlp_layers_dropout,
    layer_norm::mlp_layers_layer_norm,
    layer_norm::mlp_layers_layer_norm_back,
    layer_norm::mlp_layers_layer_norm_parameters,
    batch_norm::mlp_layers_batch_norm,
    batch_norm::mlp_layers_batch_norm_apply,
    batch_norm::mlp_layers_batch_norm_back,
    clip::mlp_layers_norm,
    clip::mlp_layers_clip,
    update::mlp_layers_weights,
    update::mlp_layers_update,
    patches::mlp_layers_patches,
    pool::mlp_layers_pool,
    pool::mlp_layers_pool_back,
    filters::mlp_layers_filters,
    filters::mlp_layers_advance,
}
