//! The stand-in for `servers.rs` in a build without the feature `backends`, which knows the settings of the storages but
//! cannot open any.

use std::sync::Arc;

use sectile_backends::{IndexBucketSettings, PostgresSettings, S3Settings, ServiceSettings};
use sectile_library::{VectorIndexing, mirror::IndexPublishing};

use super::{Bucket, OpenError};

const LEFT_OUT: &str = "this build of sectile does not include storage on servers; build it with `--features backends`, or \
     use a release.";

/// Refuses to open storages that are servers.
pub(super) struct Servers;

impl Servers {
    pub(super) fn new() -> Result<Self, OpenError> {
        Ok(Self)
    }

    pub(super) fn bucket(&self, _: &S3Settings) -> Result<Bucket, OpenError> {
        Err(left_out())
    }

    pub(super) fn indexes(
        &self,
        _: &IndexBucketSettings,
    ) -> Result<Arc<dyn IndexPublishing>, OpenError> {
        Err(left_out())
    }

    pub(super) fn database(
        &self,
        _: &PostgresSettings,
    ) -> Result<Arc<dyn VectorIndexing>, OpenError> {
        Err(left_out())
    }

    pub(super) fn service(
        &self,
        _: &ServiceSettings,
    ) -> Result<Arc<dyn VectorIndexing>, OpenError> {
        Err(left_out())
    }
}

fn left_out() -> OpenError {
    OpenError::failed(LEFT_OUT)
}
