//! `sectile tenant`: the tenants of a desk that several servers share.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::{Args as ClapArgs, Subcommand};
use sectile_library::tenants::{
    self, FolderImport, SharedFolderError, TenantError, TenantQuota, TenantStore, TransferReport,
    create_if_missing,
};
use sectile_vault::{Root, Walk};
use serde_json::json;

use super::{
    interrupt::Interrupt,
    settings::settings,
    ui::{CliError, DIM, GOOD, NAME, StyledText, counted, note, print, visible},
};
use crate::{
    config::Settings,
    files,
    worlds::{desk::open_store, journal_key},
};

/// The age below which `clean` keeps what nothing needs: longer than any server takes to read a state.
const CLEAN_AGE: u64 = 86_400;
/// The most paths that are listed as left out.
const MAX_SHOWN: usize = 10;

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
The store is the one that [desk.store] in the settings names.

Examples:
  sectile tenant create acme --config sectile.toml
  sectile tenant import acme ~/notes --config sectile.toml     with history and ids
  sectile tenant list --config sectile.toml
  sectile tenant export acme backup --config sectile.toml")]
pub(super) struct TenantArgs {
    #[command(subcommand)]
    command: TenantCommand,
    /// Settings file [default: the one named by SECTILE_CONFIG, if any].
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    /// Print JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum TenantCommand {
    /// Create or migrate what the store needs for tenants.
    Prepare,
    /// List the tenants.
    List,
    /// Create a tenant without documents.
    Create {
        /// Its name: 1 to 32 lower-case letters, digits, - and _.
        name: String,
    },
    /// Fill a tenant with the files of a folder, with history and ids; it is created if needed.
    Import {
        /// Its name.
        name: String,
        /// The folder.
        folder: PathBuf,
    },
    /// Write the files of a tenant into a folder, with history and ids.
    Export {
        /// Its name.
        name: String,
        /// The folder, which is created. An existing one must be empty.
        folder: PathBuf,
    },
    /// Remove a tenant with its documents and its history, for good.
    Remove {
        /// Its name.
        name: String,
        /// Confirm that everything is removed.
        #[arg(long)]
        yes: bool,
    },
    /// Remove what the store keeps of a tenant and nothing needs any more.
    Clean {
        /// Its name.
        name: String,
        /// Seconds for which such things are kept at least.
        #[arg(long, value_name = "SECONDS", default_value_t = CLEAN_AGE)]
        min_age: u64,
    },
}

pub(super) fn run(args: &TenantArgs) -> Result<(), CliError> {
    let settings = settings(args.config.as_deref())?;
    let store = settings.worlds.desk.store.as_ref().ok_or_else(|| {
        CliError::usage("the settings name no store of tenants.")
            .next("set desk.store.type in the settings file, and name the file with --config")
    })?;
    let quota = store.quota;
    let store = open_store(store)?;
    let interrupt = Interrupt::listen(|| {})?;
    let stop = || interrupt.is_wanted();
    match &args.command {
        TenantCommand::Prepare => {
            store.prepare().map_err(CliError::failed)?;
            said(
                args,
                json!({ "prepared": true }),
                "The store is ready for tenants.",
            )
        }
        TenantCommand::List => list(args, &store, &stop),
        TenantCommand::Create { name } => {
            store.prepare().map_err(CliError::failed)?;
            match create_if_missing(&*store, name).map_err(|error| failed(&error, name))? {
                true => said(
                    args,
                    json!({ "created": name }),
                    &format!("{name} created."),
                ),
                false => Err(CliError::failed(format_args!("{name} exists already."))),
            }
        }
        TenantCommand::Import { name, folder } => {
            import(args, (&store, quota), (name, folder), &stop)
        }
        TenantCommand::Export { name, folder } => {
            export(args, &settings, &store, (name, folder), &stop)
        }
        TenantCommand::Remove { name, yes } => {
            if !yes {
                return Err(CliError::usage(format_args!(
                    "{} and its history would be removed for good.",
                    visible(name)
                ))
                .next("add --yes; `sectile tenant export` makes a copy first"));
            }
            let removed = store.remove(name, &stop);
            removed.map_err(|error| failed(&error, name))?;
            said(
                args,
                json!({ "removed": name }),
                &format!("{name} removed."),
            )
        }
        TenantCommand::Clean { name, min_age } => {
            let cleaned = store.clean(name, *min_age, &stop);
            let cleaned = cleaned.map_err(|error| failed(&error, name))?;
            let text = format!("{} removed.", counted_u64(cleaned, "object", "objects"));
            said(args, json!({ "tenant": name, "removed": cleaned }), &text)
        }
    }
}

fn list(
    args: &TenantArgs,
    store: &Arc<dyn TenantStore>,
    stop: &dyn Fn() -> bool,
) -> Result<(), CliError> {
    let tenants = store.tenants(stop).map_err(CliError::failed)?;
    if args.json {
        let listed = tenants.iter().map(|tenant| {
            json!({
                "name": tenant.name, "files": tenant.files, "bytes": tenant.bytes,
                "revision": tenant.revision,
            })
        });
        let listed: Vec<_> = listed.collect();
        return print(format_args!("{}\n", json!({ "tenants": listed })));
    }
    for tenant in &tenants {
        let size = format!(
            "{}, {} bytes",
            counted_u64(tenant.files, "file", "files"),
            tenant.bytes
        );
        print(format_args!(
            "{}  {}\n",
            StyledText(NAME, visible(&tenant.name)),
            StyledText(DIM, size)
        ))?;
    }
    match tenants.is_empty() {
        true => note("There are no tenants. Create one with `sectile tenant create NAME`."),
        false => Ok(()),
    }
}

fn import(
    args: &TenantArgs,
    (store, quota): (&Arc<dyn TenantStore>, TenantQuota),
    (name, folder): (&str, &Path),
    stop: &dyn Fn() -> bool,
) -> Result<(), CliError> {
    let root = Root::open(folder)
        .map_err(|error| CliError::failed(format_args!("{}: {error}.", folder.display())))?;
    let import = FolderImport::new(&root, &Walk::default(), quota, stop);
    let import = import.map_err(|error| not_transferred(&error, name))?;
    store.prepare().map_err(CliError::failed)?;
    create_if_missing(&**store, name).map_err(|error| failed(&error, name))?;
    let report = import.run(&**store, name, stop);
    let report = report.map_err(|error| not_transferred(&error, name))?;
    transferred(args, name, "imported", &report)
}

fn export(
    args: &TenantArgs,
    settings: &Settings,
    store: &Arc<dyn TenantStore>,
    (name, folder): (&str, &Path),
    stop: &dyn Fn() -> bool,
) -> Result<(), CliError> {
    // A name without a tenant leaves no folder behind.
    let revision = store.revision(name, stop);
    revision.map_err(|error| failed(&error, name))?;
    let unusable = |error: std::io::Error| {
        let reason = files::reason(error.kind());
        CliError::failed(format_args!("{}: {reason}.", folder.display()))
    };
    files::make_private_folder(folder).map_err(unusable)?;
    if !files::list(folder).map_err(unusable)?.is_empty() {
        return Err(
            CliError::usage(format_args!("{} is not empty.", folder.display()))
                .next("name a folder that does not exist yet"),
        );
    }
    let key = journal_key(settings.worlds.editor.key_file.as_deref(), false)?;
    let report = tenants::export(&**store, name, folder, key, stop);
    let report = report.map_err(|error| not_transferred(&error, name))?;
    transferred(args, name, "exported", &report)
}

fn transferred(
    args: &TenantArgs,
    name: &str,
    verb: &str,
    report: &TransferReport,
) -> Result<(), CliError> {
    let text = format!(
        "{} of {name} {verb}, {} bytes.",
        counted_u64(report.files, "file", "files"),
        report.bytes
    );
    let answer = json!({
        "tenant": name, "files": report.files, "bytes": report.bytes, "left_out": report.left_out,
    });
    said(args, answer, &text)?;
    if !args.json {
        for path in report.left_out.iter().take(MAX_SHOWN) {
            note(&format!(
                "left out, too large or not readable: {}",
                visible(path)
            ))?;
        }
        if let Some(more @ 1..) = report.left_out.len().checked_sub(MAX_SHOWN) {
            note(&format!("and {}", counted(more, "more file", "more files")))?;
        }
    }
    Ok(())
}

fn said(args: &TenantArgs, answer: serde_json::Value, text: &str) -> Result<(), CliError> {
    match args.json {
        true => print(format_args!("{answer}\n")),
        false => print(format_args!("{}\n", StyledText(GOOD, text.to_owned()))),
    }
}

fn failed(error: &TenantError, name: &str) -> CliError {
    match error {
        TenantError::NotFound => {
            CliError::failed(format_args!("there is no tenant `{}`.", visible(name)))
                .next("sectile tenant list")
        }
        error => CliError::failed(error),
    }
}

fn not_transferred(error: &SharedFolderError, name: &str) -> CliError {
    match error {
        SharedFolderError::NotFound => failed(&TenantError::NotFound, name),
        SharedFolderError::Busy => {
            CliError::failed(format_args!("`{}` was changed meanwhile.", visible(name)))
                .next("run the command again")
        }
        error @ SharedFolderError::OverQuota { .. } => CliError::failed(format_args!(
            "over_quota: {error}"
        ))
        .next("raise desk.store.max_files or desk.store.max_bytes in the settings, or import less"),
        error => CliError::failed(error),
    }
}

fn counted_u64(count: u64, one: &str, many: &str) -> String {
    counted(usize::try_from(count).unwrap_or(usize::MAX), one, many)
}
