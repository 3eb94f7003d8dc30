//! The docs world: its documents.

mod check;
mod contract;
mod eval;
mod follow;
mod index;
mod library;
mod llms_txt;
mod manuals;
mod meaning;
mod plan;
mod preset;
mod resources;
mod search;
mod skipped;
mod switches;
mod threats;
mod visibility;

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::fixture::sectile;

/// A working folder with documents and settings.
struct Desk {
    folder: tempfile::TempDir,
    /// The cache folder of its user: tests that count what is embedded find nothing that others have embedded.
    cache: tempfile::TempDir,
}

/// How a command ended, and what it printed.
#[derive(Debug)]
struct Ran {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Desk {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("sectile-docs-")
            .tempdir()
            .unwrap();
        let cache = tempfile::tempdir().unwrap();
        let desk = Self { folder, cache };
        for (path, text) in files {
            desk.write(path, text.as_bytes());
        }
        desk
    }

    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        let file = self.path(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, bytes).unwrap();
    }

    /// Runs the binary in the working folder. Whatever it prints must not name that folder.
    fn run(&self, arguments: &[&str]) -> Ran {
        let output = sectile()
            .args(arguments)
            .current_dir(self.folder.path())
            .env("COLUMNS", "100")
            .env("XDG_CACHE_HOME", self.cache.path())
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let ran = Ran {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        };
        for place in [self.folder.path(), &self.real_path()] {
            let place = place.to_str().unwrap();
            assert!(!ran.stdout.contains(place), "{ran:?}");
            assert!(!ran.stderr.contains(place), "{ran:?}");
        }
        ran
    }

    fn real_path(&self) -> PathBuf {
        Path::canonicalize(self.folder.path()).unwrap()
    }
}
