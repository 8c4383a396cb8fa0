//! Training the network: forward with batch statistics, loss, backward, Adam. Any shape; the same bits every run. Single precision; where
//! the convolutions of 3 × 3 are products of `tile`, their operands are bfloat16, or numbers in one or two parts of half precision with a [scale](mod@scale) ([`mod@short`]), and all else stays as it is.
//!
//! ```text
//! a step   gather -> for each layer: forward, norm_parts, norm_finish, norm_apply -> loss
//!          -> for each layer from the last: norm_back_parts, norm_back_finish, norm_back_apply, gradient, sum_parts, backward -> adam -> finish
//! by `tile`     scales and filters before the first layer; and of convolutions of 3 × 3 those of `tile`, with sum_filters in place of sum_parts; of few planes, patches of squares are gathered, so that the first layer is a product of matrices
//! ```
//!
//! All launches of a step take the step's number from device memory, which `azero_train_finish` moves on: one recorded graph serves every step. Launches overlap:
//! each [waits](crate::cuda::sync::follow) for the one before at its beginning. No float
//! is added atomically. Values have channels last, so that a tap of a convolution is a move by whole lines and every load a quad of channels; a linear
//! layer is a 1×1 convolution of boards of one square. Channels are filled up to multiples of 4 with zeros, whose weights are 0 and stay so.
//!
//! The bias of a convolution before a norm has no gradient: the norm takes the mean away, and the bias with it.
//!
//! | module | kernels |
//! |---|---|
//! | [`samples`] | a batch's observations |
//! | [`product`] | convolutions and linear layers, forward and backward |
//! | [`narrow`] | those with four outputs and one tap |
//! | [`norm`] | batch norm, ReLU, residual sum, forward and backward |
//! | [`loss`] | policy and value loss, and its gradient |
//! | [`mod@scale`] | powers of two that numbers are multiplied by before they are written in half precision |
//! | [`mod@short`] | filters in bfloat16 or parts of half precision, and sums of their gradients |
//! | [`update`] | sums of parts, Adam, the step's report |

pub mod loss;
pub mod narrow;
pub mod norm;
pub mod norm_short;
mod operand;
pub mod product;
mod quad;
pub mod samples;
pub mod scale;
pub mod short;
pub mod update;

pub use quad::line_length;

crate::kernel_set! {
    /// The kernels of a training step.
    samples::azero_train_gather,
    samples::azero_train_gather_short,
    product::azero_train_forward_large,
    product::azero_train_backward_large,
    product::azero_train_gradient_large,
    product::azero_train_forward_small,
    product::azero_train_backward_small,
    product::azero_train_gradient_small,
    product::azero_train_gate,
    narrow::azero_train_forward_narrow,
    narrow::azero_train_backward_narrow,
    narrow::azero_train_gradient_narrow,
    narrow::azero_train_forward_heads,
    narrow::azero_train_backward_heads,
    narrow::azero_train_gradient_heads,
    norm::azero_train_norm_parts,
    norm::azero_train_norm_finish,
    norm::azero_train_norm_apply,
    norm::azero_train_norm_back_parts,
    norm::azero_train_norm_back_finish,
    norm::azero_train_norm_back_apply,
    norm_short::azero_train_norm_apply_short,
    norm_short::azero_train_norm_back_parts_short,
    norm_short::azero_train_norm_back_apply_short,
    loss::azero_train_loss,
    scale::azero_train_scales,
    short::azero_train_filters,
    short::azero_train_sum_filters,
    update::azero_train_sum_parts,
    update::azero_train_adam,
    update::azero_train_finish,
}
