//! Replay. (Being written.)
