//! (module ranking)
