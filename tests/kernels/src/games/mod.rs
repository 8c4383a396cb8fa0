//! Games that drive the search to its limits.

pub mod hashed;
pub mod thin;
pub mod wide;

pub use hashed::Hashed;
pub use thin::Thin;
pub use wide::Wide;
