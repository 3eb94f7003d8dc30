//! Writes the passages and their queries into a folder: `cargo run -p sectile-test-corpus -- FOLDER`.

#![expect(
    clippy::disallowed_methods,
    reason = "a chore writes into the folder that it was given"
)]

use std::{env, error::Error, fs, path::PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::args_os().nth(1).map(PathBuf::from);
    let folder = folder.ok_or("usage: sectile-test-corpus FOLDER")?;
    fs::create_dir_all(&folder)?;
    sectile_test_corpus::write(&folder)?;
    Ok(())
}
