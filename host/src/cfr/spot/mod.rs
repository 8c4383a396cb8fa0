//! (module spot)
