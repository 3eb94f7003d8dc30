//! `sectile auth`: the API keys that clients sign in with over HTTP.

use std::path::PathBuf;

use jiff::Timestamp;
use sectile_mcp::access::{API_KEY_HEADER, KeyFile, KeyHolder};
use serde_json::{Value, json};

use super::{
    args::{AddKeyArgs, AuthArgs, AuthCommand, KeysLocation},
    settings::folder_of,
    ui::{CliError, DIM, GOOD, HEADING, StyledText, aligned, print, tell, visible},
};
use crate::{
    config::{self, AccessSettings},
    files,
};

/// Printed after every change.
const RELOAD: &str = "A running server reloads its keys on SIGHUP: kill -HUP PID\n";

pub(super) fn run(args: &AuthArgs) -> Result<(), CliError> {
    match &args.command {
        AuthCommand::AddKey(args) => add_key(args),
        AuthCommand::List { place, json } => list(place, *json),
        AuthCommand::Revoke { id, place } => revoke(id, place),
    }
}

fn add_key(args: &AddKeyArgs) -> Result<(), CliError> {
    let file = keys_file(&args.place)?;
    let holder = KeyHolder {
        user: args.user.clone(),
        role: args.role.into(),
        vaults: args.vaults.clone(),
        roots: Some(args.roots.clone()).filter(|roots| !roots.is_empty()),
    };
    let key = files::update(&file, |text| {
        let mut keys = match text {
            Some(text) if !text.trim().is_empty() => parse(&text)?,
            _ => KeyFile::default(),
        };
        let key = keys.add(holder, &now());
        let key = key.map_err(|problem| {
            CliError::failed(format_args!("the key cannot be created: {problem}."))
        })?;
        Ok::<_, CliError>((keys.to_text(), key))
    })?;
    print(format_args!("{}\n", key.text.reveal()))?;
    let id = StyledText(HEADING, &key.id);
    tell(format_args!(
        "{} key {id}. It is shown only once; the file does not contain it.\n\
         Clients send it as `{API_KEY_HEADER}: KEY`, or as `Authorization: Bearer KEY`.\n{RELOAD}",
        StyledText(GOOD, "added"),
    ));
    Ok(())
}

fn list(place: &KeysLocation, json: bool) -> Result<(), CliError> {
    let keys = read(place)?;
    if json {
        let rows: Vec<Value> = keys
            .entries()
            .map(|key| {
                let mut row = json!({
                    "id": key.id,
                    "user": key.holder.user,
                    "role": key.holder.role.name(),
                    "vaults": key.holder.good_for(),
                    "created": key.created,
                    "revoked": key.revoked,
                });
                if let Some(roots) = &key.holder.roots {
                    row["roots"] = json!(roots);
                }
                row
            })
            .collect();
        return print(format_args!("{}\n", Value::Array(rows)));
    }
    let rows: Vec<(String, String)> = keys
        .entries()
        .map(|key| {
            let state = match key.revoked {
                Some(at) => format!("revoked {at}"),
                None => format!("since {}", key.created),
            };
            let user = visible(&key.holder.user);
            let vaults = visible(&key.holder.good_for().join(", "));
            let roots = match &key.holder.roots {
                Some(roots) => format!("  only {}", visible(&roots.join(", "))),
                None => String::new(),
            };
            let text = format!(
                "{:<9} {user}  {vaults}{roots}  {}",
                key.holder.role.name(),
                StyledText(DIM, state)
            );
            (key.id.to_owned(), text)
        })
        .collect();
    match rows.is_empty() {
        true => print("There are no keys.\n"),
        false => print(aligned(&rows)),
    }
}

fn revoke(id: &str, place: &KeysLocation) -> Result<(), CliError> {
    // Reading first ensures that a missing file is not created.
    read(place)?;
    files::update(&keys_file(place)?, |text| {
        let mut keys = parse(&text.unwrap_or_default())?;
        if !keys.revoke(id, &now()) {
            return Err(
                CliError::failed("no key has this id.").next("`sectile auth list` shows the ids")
            );
        }
        Ok((keys.to_text(), ()))
    })?;
    print(format_args!(
        "{} {}\n",
        StyledText(GOOD, "revoked"),
        visible(id)
    ))?;
    tell(RELOAD);
    Ok(())
}

fn read(place: &KeysLocation) -> Result<KeyFile, CliError> {
    match files::read_text(&keys_file(place)?)? {
        Some(text) => parse(&text),
        None => Err(CliError::failed("there is no key file yet.")
            .next("create a key: sectile auth add-key --user USER")),
    }
}

fn parse(text: &str) -> Result<KeyFile, CliError> {
    KeyFile::parse(text)
        .map_err(|problem| CliError::failed(format_args!("the key file is damaged: {problem}.")))
}

/// Returns the file of keys. The rest of the settings need not be valid: they may be invalid only because this file is
/// missing.
fn keys_file(place: &KeysLocation) -> Result<PathBuf, CliError> {
    if let Some(file) = &place.file {
        return Ok(file.clone());
    }
    let settings = place.config.clone().or_else(config::named_config_file);
    let loaded = config::load(settings.as_deref(), &[])?;
    let file = AccessSettings::keys_file(&loaded, &folder_of(settings.as_deref()));
    file.ok_or_else(|| {
        CliError::usage("no key file is given.")
            .next("give --file KEYS, or set server.auth.keys_file in the settings file")
    })
}

/// Returns the current time, to the second.
fn now() -> String {
    format!("{:.0}", Timestamp::now())
}
