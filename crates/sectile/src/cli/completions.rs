//! `sectile completions`: scripts that complete commands, options, values and paths in a shell.
//!
//! They are made from the table that the help texts come from. No generator completes all that is in it, so that what the
//! one for a shell leaves out is added here.

use std::{any::TypeId, path::PathBuf};

use clap::{Arg, Command, ValueHint, builder::PossibleValue};
use clap_complete::{
    Generator,
    shells::{Bash, Fish, PowerShell, Zsh},
};

use super::{
    args::{self, CompletionsArgs, ShellName},
    ui::{CliError, print},
};

pub(super) fn run(args: &CompletionsArgs) -> Result<(), CliError> {
    print(script(args.shell))
}

fn script(shell: ShellName) -> String {
    let command = with_hints(args::command());
    match shell {
        ShellName::Bash => without_options_at_first(&generated(Bash, command)),
        ShellName::Zsh => with_worlds_and_folders(&generated(Zsh, command)),
        ShellName::Fish => generated(Fish, with_values_as_commands(command)),
        ShellName::PowerShell => {
            let values = values_of_options(&command, args::PROGRAM);
            let script = generated(PowerShell, with_values_as_commands(command));
            with_values_of_options(&script, &values)
        }
    }
}

fn generated(generator: impl Generator, mut command: Command) -> String {
    let mut script = Vec::new();
    clap_complete::generate(generator, &mut command, args::PROGRAM, &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// Says what the values of options are: folders, files, or nothing that a shell could complete.
fn with_hints(command: Command) -> Command {
    let command = command.mut_args(|arg| {
        let hint = match arg.get_value_names() {
            _ if !arg.get_action().takes_values() || !values(&arg).is_empty() => return arg,
            Some([name]) if name == "DIR" => ValueHint::DirPath,
            Some([name]) if name == "FILE" || name == "PATH" => ValueHint::FilePath,
            _ if arg.get_value_parser().type_id() == TypeId::of::<PathBuf>() => ValueHint::FilePath,
            // Positional arguments are often ids of notes, which are paths as a rule.
            _ if arg.is_positional() => return arg,
            _ => ValueHint::Other,
        };
        arg.value_hint(hint)
    });
    command.mut_subcommands(with_hints)
}

/// Returns the values of an argument that takes one of a fixed set.
fn values(arg: &Arg) -> Vec<PossibleValue> {
    let mut values = match arg.get_action().takes_values() {
        true => arg.get_possible_values(),
        false => Vec::new(),
    };
    values.retain(|value| !value.is_hide_set());
    values
}

/// Makes bash offer options once a dash is typed; the generated script offers them instead of paths, too.
fn without_options_at_first(script: &str) -> String {
    let start = "if [[ \"${BASH_VERSINFO[0]}\" -eq 4";
    let words = "\
_sectile_words() {
    _sectile \"$@\"
    [[ $2 == -* ]] && return
    local word words=()
    for word in \"${COMPREPLY[@]}\"; do
        [[ $word == -* ]] || words+=(\"$word\")
    done
    COMPREPLY=(\"${words[@]}\")
}

";
    script
        .replace(start, &format!("{words}{start}"))
        .replace("complete -F _sectile ", "complete -F _sectile_words ")
}

/// Makes zsh offer folders next to the worlds for the first argument of `sectile serve`; the generated script takes a set of
/// values to be complete.
fn with_worlds_and_folders(script: &str) -> String {
    let of_target = || {
        let (before, rest) = script.split_once("'::target -- ")?;
        let (help, rest) = rest.split_once(":((")?;
        let (worlds, after) = rest.split_once("))' \\\n")?;
        let (first_line, before) = before.split_once('\n')?;
        Some(format!(
            "{first_line}\n\n_sectile_worlds_and_folders() {{\n    _alternative 'worlds:world:(({worlds}))' \
             'folders:folder:_files -/'\n}}\n{before}'::target -- {help}:_sectile_worlds_and_folders' \\\n{after}"
        ))
    };
    of_target().unwrap_or_else(|| script.to_owned())
}

/// Turns the values of a positional argument into subcommands, for the generators that complete no other positional
/// arguments.
fn with_values_as_commands(command: Command) -> Command {
    let command = command.mut_subcommands(with_values_as_commands);
    let Some((arg, values)) = command
        .get_positionals()
        .map(|arg| (arg, values(arg)))
        .find(|(_, values)| !values.is_empty())
    else {
        return command;
    };
    let may_be_path = arg.get_value_hint() != ValueHint::Unknown;
    let options = command.get_arguments().filter(|arg| !arg.is_positional());
    let options: Vec<Arg> = options.cloned().collect();
    let values = values.iter().map(|value| {
        let command = Command::new(value.get_name().to_owned()).args(&options);
        match value.get_help() {
            Some(help) => command.about(help.clone()),
            None => command,
        }
    });
    let values: Vec<Command> = values.collect();
    let command = match may_be_path {
        true => command,
        false => {
            let name = command.get_name().to_owned();
            let about = command.get_about().cloned().unwrap_or_default();
            Command::new(name).about(about).args(&options)
        }
    };
    command.disable_help_subcommand(true).subcommands(values)
}

/// Returns the cases of PowerShell's `switch` that complete the values of options, those of subcommands first.
fn values_of_options(command: &Command, path: &str) -> String {
    let mut cases = String::new();
    for subcommand in command.get_subcommands() {
        cases += &values_of_options(subcommand, &format!("{path};{}", subcommand.get_name()));
    }
    let literal = |text: &str| format!("'{}'", text.replace('\'', "''"));
    for arg in command.get_arguments() {
        let values = values(arg);
        let Some(long) = arg.get_long().filter(|_| !values.is_empty()) else {
            continue;
        };
        cases += &format!(
            "\n        {{ \"$_;\".StartsWith('{path};') -and $previous -eq '--{long}' }} {{"
        );
        for value in values {
            let name = literal(value.get_name());
            let help = value.get_help().map(|help| literal(&help.to_string()));
            let help = help.as_ref().unwrap_or(&name);
            cases += &format!(
                "\n            [CompletionResult]::new({name}, {name}, [CompletionResultType]::ParameterValue, {help})"
            );
        }
        cases += "\n            break\n        }";
    }
    cases
}

/// Makes PowerShell complete the values of options; the generated script has only their names.
fn with_values_of_options(script: &str, cases: &str) -> String {
    let switch = "    $completions = @(switch ($command) {";
    let previous = "    $previous = \"$($commandElements | Where-Object { $_.Extent.EndOffset -lt $cursorPosition } | \
                    Select-Object -Last 1)\"\n";
    script.replace(switch, &format!("{previous}\n{switch}{cases}"))
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;
    use crate::{cli::connect::CLIENTS, worlds::WORLDS};

    #[test]
    fn every_script_has_every_command_and_the_values_of_our_tables() {
        for shell in ShellName::value_variants() {
            let script = script(*shell);
            for command in args::command().get_subcommands() {
                assert!(script.contains(command.get_name()), "{shell:?}: {command}");
            }
            let clients = CLIENTS.iter().map(|client| client.id);
            let worlds = WORLDS.iter().map(|world| world.name);
            for value in clients.chain(worlds).chain(["memory", "evaluator"]) {
                assert!(script.contains(value), "{shell:?}: {value}");
            }
        }
    }

    /// What is added relies on lines of the generated scripts.
    #[test]
    fn every_addition_finds_its_line() {
        for (shell, added) in [
            (
                ShellName::Bash,
                &["\n_sectile_words() {\n", "complete -F _sectile_words "][..],
            ),
            (
                ShellName::Zsh,
                &[
                    "\n_sectile_worlds_and_folders() {\n",
                    ":_sectile_worlds_and_folders' \\\n",
                ],
            ),
            (
                ShellName::Fish,
                &["__fish_seen_subcommand_from claude-code "],
            ),
            (
                ShellName::PowerShell,
                &[
                    "\n    $previous = ",
                    "\n        { \"$_;\".StartsWith('sectile;serve;') -and $previous -eq '--preset' } {\n",
                    "\n        'sectile;connect;claude-code' {\n",
                ],
            ),
        ] {
            let script = script(shell);
            for line in added {
                assert!(script.contains(line), "{shell:?}: {line} in {script}");
            }
        }
    }
}
