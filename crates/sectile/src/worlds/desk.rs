//! The `desk` world: folders of notes to search, read and edit, with eleven tools and one kind of id.
//!
//! The work is done by `sectile_library` and `sectile_vault`; this is their contract: arguments, answers, errors.

mod answers;
mod card;
mod console;
mod describe;
mod diffs;
mod errors;
mod explained_search;
mod fetched;
mod fields;
mod lists;
mod memory;
mod open;
mod paging;
mod passages;
mod prompts;
mod quotes;
mod resources;
mod roots;
mod search_page;
mod settings;
mod shell;
mod since;
mod skills;
mod tenants;
mod text_page;
mod tools;
mod urls;

use sectile_mcp::WorldSpec;

use self::roots::DeskRoot;
pub(crate) use self::{
    explained_search::ExplainedRequest,
    open::{ENTRY, open_for_shell, open_without_settings},
    settings::{DeskSection, DeskSettings},
    shell::error_object,
    tenants::open_store,
};

/// Longest text in bytes that is shown at once with the default budget. A longer one is replaced only by a caller that has
/// read all of it.
const SHOWN_BYTES: usize = 32 << 10;

/// State of the world.
pub(crate) struct DeskWorld {
    /// The roots, sorted by name.
    roots: Vec<DeskRoot>,
}

/// The contract of the world.
pub(crate) fn spec() -> WorldSpec<DeskWorld> {
    WorldSpec {
        tools: tools::table(),
        describe: Some(describe::describe),
        resources: resources::of(false),
        prompts: prompts::table(),
        skills: Some(skills::SKILLS),
        complete: Some(prompts::complete),
        console: Some(console::console()),
        sessions: true,
        has_roots: true,
        lenient_scalars: true,
        argument_errors: Some(&errors::INVALID_ARGUMENTS),
        ..WorldSpec::new(
            "desk",
            describe::INSTRUCTIONS,
            errors::envelope,
            errors::list,
        )
    }
}
