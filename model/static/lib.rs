//! The static model inside Sectile, as `model/pack.py` in its repository made it. `sectile-retrieval` reads the file.

/// The name of the model.
pub const NAME: &str = "sectile-static-2";
/// The model's file.
pub const FILE: &[u8] = include_bytes!("sectile-static-2.bin");
/// The SHA-256 of the file. Computing it would take longer than most commands do.
pub const SHA256: &str = "5ce33f67c76d5cac78ef392d78b0bc87ad53e3aebb62b27cef7fdbbb944f5594";
