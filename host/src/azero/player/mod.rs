//! PUCT search with leaves evaluated in batches, and self-play.
