//! Opens the notebook world.

use std::sync::Arc;

use sectile_library::clock;
use sectile_mcp::Surface;

use super::{NotebookWorld, OpenLibrary, limits::Limit, spec};
use crate::worlds::{OpenError, PathArgument, ServeContext, WorldEntry};

pub(crate) static ENTRY: WorldEntry = WorldEntry {
    name: "notebook",
    about: "A read-only library of notebooks, by collection, whose quotes can be checked",
    path: PathArgument::Root("notebook.root"),
    is_http_only: false,
    error_setting: None,
    card: |_| spec(&super::Constraints::default()).card(),
    open,
};

fn open(context: ServeContext<'_>) -> Result<Option<Surface>, OpenError> {
    let settings = &context.settings.notebook;
    if !settings.is_configured() {
        return context.without_folder(ENTRY.name);
    }
    let opened = OpenLibrary::of(settings)?;
    let limits = settings.storage_limits.iter();
    let limits = limits.chain(
        context
            .server_limits
            .iter()
            .map(|(name, value)| (name, value)),
    );
    let mut world = NotebookWorld::new(
        Arc::clone(&opened.library),
        opened.indexes(None),
        settings.constraints,
        clock::now,
    )
    .within(limits.map(limit).collect());
    if let Some(secret) = &settings.shared_secret {
        let unusable =
            || OpenError::failed("no key can be derived from notebook.shared_secret_file.");
        world = world.sharing(secret).ok_or_else(unusable)?;
    }
    Ok(Some(context.surface(spec(&settings.constraints), world)))
}

/// Returns a limit that the server enforces, not this world.
fn limit((name, value): (&String, &u64)) -> Limit {
    Limit {
        value: *value,
        name: name.clone().into(),
        bounds: "the setting of this name; see the manual".into(),
    }
}
