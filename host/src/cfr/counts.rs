//! (module counts)
