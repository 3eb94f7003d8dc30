//! The transformer inside Sectile, as `model/pack.py` in its repository made it. `sectile-retrieval` reads the file.

/// The name of the model.
pub const NAME: &str = "sectile-transformer-1";
/// The model's file.
pub const FILE: &[u8] = include_bytes!("sectile-transformer-1.bin");
/// The SHA-256 of the file. Computing it would take longer than most commands do.
pub const SHA256: &str = "45657daaf16583fd6eb2ba6d2089d2e58cbbcab7df3df1f660b22bf8c7ee6d1a";
