//! (module abstraction)
