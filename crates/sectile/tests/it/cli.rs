//! What the command line prints and how it ends.

mod answers;
mod auth;
mod completions;
mod config;
mod connect;
mod demo;
mod desk;
mod doctor;
mod edit;
mod explain;
mod help;
mod libraries;
mod man;
mod notebook;
mod roots;
mod self_check;
/// Needs `script`, which comes with every Linux.
#[cfg(target_os = "linux")]
mod terminal;
mod verify;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio as Pipe},
};

use crate::fixture::{TestVault, sectile};

/// A home folder and a working folder of a test's own, so that it neither sees nor changes the settings of whoever runs
/// it.
struct Home {
    folder: tempfile::TempDir,
}

/// How a command ended, and what it printed.
#[derive(Debug)]
struct Ran {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("sectile-cli-")
            .tempdir()
            .unwrap();
        for name in ["home", "work", "tmp"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    /// A path below the folder that holds `home`, `work` and `tmp`.
    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    /// Writes a file below the working folder and returns its absolute path.
    fn write(&self, name: &str, text: &str) -> PathBuf {
        let file = self.path("work").join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        file
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path("work").join(name)).unwrap()
    }

    /// A command that runs in the working folder, with nothing to read.
    fn command(&self) -> Command {
        let mut command = sectile();
        command
            .current_dir(self.path("work"))
            .env("HOME", self.path("home"))
            .env("XDG_CONFIG_HOME", self.path("home/config"))
            .env("XDG_CACHE_HOME", self.path("home/cache"))
            .env("TMPDIR", self.path("tmp"))
            .env("COLUMNS", "100")
            .env_remove("CLAUDE_CONFIG_DIR")
            .env_remove("CODEX_HOME")
            .stdin(Pipe::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with(arguments, &[])
    }

    fn run_with(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Ran {
        let output = self
            .command()
            .args(arguments)
            .envs(environment.iter().copied())
            .output()
            .unwrap();
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn the_exit_code_tells_done_refused_and_wrongly_called_apart() {
    let home = Home::new();
    let vault = TestVault::sample();
    let root = vault.root();
    let root = text(&root);
    for (arguments, code) in [
        (&["--help"][..], 0),
        (&["--version"], 0),
        (&["help", "serve"], 0),
        (&["tools"], 0),
        (&["config", "schema"], 0),
        (&["reference", "errors"], 0),
        (&["outline", "inbox/one.md", "--root", root], 0),
        (&["outline", "missing.md", "--root", root], 1),
        (&["outline", "../outside/secret.md", "--root", root], 1),
        (&["outline", "inbox/one.md", "--root", "missing"], 1),
        (&["config", "check"], 1),
        (&["serve", "vault", "missing-dir"], 1),
        (&["serve", "--config", "missing.toml"], 1),
        (&[], 2),
        (&["frobnicate"], 2),
        (&["outline", "a.md", "b.md"], 2),
        (&["outline", "a.md", "--frobnicate"], 2),
        (&["config"], 2),
        (&["connect"], 2),
        (&["connect", "frobnicate"], 2),
        (&["tools", "frobnicate"], 2),
        (&["reference"], 2),
        (&["reference", "frobnicate"], 2),
        (&["serve", "notebook"], 2),
        (&["serve", "frobnicate", root], 2),
    ] {
        let ran = home.run(arguments);
        assert_eq!(ran.code, Some(code), "{arguments:?}: {ran:?}");
        // Results go to standard output, everything else to standard error.
        assert_eq!(ran.stdout.is_empty(), code != 0, "{arguments:?}: {ran:?}");
        assert_eq!(ran.stderr.is_empty(), code == 0, "{arguments:?}: {ran:?}");
    }
}

#[test]
fn a_server_without_a_folder_says_how_to_give_one() {
    let home = Home::new();
    let ran = home.run(&["serve", "notebook"]);
    assert_eq!(
        ran.stderr,
        "error: no folder is given.\n\
         hint: sectile serve notebook DIR, or set notebook.root in the settings file\n"
    );
    let ran = home.run(&["serve", "vault", "missing-dir"]);
    assert_eq!(
        ran.stderr,
        "error: the vault cannot be served: the folder does not exist.\n\
         hint: give the folder of your notes: sectile serve vault DIR\n"
    );
    home.write("note.md", "# One\n");
    let ran = home.run(&["serve", "vault", "note.md"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("it is not a folder"), "{ran:?}");
    home.write("sectile.toml", "[log]\nlevel = \"warn\"\n");
    let ran = home.run(&["serve", "--config", "sectile.toml"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("set desk.root"), "{ran:?}");
}
