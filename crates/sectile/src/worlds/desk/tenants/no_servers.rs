//! The stand-in for `servers.rs` in a build without the feature `backends`, which knows the settings of the stores but
//! cannot open any.

use std::sync::Arc;

use sectile_library::tenants::TenantStore;

use super::super::settings::StoreSettings;
use crate::worlds::OpenError;

/// Refuses to open a store.
pub(crate) fn open_store(_: &StoreSettings) -> Result<Arc<dyn TenantStore>, OpenError> {
    Err(OpenError::failed(
        "this build of sectile does not include stores of tenants; build it with `--features backends`, or use a release.",
    ))
}
