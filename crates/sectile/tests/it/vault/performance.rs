//! Performance tier: one note read per call, counted, not timed.
