//! Serves a folder as a note store, for trying out the hosted world.

#![expect(clippy::print_stdout, reason = "says where it listens")]

use std::{net::SocketAddr, path::PathBuf};

use anyhow::{Context as _, bail};
use clap::{Parser, ValueEnum};
use sectile_note_store::{Context, Fault, FrontMatterForm, KINDS, NoteStore, StoreSettings};

/// Serves a folder of notes as the hosted world's upstream store: DIR/<vault>/<user>/<path>.
#[derive(Debug, Parser)]
#[command(name = "sectile-note-store", after_help = faults())]
struct StoreArgs {
    /// The folder of the notes.
    dir: PathBuf,
    /// Address and port to listen on.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7430")]
    listen: SocketAddr,
    /// Fault for the answers for all notes.
    #[arg(long, value_name = "KIND")]
    fault: Option<String>,
    /// The required value of X-Gateway-Auth.
    #[arg(long, value_name = "SECRET")]
    gateway_secret: Option<String>,
    /// The form in which front matter is sent.
    #[arg(long, value_enum, default_value_t = Form::Text)]
    front_matter: Form,
    /// The context of a user in a vault: USER,VAULT,ROLE or USER,VAULT,ROLE,EFFECTIVE-USER. May be given more than once.
    #[arg(long = "context", value_name = "ROW")]
    contexts: Vec<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Form {
    /// As a JSON string.
    Text,
    /// As an object.
    Object,
    /// At the head of the body.
    InBody,
}

fn faults() -> String {
    let row = |(name, what): &(&str, &str)| format!("\n  {name:<24}{what}");
    format!("Faults:{}", KINDS.iter().map(row).collect::<String>())
}

fn context(row: &str) -> anyhow::Result<Context> {
    let parts: Vec<String> = row.split(',').map(str::to_owned).collect();
    let (user, vault, role, effective_user) = match parts.as_slice() {
        [user, vault, role] => (user, vault, role, None),
        [user, vault, role, owner] => (user, vault, role, Some(owner.clone())),
        _ => bail!("--context takes USER,VAULT,ROLE or USER,VAULT,ROLE,EFFECTIVE-USER"),
    };
    Ok(Context {
        user: user.clone(),
        vault: vault.clone(),
        role: role.clone(),
        effective_user,
    })
}

fn main() -> anyhow::Result<()> {
    let args = StoreArgs::parse();
    let fault = match &args.fault {
        Some(name) => {
            Some(Fault::named(name).context("there is no such fault; --help lists them")?)
        }
        None => None,
    };
    let store = NoteStore::start(StoreSettings {
        root: args.dir,
        gateway_secret: args.gateway_secret,
        front_matter: match args.front_matter {
            Form::Text => FrontMatterForm::Text,
            Form::Object => FrontMatterForm::Object,
            Form::InBody => FrontMatterForm::InBody,
        },
        contexts: args
            .contexts
            .iter()
            .map(|row| context(row))
            .collect::<Result<_, _>>()?,
        listen: Some(args.listen),
        forgets: true,
    })
    .context("cannot listen")?;
    store.set_fault(fault);
    println!("notes at {}", store.url());
    store.wait();
    Ok(())
}
