//! The help texts, pinned in files beside the rest of the contract.

use super::Home;

#[test]
fn help_is_as_pinned() {
    let home = Home::new();
    for (name, arguments) in [
        ("cli__help", &["--help"][..]),
        ("cli__serve_help", &["serve", "--help"]),
        ("cli__config_help", &["config", "--help"]),
        ("cli__connect_help", &["connect", "--help"]),
        ("cli__edit_help", &["edit", "--help"]),
        ("cli__docs_check_help", &["docs", "check", "--help"]),
    ] {
        let ran = home.run(arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?}");
        insta::with_settings!({
            snapshot_path => "../../contract",
            prepend_module_to_snapshot => false,
            omit_expression => true,
        }, {
            insta::assert_snapshot!(name, ran.stdout);
        });
    }
}

#[test]
fn every_command_explains_itself() {
    let home = Home::new();
    for command in [
        "serve",
        "edit",
        "sections",
        "outline",
        "tree",
        "facets",
        "tools",
        "auth",
        "docs",
        "notebook",
        "reference",
        "config",
        "connect",
        "disconnect",
        "doctor",
        "demo",
        "completions",
        "man",
        "self-check",
    ] {
        for flag in ["-h", "--help"] {
            let ran = home.run(&[command, flag]);
            assert_eq!(ran.code, Some(0), "{command} {flag}");
            let usage = format!("Usage: sectile {command}");
            assert!(ran.stdout.contains(&usage), "{command} {flag}: {ran:?}");
        }
    }
    let version = home.run(&["--version"]).stdout;
    assert_eq!(version, format!("sectile {}\n", env!("CARGO_PKG_VERSION")));
}
