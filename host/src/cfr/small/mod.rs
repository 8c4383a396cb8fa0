//! (module small)
