//! Faults at every step of a commit.
