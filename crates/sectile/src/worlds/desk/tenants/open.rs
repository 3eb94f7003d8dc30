//! Opens the desk of many tenants.

use std::sync::Arc;

use sectile_library::{
    clock,
    live_folder::{LiveFolderOptions, SecondTierUse},
    manual_page::NoteCut,
    tenants::{OpenTenants, SharedFolderError, TenantFolderOptions},
};
use sectile_mcp::{Surface, WorldSpec};
use sectile_vault::{
    JournalKey, Walk,
    editor::{EditorLimits, EditorOptions},
};

use super::{
    super::{
        DeskSettings, SHOWN_BYTES,
        card::MAX_DOCUMENT_DIFF_BYTES,
        open::{cache_of, preset_spec},
        settings::{DeskRanking, RootSettings, StoreLocation, StoreSettings},
    },
    TenantCopies, TenantDesk, open_store,
};
use crate::worlds::{OpenError, ServeContext, journal_key};

/// Opens the desk on the store that the settings name.
pub(in super::super) fn open(
    context: ServeContext<'_>,
    store: &StoreSettings,
) -> Result<Surface, OpenError> {
    let desk = &context.settings.desk;
    let read_only = context.read_only || desk.read_only;
    let key = journal_key(context.settings.editor.key_file.as_deref(), read_only)?;
    let state = TenantDesk {
        tenants: open_tenants(desk, store, &key, (read_only, true))?,
        default: store.tenant.clone(),
        url_template: desk.url_template.clone(),
    };
    let context = ServeContext {
        read_only,
        ..context
    };
    let spec = WorldSpec {
        has_roots: true,
        shares_by_root: true,
        ..preset_spec(desk.preset, read_only)
    };
    Ok(context.surface_per_call(spec, state))
}

/// Opens the place for the tenants of a store. `background` says whether work may be done that no call waits for.
pub(crate) fn open_tenants(
    desk: &DeskSettings,
    store: &StoreSettings,
    key: &JournalKey,
    (read_only, background): (bool, bool),
) -> Result<OpenTenants, OpenError> {
    let copies = TenantCopies::new(store.copies.clone(), &store.location.identity());
    let limits = EditorLimits {
        max_shown_bytes: SHOWN_BYTES,
        max_diff_bytes: MAX_DOCUMENT_DIFF_BYTES,
        ..EditorLimits::default()
    };
    let editor = EditorOptions {
        limits,
        read_only,
        ..EditorOptions::new(key.clone(), clock::now)
    };
    let cache = desk.cache.clone();
    let shared_vectors = desk.shared_vectors();
    let second_tier = match desk.ranking {
        DeskRanking::Static => SecondTierUse::Unused,
        DeskRanking::Meaning if background => SecondTierUse::Filled,
        DeskRanking::Meaning => SecondTierUse::Read,
    };
    let opening = move |tenant: &str| {
        let held = copies.take(tenant).map_err(SharedFolderError::from)?;
        let location = held.location.clone();
        let index = LiveFolderOptions {
            location: location.clone(),
            walk: Walk::default(),
            cut: NoteCut::Notes,
            max_note_bytes: limits.max_document_bytes,
            cache: cache
                .as_deref()
                .map(|cache| cache_of(cache, &location, &RootSettings::default())),
            shared_vectors: shared_vectors.clone(),
            clock: clock::now,
            second_tier,
        };
        let options = TenantFolderOptions {
            location,
            editor: editor.clone(),
            index,
        };
        let lock: Box<dyn Send + Sync> = Box::new(held.lock);
        Ok((options, lock))
    };
    Ok(OpenTenants::new(
        Arc::clone(&open_store(store)?),
        Box::new(opening),
        store.quota,
        store.max_open,
    ))
}

impl StoreLocation {
    /// Returns a text that tells this store from others. It is hashed and never shown.
    fn identity(&self) -> String {
        match self {
            Self::Postgres(connection) => format!("postgres {}", connection.0.connection),
            Self::Bucket(bucket) => format!(
                "s3 {} {} {} {}",
                bucket.endpoint, bucket.region, bucket.bucket, bucket.prefix
            ),
        }
    }
}
