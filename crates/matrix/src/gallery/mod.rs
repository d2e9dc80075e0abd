//! Generators. (Being written.)
