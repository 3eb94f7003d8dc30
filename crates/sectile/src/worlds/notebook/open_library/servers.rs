//! Storages on servers: S3, PostgreSQL and vector services.

use std::sync::Arc;

use sectile_backends::{
    BlockingRuntime, BucketIndexes, IndexBucketSettings, ObjectStorage, Postgres, PostgresSettings,
    S3Settings, ServiceSettings, vector_service,
};
use sectile_library::{VectorIndexing, mirror::IndexPublishing, tiers::Models};

use super::{Bucket, OpenError};

/// Opens storages on servers. All of them share one runtime.
pub(super) struct Servers(BlockingRuntime);

impl Servers {
    pub(super) fn new() -> Result<Self, OpenError> {
        Ok(Self(BlockingRuntime::new()?))
    }

    pub(super) fn bucket(&self, settings: &S3Settings) -> Result<Bucket, OpenError> {
        let objects = ObjectStorage::s3(settings, self.0.clone()).map_err(|problem| {
            OpenError::failed(format_args!("the bucket cannot be used: {problem}."))
                .next("correct the storage in the settings file")
        })?;
        let objects = Arc::new(objects);
        Ok((Arc::<ObjectStorage>::clone(&objects), objects))
    }

    pub(super) fn indexes(
        &self,
        settings: &IndexBucketSettings,
    ) -> Result<Arc<dyn IndexPublishing>, OpenError> {
        let opened = BucketIndexes::new(settings, self.0.clone()).map_err(|problem| {
            OpenError::failed(format_args!(
                "the bucket of the indexes cannot be used: {problem}."
            ))
            .next("correct [notebook.vector_storage] in the settings file")
        });
        Ok(Arc::new(opened?))
    }

    pub(super) fn database(
        &self,
        settings: &PostgresSettings,
    ) -> Result<Arc<dyn VectorIndexing>, OpenError> {
        let opened = Postgres::new(settings, self.0.clone(), models()?);
        Ok(Arc::new(opened.map_err(OpenError::failed)?))
    }

    pub(super) fn service(
        &self,
        settings: &ServiceSettings,
    ) -> Result<Arc<dyn VectorIndexing>, OpenError> {
        let opened = vector_service(settings, self.0.clone(), models()?);
        opened.map_err(OpenError::failed)
    }
}

fn models() -> Result<Models, OpenError> {
    Models::built_in().map_err(|error| {
        OpenError::failed(format_args!("the embedding model cannot be used: {error}."))
    })
}
