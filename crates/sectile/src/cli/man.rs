//! `sectile man`: manual pages, made from the table that the help texts come from.

use std::io;

use clap::Command;
use clap_mangen::{
    Man,
    roff::{Roff, bold, roman},
};

use super::{
    args::{self, ManArgs},
    ui::{CliError, counted, print},
};
use crate::files;

/// The words that start the examples in a help text.
const EXAMPLES: &str = "Examples:";
/// Characters for which typesetters have prettier ones that no shell understands, with the names of the plain ones.
const PLAIN: [(&str, &str); 3] = [("~", "\\(ti"), ("^", "\\(ha"), ("`", "\\(ga")];

/// One page of the manual.
struct ManualPage {
    file_name: String,
    text: String,
}

pub(super) fn run(args: &ManArgs) -> Result<(), CliError> {
    let pages = pages()?;
    let Some(folder) = &args.out else {
        return pages.first().map_or(Ok(()), |page| print(&page.text));
    };
    for page in &pages {
        let path = folder.join(&page.file_name);
        files::replace_shared(&path, &page.text).map_err(|error| {
            let reason = files::reason(error.kind());
            CliError::failed(format_args!(
                "the page {} cannot be written ({reason}).",
                path.display()
            ))
            .next("name a folder that can be written with --out DIR")
        })?;
    }
    let written = counted(pages.len(), "page", "pages");
    print(format_args!("{written} written to {}\n", folder.display()))
}

/// Returns the page of the program, and then those of its commands.
fn pages() -> io::Result<Vec<ManualPage>> {
    let mut command = args::command();
    command.build();
    let mut pages = Vec::new();
    add_pages(&command, None, &mut pages)?;
    Ok(pages)
}

fn add_pages(
    command: &Command,
    parent: Option<&str>,
    pages: &mut Vec<ManualPage>,
) -> io::Result<()> {
    let title = title_of(command);
    pages.push(ManualPage {
        file_name: format!("{title}.1"),
        text: page(command, parent)?,
    });
    for subcommand in commands_of(command) {
        add_pages(subcommand, Some(title), pages)?;
    }
    Ok(())
}

/// Returns the subcommands that have pages: all but hidden ones, and `help`, which prints what the pages say.
fn commands_of(command: &Command) -> impl Iterator<Item = &Command> {
    let subcommands = command.get_subcommands();
    subcommands.filter(|command| !command.is_hide_set() && command.get_name() != "help")
}

fn title_of(command: &Command) -> &str {
    let title = command.get_display_name();
    title.unwrap_or_else(|| command.get_name())
}

fn page(command: &Command, parent: Option<&str>) -> io::Result<String> {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").to_owned();
    let man = Man::new(command.clone().override_usage(usage));
    let mut text = Vec::new();
    head(title_of(command)).to_writer(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    commands(command).to_writer(&mut text)?;
    if let Some(help) = command.get_after_help() {
        after_help(&help.to_string()).to_writer(&mut text)?;
    }
    see_also(parent).to_writer(&mut text)?;
    let mut text = String::from_utf8_lossy(&text).into_owned();
    // Each part starts with the same definitions, which are needed once.
    let definitions = Roff::new().render();
    text = format!("{definitions}{}", text.replace(&definitions, ""));
    for (character, plain) in PLAIN {
        text = text.replace(character, plain);
    }
    Ok(text)
}

/// Returns the head of a page, which says the version and, so that pages can be reproduced, not the day. Words are not divided:
/// they may be names.
fn head(title: &str) -> Roff {
    let version = concat!("sectile ", env!("CARGO_PKG_VERSION"));
    let mut head = Roff::new();
    head.control("TH", [title, "1", "\"\"", version, "Sectile Manual"])
        .control("nh", [])
        .control("ad", ["l"]);
    head
}

/// A part of the end of a help text.
enum HelpBlock {
    Paragraph(String),
    /// Lines that stay as they are.
    Listing(Vec<String>),
    Example {
        command: String,
        explanation: String,
    },
    /// The words that start the examples.
    Heading,
}

impl HelpBlock {
    /// Parses the end of a help text: paragraphs, listings, which are indented, and examples.
    fn parse(text: &str) -> Vec<Self> {
        let mut blocks: Vec<Self> = Vec::new();
        let mut is_new = true;
        for line in text.lines() {
            let is_indented = line.starts_with(' ');
            let trimmed = line.trim().to_owned();
            match blocks.last_mut().filter(|_| !is_new) {
                _ if trimmed.is_empty() => {}
                _ if trimmed == EXAMPLES => blocks.push(Self::Heading),
                _ if is_indented && trimmed.contains("sectile ") => {
                    let (command, explanation) = trimmed.split_once("  ").unwrap_or((&trimmed, ""));
                    blocks.push(Self::Example {
                        command: command.to_owned(),
                        explanation: explanation.trim().to_owned(),
                    });
                }
                // The explanation comes first in the help of the program itself.
                _ if trimmed.contains(":  ") => {
                    let (explanation, command) = trimmed.split_once(':').unwrap_or_default();
                    blocks.push(Self::Example {
                        command: command.trim().to_owned(),
                        explanation: explanation.to_owned(),
                    });
                }
                Some(Self::Example { explanation, .. }) if is_indented => {
                    *explanation = format!("{explanation} {trimmed}").trim().to_owned();
                }
                Some(Self::Listing(lines)) if is_indented => lines.push(line[2..].to_owned()),
                _ if is_indented => blocks.push(Self::Listing(vec![line[2..].to_owned()])),
                Some(Self::Paragraph(text)) => *text += &format!(" {trimmed}"),
                _ => blocks.push(Self::Paragraph(trimmed)),
            }
            is_new = line.is_empty();
        }
        blocks
    }

    /// Adds this part to a page. The first one of a section has space above it already.
    fn add_to(&self, page: &mut Roff, is_first: bool) {
        let is_paragraph = match self {
            Self::Example { explanation, .. } => explanation.is_empty(),
            Self::Paragraph(_) | Self::Listing(_) => true,
            Self::Heading => false,
        };
        if is_paragraph && !is_first {
            page.control("PP", []);
        }
        match self {
            Self::Paragraph(text) => {
                page.text([roman(text)]);
            }
            Self::Listing(lines) => {
                page.control("RS", ["4"]).control("nf", []);
                for line in lines {
                    page.text([roman(line)]);
                }
                page.control("fi", []).control("RE", []);
            }
            Self::Example {
                command,
                explanation,
            } if explanation.is_empty() => {
                page.text([bold(command)]);
            }
            Self::Example {
                command,
                explanation,
            } => {
                page.control("TP", [])
                    .text([bold(command)])
                    .text([roman(explanation)]);
            }
            Self::Heading => {}
        }
    }
}

/// Sets the end of a help text.
fn after_help(text: &str) -> Roff {
    let mut page = Roff::new();
    let mut section = "";
    let mut is_first = true;
    for block in HelpBlock::parse(text) {
        let own = match (&block, section) {
            (HelpBlock::Heading, _) | (HelpBlock::Example { .. }, "") => "EXAMPLES",
            (_, "") => "NOTES",
            _ => section,
        };
        if own != section {
            page.control("SH", [own]);
            section = own;
            is_first = true;
        }
        block.add_to(&mut page, is_first);
        is_first &= matches!(block, HelpBlock::Heading);
    }
    page
}

/// Lists the commands below one, with their pages.
fn commands(command: &Command) -> Roff {
    let mut page = Roff::new();
    for (at, subcommand) in commands_of(command).enumerate() {
        if at == 0 {
            page.control("SH", ["COMMANDS"]);
        }
        let about = subcommand.get_about().map(ToString::to_string);
        page.control("TP", [])
            .text([bold(title_of(subcommand)), roman("(1)")])
            .text([roman(about.unwrap_or_default())]);
    }
    page
}

fn see_also(parent: Option<&str>) -> Roff {
    let mut page = Roff::new();
    page.control("SH", ["SEE ALSO"]);
    match parent {
        Some(parent) => page.text([bold(parent), roman("(1)")]),
        None => page.text([roman(concat!(
            "The manual: ",
            env!("CARGO_PKG_REPOSITORY"),
            "/tree/main/docs"
        ))]),
    };
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_help_text_becomes_notes_and_examples() {
        let text = "\
.sectile is a folder\nwith a \\ in it:\n  [[question]]\n  ask = 'why?'\n\nExamples:\n  sectile serve ~/notes    on stdio\n  \
                    sectile serve --http 127.0.0.1:7420 --config sectile.toml\n                    over HTTP\n  \
                    sectile fetch 'Winter feed'\n";
        let page = after_help(text).render();
        let definitions = Roff::new().render();
        assert_eq!(
            page.strip_prefix(&definitions).unwrap(),
            "\
.SH NOTES
\\&.sectile is a folder with a \\\\ in it:
.PP
.RS 4
.nf
[[question]]
ask = \\*(Aqwhy?\\*(Aq
.fi
.RE
.SH EXAMPLES
.TP
\\fBsectile serve ~/notes\\fR
on stdio
.TP
\\fBsectile serve \\-\\-http 127.0.0.1:7420 \\-\\-config sectile.toml\\fR
over HTTP
.PP
\\fBsectile fetch \\*(AqWinter feed\\*(Aq\\fR
"
        );
    }

    #[test]
    fn every_command_has_a_page_with_the_version_and_no_character_that_is_typeset() {
        let pages = pages().unwrap();
        let names: Vec<&str> = pages.iter().map(|page| &*page.file_name).collect();
        assert_eq!(names[0], "sectile.1");
        for name in ["sectile-serve.1", "sectile-docs-search.1"] {
            assert!(names.contains(&name), "{names:?}");
        }
        assert!(!names.iter().any(|name| name.contains("help")), "{names:?}");
        let version = concat!("\"sectile ", env!("CARGO_PKG_VERSION"), "\"");
        for ManualPage { file_name, text } in pages {
            assert!(text.contains(version), "{file_name}: {text}");
            assert!(!text.contains(['~', '^', '`']), "{file_name}: {text}");
        }
    }
}
