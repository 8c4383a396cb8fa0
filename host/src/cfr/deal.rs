//! (module deal)
