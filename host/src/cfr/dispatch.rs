//! (module dispatch)
