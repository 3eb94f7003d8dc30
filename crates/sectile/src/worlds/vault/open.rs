//! Opens the vault world.

use sectile_mcp::Surface;

use super::{VaultWorld, spec};
use crate::worlds::{OpenError, PathArgument, ServeContext, WorldEntry};

pub(crate) static ENTRY: WorldEntry = WorldEntry {
    name: "vault",
    about: "Structure of the notes in a folder, never their text",
    path: PathArgument::NearestRoot("vault.root", |settings| &mut settings.vault.root),
    is_http_only: false,
    error_setting: None,
    card: |_| spec().card(),
    open,
};

fn open(mut context: ServeContext<'_>) -> Result<Option<Surface>, OpenError> {
    let settings = &context.settings.vault;
    let Some(root) = &settings.root else {
        return context.without_folder(ENTRY.name);
    };
    let state = VaultWorld::open(root, settings.max_note_bytes).map_err(|error| {
        OpenError::failed(format_args!("the vault cannot be served: {error}."))
            .next("give the folder of your notes: sectile serve vault DIR")
    })?;
    context.limits.inline_when_alone &= state.is_on_local_disk();
    Ok(Some(context.surface(spec(), state)))
}
