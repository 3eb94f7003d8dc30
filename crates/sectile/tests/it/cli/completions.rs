//! `sectile completions`: the scripts work in real shells. bash must be there; what other shell is missing is said.

use super::Home;

/// The shells, with a line that only the script of each has.
const SHELLS: [(&str, &str); 4] = [
    ("bash", "complete -F _sectile_words "),
    ("zsh", "#compdef sectile\n"),
    ("fish", "complete -c sectile "),
    ("powershell", "Register-ArgumentCompleter -Native "),
];

#[test]
fn every_shell_has_a_script_which_is_always_the_same() {
    let home = Home::new();
    for (shell, line) in SHELLS {
        let ran = home.run(&["completions", shell]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(ran.stderr, "");
        assert!(ran.stdout.contains(line), "{shell}: {}", ran.stdout);
        assert!(!ran.stdout.contains('\u{1b}'), "{shell} has no colours");
        assert_eq!(home.run(&["completions", shell]).stdout, ran.stdout);
    }
    let ran = home.run(&["completions", "tcsh"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    for (shell, _) in SHELLS {
        assert!(ran.stderr.contains(shell), "{ran:?}");
    }
    let left = std::fs::read_dir(home.path("home")).unwrap().count();
    assert_eq!(left, 0, "a home folder is not needed");
}

#[cfg(unix)]
#[test]
fn a_script_needs_little_of_the_stack_and_may_be_read_in_part() {
    let home = Home::new();
    let program = crate::fixture::sectile();
    let program = program.get_program().to_str().unwrap();
    for command in ["completions bash", "completions powershell", "man"] {
        let line = format!("ulimit -s 1024 && '{program}' {command} | head -n 1");
        let mut shell = std::process::Command::new("bash");
        let shell = shell.args(["-o", "pipefail", "-c", &line]);
        let output = shell.current_dir(home.path("work")).output().unwrap();
        assert!(output.status.success(), "{command}: {output:?}");
        assert!(output.stderr.is_empty(), "{command}: {output:?}");
    }
}

/// Lines as far as a person typed them, and what a shell must offer: all of it, or for `None` only paths.
#[cfg(unix)]
const LINES: [(&str, Option<&[&str]>); 8] = [
    ("sectile ser", Some(&["serve"])),
    (
        "sectile connect cl",
        Some(&["claude-code", "claude-desktop"]),
    ),
    ("sectile connect zed --world e", Some(&["editor"])),
    ("sectile serve ~/notes --preset ", Some(&["memory"])),
    ("sectile docs se", Some(&["search"])),
    (
        "sectile auth add-key --role ",
        Some(&["viewer", "editor", "evaluator", "admin"]),
    ),
    ("sectile doctor --config se", Some(&["settings.toml"])),
    ("sectile sections ", None),
];

/// A folder with something to complete, and the script of a shell.
#[cfg(unix)]
fn prepared(shell: &str) -> Home {
    let home = Home::new();
    home.write("settings.toml", "");
    home.write("drafts/plan.md", "# Plan\n");
    let script = home.run(&["completions", shell]).stdout;
    std::fs::create_dir(home.path("scripts")).unwrap();
    std::fs::write(home.path("scripts/_sectile"), script).unwrap();
    home
}

/// Runs lines of a shell in the working folder; `None`, which is said, if the shell is not installed.
#[cfg(unix)]
#[expect(clippy::print_stderr, reason = "a test that cannot check says so")]
fn told_by(home: &Home, shell: &str, lines: &str) -> Option<String> {
    home.write("lines", lines);
    let output = std::process::Command::new(shell)
        .arg("lines")
        .current_dir(home.path("work"))
        .env("HOME", home.path("home"))
        .env("XDG_CONFIG_HOME", home.path("home/config"))
        .env("XDG_DATA_HOME", home.path("home/data"))
        .env("SCRIPTS", home.path("scripts"))
        .env("TERM", "dumb")
        .output();
    match output {
        Ok(output) => Some(String::from_utf8(output.stdout).unwrap()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("not checked: {shell} is not installed");
            None
        }
        Err(error) => panic!("{shell}: {error}"),
    }
}

#[cfg(unix)]
#[test]
fn bash_completes_commands_options_values_and_paths() {
    let home = prepared("bash");
    let mut lines = "\
source \"$SCRIPTS/_sectile\"
offer() {
    COMP_WORDS=(\"$@\")
    COMP_CWORD=$(($# - 1))
    COMPREPLY=()
    $function sectile \"${!#}\" \"${COMP_WORDS[$# - 2]}\" 2> errors
    echo \"${COMPREPLY[*]}\"
}
specification=$(complete -p sectile)
[[ $specification == *'-o default '* ]] || exit 1
function=${specification##*-F }
function=${function%% *}
"
    .to_owned();
    for (line, _) in LINES {
        let last = if line.ends_with(' ') { "''" } else { "" };
        lines += &format!("offer {line}{last}\n");
    }
    lines += "offer sectile sections --\n";
    let told = told_by(&home, "bash", &lines).expect("bash is installed");
    let told: Vec<&str> = told.lines().collect();
    assert_eq!(told.len(), LINES.len() + 1, "{told:?}");
    for ((line, offered), told) in LINES.iter().zip(&told) {
        // Without an offer of the script, bash offers paths.
        let offered = offered.unwrap_or_default().join(" ");
        assert_eq!(*told, offered, "{line}");
    }
    assert_eq!(told[LINES.len()], "--root --json --help");
}

#[cfg(unix)]
#[test]
fn fish_completes_commands_options_values_and_paths() {
    let home = prepared("fish");
    let mut lines = "source $SCRIPTS/_sectile\n".to_owned();
    for (line, _) in LINES {
        lines += &format!("echo == '{line}'\ncomplete -C '{line}'\n");
    }
    let Some(told) = told_by(&home, "fish", &lines) else {
        return;
    };
    let told: Vec<&str> = told.split("== ").skip(1).collect();
    assert_eq!(told.len(), LINES.len(), "{told:?}");
    for ((line, offered), told) in LINES.iter().zip(told) {
        let mut told: Vec<&str> = told
            .lines()
            .skip(1)
            .filter_map(|candidate| candidate.split('\t').next())
            .collect();
        told.sort_unstable();
        let mut offered = match offered {
            Some(offered) => offered.to_vec(),
            None => vec!["drafts/", "lines", "settings.toml"],
        };
        offered.sort_unstable();
        assert_eq!(told, offered, "{line}");
    }
}

#[cfg(unix)]
#[test]
fn zsh_completes_commands_options_values_and_paths() {
    let home = prepared("zsh");
    // A terminal of its own, in which keys are pressed once the shell's editor takes them: before, the terminal would show
    // them itself. What is offered is on it once the mark after it is.
    let start = "\
PROMPT=
LISTMAX=1000
unsetopt list_ambiguous
stty rows 200 cols 200
fpath=($SCRIPTS $fpath)
autoload -Uz compinit
compinit -u -D
zle-line-init() { print ready }
zle -N zle-line-init
";
    std::fs::write(home.path("scripts/.zshrc"), start).unwrap();
    let mut lines = "\
zmodload zsh/zpty || exit 1
export ZDOTDIR=$SCRIPTS
zpty shell zsh -d -i
zpty -r shell screen '*ready*'
press() {
    zpty -w -n shell \"$1\"$'\\t\\C-e#end'
    zpty -r shell screen '*#end*'
    print -r -- \"== $screen\"
    zpty -w -n shell $'\\C-u'
}
"
    .to_owned();
    for (line, _) in LINES {
        lines += &format!("press '{line}'\n");
    }
    let Some(told) = told_by(&home, "zsh", &lines) else {
        return;
    };
    let mut told = told.split("== ").skip(1);
    for (line, offered) in LINES {
        let told = told.next().unwrap_or_default();
        for offered in offered.unwrap_or(&["drafts/", "settings.toml"]) {
            assert!(told.contains(offered), "{line}: {offered:?} in {told:?}");
        }
    }
}
