//! PUCT search: trees on the GPU.
