//! Data integrity tier: nothing is written, nothing is cached.
