//! CPU. (Being written.)
