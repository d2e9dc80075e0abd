//! CUDA. (Being written.)
