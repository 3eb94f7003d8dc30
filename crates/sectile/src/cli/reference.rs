//! `sectile reference`: pages of the manual that are generated from the program's own tables.
//!
//! Nothing that a table knows is repeated here. A new world, tool, setting or error code appears by itself.

mod configuration;
mod errors;
mod page;
mod schema;
mod tools;

use super::{
    args::{ReferenceArgs, ReferencePage},
    ui::{CliError, print},
};
use crate::worlds;

pub(super) fn run(args: &ReferenceArgs) -> Result<(), CliError> {
    print(text(args.page))
}

/// Returns one page as Markdown.
fn text(page: ReferencePage) -> String {
    match page {
        ReferencePage::Tools => tools::page(&worlds::cards()),
        ReferencePage::Errors => errors::page(&worlds::cards()),
        ReferencePage::Configuration => configuration::page(),
    }
}

#[cfg(test)]
mod tests;
