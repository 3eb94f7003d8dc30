//! The command line: one file per command, and one way to end.

mod args;
mod auth;
mod cache;
mod completions;
mod config;
mod connect;
mod demo;
mod desk;
mod docs;
mod doctor;
mod edit;
mod interrupt;
mod line_client;
mod man;
mod notebook;
mod open;
mod progress;
mod reference;
mod root;
mod self_check;
mod serve;
mod servers;
mod settings;
mod structure;
mod tenant;
mod tools;
mod trust;
mod ui;

use std::process::ExitCode;

use self::args::Command;

/// Runs the program with the arguments of this process.
pub fn main() -> ExitCode {
    let args = args::parsed();
    let result = match args.command {
        Command::Serve(args) => serve::run(&args),
        Command::Sections(args) => structure::run("get_section_source", &args),
        Command::Tree(args) => structure::run("get_document_tree", &args),
        Command::Facets(args) => structure::run("get_metadata_facets", &args),
        Command::Edit(args) => edit::run(&args),
        Command::Search(args) => desk::search(&args),
        Command::Fetch(args) => desk::fetch(&args),
        Command::Outline(args) => desk::outline(&args),
        Command::Links(args) => desk::links(&args),
        Command::Changes(args) => desk::changes(&args),
        Command::Verify(args) => desk::verify(&args),
        Command::Create(args) => desk::create(&args),
        Command::Set(args) => desk::set(&args),
        Command::Rename(args) => desk::rename(&args),
        Command::Delete(args) => desk::delete(&args),
        Command::Undo(args) => desk::undo(&args),
        Command::Open(args) => open::run(&args),
        Command::Cache(args) => cache::run(&args),
        Command::Trust(args) => trust::run(&args),
        Command::Tenant(args) => tenant::run(&args),
        Command::Tools(args) => tools::run(&args),
        Command::Auth(args) => auth::run(&args),
        Command::Docs(args) => docs::run(&args),
        Command::Notebook(args) => notebook::run(&args),
        Command::Reference(args) => reference::run(&args),
        Command::Config(args) => config::run(&args),
        Command::Connect(args) => connect::run(&args),
        Command::Disconnect(args) => connect::disconnect(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::SelfCheck(args) => self_check::run(&args),
        Command::Demo => demo::run(),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.report(),
    }
}
