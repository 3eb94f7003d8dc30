//! `sectile open`: the console of a desk in a browser.

use std::{
    path::{Path, PathBuf},
    time::SystemTime,
};

use clap::Args as ClapArgs;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::{
    args::ServeArgs,
    desk,
    serve::{self, ConsoleAddress},
    servers::{RunningServer, link_key},
    ui::{CliError, HEADING, NAME, StyledText, print, tell, visible},
};
use crate::{config::without_tilde, files};

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  sectile open                     the notes here, in your browser
  sectile open ~/notes             those of another folder
  sectile open 'Winter feed'       one note of them
  sectile open plan --app          a note in the program that its address belongs to, such as Obsidian")]
pub(super) struct OpenArgs {
    /// A folder to look at, or a note in the folder that this one belongs to [default: the folder].
    #[arg(value_name = "DIR|ID")]
    what: Option<String>,
    /// Print the address instead of opening it.
    #[arg(long)]
    print: bool,
    /// Open the note in the program that its address belongs to, not in the console.
    #[arg(long)]
    app: bool,
    /// Only look: nothing can be changed, not even undone. For a console that is not open yet.
    #[arg(long, conflicts_with = "app")]
    read_only: bool,
    #[command(flatten)]
    desk: desk::DeskArgs,
}

pub(super) fn run(args: &OpenArgs) -> Result<(), CliError> {
    let named = args.what.as_deref();
    let folder = named
        .map(|what| without_tilde(PathBuf::from(what)))
        .filter(|path| files::is_folder(path));
    if args.app {
        let url = desk::address_of(&args.desk, named)?;
        return match args.print {
            true => print(format_args!("{url}\n")),
            false => open_in_its_program(&url),
        };
    }
    if let Some(what) = named
        && is_missing(what)
    {
        let what = visible(what);
        return Err(
            CliError::failed(format_args!("there is no folder or note at {what}."))
                .next("give a folder, or the name of a note in the folder where you are"),
        );
    }
    let config = args.desk.config();
    let root = match (folder, &config) {
        (Some(folder), _) => Some(folder),
        // The settings say which folders the desk has.
        (None, Some(_)) => None,
        (None, None) => Some(desk::root_of_command(&args.desk, named)?),
    };
    let place = root.as_deref().and_then(|root| files::absolute(root).ok());
    let id = match (named, &root) {
        (Some(what), Some(root)) if !files::is_folder(Path::new(what)) => desk::id_in(root, what)?,
        (Some(what), None) => what.to_owned(),
        _ => String::new(),
    };
    if let Some(place) = &place
        && let Some((server, served)) = RunningServer::of(place)
    {
        let below = place.strip_prefix(&served).unwrap_or(Path::new(""));
        let id = match below.as_os_str().is_empty() {
            true => id,
            false => format!("{}/{id}", below.display()),
        };
        return show(&address_in(&server, &target(&id))?, args.print);
    }
    let target = target(&id);
    let is_printed = args.print;
    let args = ServeArgs::for_console(root.as_deref(), config, args.read_only);
    serve::run_console(&args, move |console: &ConsoleAddress| {
        show(&console.link(&target)?, is_printed)?;
        tell(format_args!(
            "The console is open at {} until you press Ctrl-C.\n\
             MCP clients on this machine can connect to {}.\n",
            StyledText(NAME, console.url()),
            StyledText(NAME, console.endpoint())
        ));
        Ok(())
    })
}

/// Returns whether something can only be a path, and nothing is there.
fn is_missing(what: &str) -> bool {
    let is_path = ["/", "~/", "./", "../"]
        .iter()
        .any(|start| what.starts_with(start));
    let file = what.split('#').next().unwrap_or(what);
    let place = without_tilde(PathBuf::from(file));
    is_path && files::length_and_time(&place).is_none()
}

/// Returns the path of the page that shows `id`.
fn target(id: &str) -> String {
    match id {
        "" => "/".to_owned(),
        id => format!(
            "/documents?id={}",
            utf8_percent_encode(id, NON_ALPHANUMERIC)
        ),
    }
}

/// Returns the address of a page of a server that runs already.
fn address_in(server: &RunningServer, target: &str) -> Result<String, CliError> {
    if server.signs_in {
        return Ok(format!("{}{target}", server.url));
    }
    let key = link_key(server.address)?;
    let key = key.ok_or_else(|| CliError::failed("no link can be made."))?;
    Ok(format!(
        "{}{}",
        server.url,
        key.link(target, SystemTime::now())?
    ))
}

/// Opens an address, or prints it if that is asked for or cannot be done.
fn show(url: &str, is_printed: bool) -> Result<(), CliError> {
    if is_printed {
        return print(format_args!("{url}\n"));
    }
    if open_in_its_program(url).is_err() {
        tell(format_args!(
            "{} no browser could be started. Open this link yourself; it works once, within five minutes:\n",
            StyledText(HEADING, "note:")
        ));
        return print(format_args!("{url}\n"));
    }
    Ok(())
}

/// Opens an address with the program that the system has for it.
#[expect(
    clippy::disallowed_methods,
    reason = "people ask for the program that shows the note"
)]
fn open_in_its_program(url: &str) -> Result<(), CliError> {
    let program = match std::env::consts::OS {
        "macos" => "open",
        "windows" => "explorer",
        _ => "xdg-open",
    };
    let status = std::process::Command::new(program)
        .arg(url)
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status();
    match status {
        Ok(status) if status.success() => Ok(()),
        _ => Err(
            CliError::failed(format_args!("{program} cannot open {url}."))
                .next("print the address with --print, and open it yourself"),
        ),
    }
}
