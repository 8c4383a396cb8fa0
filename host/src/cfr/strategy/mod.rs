//! (module strategy)
