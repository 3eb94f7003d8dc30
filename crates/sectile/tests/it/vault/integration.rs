//! Integration tier: settings, path rules and note reading work together.
