//! Security tier: no text, no secrets, no paths, no way out.
