//! Training: forward with batch statistics, backward, update.
