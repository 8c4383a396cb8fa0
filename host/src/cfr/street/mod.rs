//! (module street)
