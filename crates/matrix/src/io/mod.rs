//! Files in. (The reader is being written.)
