//! (module thesis)
