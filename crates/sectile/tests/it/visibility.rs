//! What is hidden cannot be told from what does not exist.
