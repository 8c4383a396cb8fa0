//! (module solver)
