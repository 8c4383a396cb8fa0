//! (module explicit)
