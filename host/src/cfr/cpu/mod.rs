//! (module cpu)
