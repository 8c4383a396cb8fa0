//! (module mccfr)
