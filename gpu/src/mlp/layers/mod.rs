//! Training layer by layer: any number of layers, any widths, any batch, every optimiser.
//!
//! ```text
//! an epoch   order_count -> order_scan -> order_scatter -> order_rank, then steps
//! a step     forward of each layer -> loss_gradient -> for each layer from the last: backward of its inputs, gradient of its parameters -> (norm -> clip ->) update
//! ```
//!
//! All launches of a step take the step's number from device memory ([`control`]), which the update moves on: one recorded graph serves every step.
//! No float atomics: the same inputs give the same bits.
//!
//! | module | kernels |
//! |---|---|
//! | [`order`] | the epoch's order |
//! | [`product`] | matrix products in single precision |
//! | [`tensor`] | the same by tensor cores, in TF32, bfloat16 and half precision |
//! | [`split`] | the first layer's by tensor cores in single precision |
//! | [`parts`] | what the products of `tile` read, where they take the place of these three |
//! | [`loss`] | softmax, loss and its gradient; classes; active units |
//! | [`clip`] | the norm of all gradients, if they are clipped |
//! | [`update`] | all optimisers |

pub mod clip;
pub mod control;
pub mod loss;
pub mod order;
pub mod parts;
pub mod product;
pub mod split;
pub mod tensor;
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
    tensor::mlp_layers_forward_images_tf32,
    tensor::mlp_layers_forward_tf32,
    tensor::mlp_layers_backward_tf32,
    tensor::mlp_layers_gradient_images_tf32,
    tensor::mlp_layers_gradient_tf32,
    tensor::mlp_layers_forward_images_bf16,
    tensor::mlp_layers_forward_bf16,
    tensor::mlp_layers_backward_bf16,
    tensor::mlp_layers_gradient_images_bf16,
    tensor::mlp_layers_gradient_bf16,
    tensor::mlp_layers_forward_images_fp16,
    tensor::mlp_layers_forward_fp16,
    tensor::mlp_layers_backward_fp16,
    tensor::mlp_layers_gradient_images_fp16,
    tensor::mlp_layers_gradient_fp16,
    split::mlp_layers_forward_images_split,
    split::mlp_layers_gradient_images_split,
    parts::mlp_layers_gather,
    loss::mlp_layers_loss_gradient,
    loss::mlp_layers_classify,
    loss::mlp_layers_active,
    loss::mlp_layers_active_parts,
    clip::mlp_layers_norm,
    clip::mlp_layers_clip,
    update::mlp_layers_weights,
    update::mlp_layers_update,
}
