//! Training layer by layer: any number of layers, any widths, any batch, every optimiser.
//!
//! ```text
//! an epoch   order_count -> order_scan -> order_scatter -> order_rank, then steps
//! a step     forward of each layer -> loss_gradient -> for each layer from the last: backward of its inputs, gradient of its parameters -> update
//! ```
//!
//! All launches of a step take the step's number from device memory ([`control`]), which the update moves on: one recorded graph serves every step.
//! No float atomics: the same inputs give the same bits.
//!
//! | module | kernels |
//! |---|---|
//! | [`order`] | the epoch's order |
//! | [`parts`] | what the products of [`tile`](crate::tile) read |
//! | [`product`] | matrix products in single precision, for GPUs before compute capability 8.0 |
//! | [`loss`] | softmax, loss and its gradient; classes; active units |
//! | [`update`] | all optimisers |

pub mod control;
pub mod loss;
pub mod order;
pub mod parts;
pub mod product;
pub mod update;
pub mod view;

crate::kernel_set! {
    /// The kernels that train layer by layer.
    order::mlp_layers_order_count,
    order::mlp_layers_order_scan,
    order::mlp_layers_order_scatter,
    order::mlp_layers_order_rank,
    product::mlp_layers_forward_images_large,
    product::mlp_layers_forward_large,
    product::mlp_layers_backward_large,
    product::mlp_layers_gradient_images_large,
    product::mlp_layers_gradient_large,
    product::mlp_layers_forward_images_small,
    product::mlp_layers_forward_small,
    product::mlp_layers_backward_small,
    product::mlp_layers_gradient_images_small,
    product::mlp_layers_gradient_small,
    parts::mlp_layers_gather,
    loss::mlp_layers_loss_gradient,
    loss::mlp_layers_classify,
    loss::mlp_layers_active,
    loss::mlp_layers_active_parts,
    update::mlp_layers_weights,
    update::mlp_layers_update,
}
