//! (module extensive)
