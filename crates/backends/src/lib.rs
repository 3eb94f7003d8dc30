//! Storages that are servers: notebooks, artifacts, indexes and tenants' folders in object storage and PostgreSQL, and indexes
//! in vector services.
//!
//! Each implements a trait of `sectile-library`, and callers know nothing else about it. All of them are called from
//! threads that may block; the waiting itself happens on a runtime of this crate (`BlockingRuntime`).
//!
//! Without the feature `servers` only the settings remain: a program that leaves the storages out still reads the same
//! settings.

#[cfg(feature = "servers")]
mod indexes;
#[cfg(feature = "servers")]
mod objects;
#[cfg(feature = "servers")]
mod postgres;
#[cfg(feature = "servers")]
mod runtime;
#[cfg(feature = "servers")]
mod services;
mod settings;

pub use self::settings::{
    IndexBucketSettings, PostgresSettings, S3Credentials, S3Settings, S3Style, ServiceKind,
    ServiceSettings,
};
#[cfg(feature = "servers")]
pub use self::{
    indexes::BucketIndexes,
    objects::{
        Blob, BlobError, BlobInfo, BlobPage, BlobStore, ConditionalRead, CreateOutcome, ETag,
        ObjectError, ObjectStorage, ObjectTenants, ReplaceOutcome,
    },
    postgres::{Postgres, PostgresTenants},
    runtime::BlockingRuntime,
    services::vector_service,
};
