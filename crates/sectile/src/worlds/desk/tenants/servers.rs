//! Opens the store that the settings name.

use std::sync::Arc;

use sectile_backends::{BlockingRuntime, ObjectTenants, PostgresTenants};
use sectile_library::tenants::TenantStore;

use super::super::settings::{StoreLocation, StoreSettings};
use crate::worlds::OpenError;

/// Opens the store. Connections are made when they are needed.
pub(crate) fn open_store(settings: &StoreSettings) -> Result<Arc<dyn TenantStore>, OpenError> {
    let waiting = BlockingRuntime::new()?;
    match &settings.location {
        StoreLocation::Postgres(connection) => {
            let store = PostgresTenants::new(&connection.0, waiting);
            Ok(Arc::new(store.map_err(OpenError::failed)?))
        }
        StoreLocation::Bucket(bucket) => {
            let store = ObjectTenants::s3(bucket, waiting).map_err(|problem| {
                OpenError::failed(format_args!("the bucket cannot be used: {problem}."))
                    .next("correct desk.store in the settings file")
            })?;
            Ok(Arc::new(store))
        }
    }
}
