//! Learning from records of self-play.
