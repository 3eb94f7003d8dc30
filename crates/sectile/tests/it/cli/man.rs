//! `sectile man`: pages of all commands, which typesetters take without a warning.

use std::{collections::BTreeMap, fs, path::Path};

use super::{Home, text};

/// Writes the pages into `folder` and returns them by name.
fn written(home: &Home, folder: &str) -> BTreeMap<String, String> {
    let folder = home.path("work").join(folder);
    let ran = home.run(&["man", "--out", text(&folder)]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stderr, "");
    pages(&folder)
}

fn pages(folder: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read_to_string(entry.path()).unwrap())
        })
        .collect()
}

#[test]
fn every_command_of_the_help_has_a_page() {
    let home = Home::new();
    let pages = written(&home, "share/man/man1");
    for (command, title) in [("", "sectile"), ("docs", "sectile-docs")] {
        let mut arguments: Vec<&str> = command.split_whitespace().collect();
        arguments.push("-h");
        let help = home.run(&arguments).stdout;
        let (_, commands) = help.split_once("Commands:\n").unwrap();
        let (commands, _) = commands.split_once("\n\n").unwrap();
        let listed: Vec<&str> = commands
            .lines()
            .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
            .filter_map(|line| line.split_whitespace().next())
            .filter(|name| *name != "help")
            .collect();
        assert!(listed.len() > 3, "{help}");
        let page = &pages[&format!("{title}.1")];
        for name in listed {
            let own = format!("{title}-{name}");
            assert!(pages.contains_key(&format!("{own}.1")), "{own}");
            let escaped = own.replace('-', "\\-");
            assert!(page.contains(&format!("\\fB{escaped}\\fR(1)")), "{own}");
        }
    }
    let version = format!("\"sectile {}\"", env!("CARGO_PKG_VERSION"));
    for (name, page) in &pages {
        assert!(page.contains(&version), "{name}");
    }
    assert_eq!(home.run(&["man"]).stdout, pages["sectile.1"]);
}

#[test]
fn the_same_pages_are_written_again_and_everyone_may_read_them() {
    let home = Home::new();
    let first = written(&home, "one");
    assert_eq!(written(&home, "one"), first);
    assert_eq!(written(&home, "two"), first);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        home.write("usual", "");
        let mode = |name: &str| {
            let metadata = fs::metadata(home.path("work").join(name)).unwrap();
            metadata.permissions().mode()
        };
        assert_eq!(mode("one/sectile.1"), mode("usual"));
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_a_failure() {
    let home = Home::new();
    home.write("file", "text");
    let ran = home.run(&["man", "--out", "file"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(ran.stdout, "");
    assert!(
        ran.stderr.contains("cannot be written") && ran.stderr.contains("--out DIR"),
        "{ran:?}"
    );
    assert_eq!(home.read("file"), "text");
}

/// Needs groff, which comes with `man` on most systems.
#[cfg(unix)]
#[test]
fn the_pages_are_set_without_a_warning_and_examples_stay_as_they_are() {
    let home = Home::new();
    let pages = written(&home, "man");
    let mut whole = String::new();
    for name in pages.keys() {
        let output = std::process::Command::new("groff")
            .args(["-man", "-Tutf8", "-ww", "-P-cbou", "-rLL=200n"])
            .arg(home.path("work/man").join(name))
            .output();
        let output = match output {
            Ok(output) => output,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                eprintln!("not checked: groff is not installed");
                return;
            }
            Err(error) => panic!("groff: {error}"),
        };
        let warnings = String::from_utf8(output.stderr).unwrap();
        assert_eq!(warnings, "", "{name}");
        whole += &String::from_utf8(output.stdout).unwrap();
    }
    for line in [
        "sectile serve ~/notes --http 127.0.0.1:7420",
        "sectile search \"winter feed\"",
        "sectile set 'Winter feed' 'tags=[farm, winter]' --unset draft",
        "echo 'New text.' | sectile edit update plan.md Beta",
        "[[question]]",
        "ask = \"How do I undo an edit?\"",
        "sectile completions powershell >> $PROFILE",
    ] {
        let is_there = whole.lines().any(|set| set.trim() == line);
        assert!(is_there, "{line} is not in {whole}");
    }
    for words in [
        "[default: the one named by SECTILE_CONFIG, if any]",
        "as `sectile fetch` shows it",
        "sectile docs eval [OPTIONS] <FILE>",
    ] {
        assert!(whole.contains(words), "{words} is not in {whole}");
    }
}
