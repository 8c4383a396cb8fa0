//! The AlphaZero network for checkers, on the GPU, on the CPU thread by thread, and on the CPU in the plain form; and a player that uses it.

pub mod checkers;
mod cpu;
mod dispatch;
mod engine;
mod evaluator;
mod folded;
mod fused;
mod layers;
mod network;
mod options;
mod pickle;
pub mod player;
mod positions;
mod record;
mod resident;
mod shape;
mod torch_archive;
pub mod train;
mod weight_file;

pub use engine::{BlockOutput, Inputs, Outputs};
pub use evaluator::{Evaluation, Evaluator, EvaluatorBuilder, MAX_BATCH};
pub use network::{Conv, Linear, NORM_EPSILON, Network, Norm, ObservationLayout, TorsoBlock, ValueOf};
pub use options::Execution;
pub use positions::Positions;
pub use record::{GameRecord, append_records, read_records, write_records};
pub use shape::NetworkShape;
