//! The same in a build without the feature `backends`: it knows the settings of the storages, but has none of them.

use std::sync::Arc;

use sectile_backends::{PostgresSettings, S3Settings};
use sectile_library::VectorIndexing;

use super::{Bucket, CliError};

const LEFT_OUT: &str = "this build of sectile has no S3 or PostgreSQL storages; build it with `--features backends`, or use \
     a release.";

/// Refuses to open storages that are servers.
pub(super) struct Servers;

impl Servers {
    pub(super) fn new() -> Result<Self, CliError> {
        Ok(Self)
    }

    pub(super) fn bucket(&self, _: &S3Settings) -> Result<Bucket, CliError> {
        Err(left_out())
    }

    pub(super) fn database(
        &self,
        _: &PostgresSettings,
    ) -> Result<Arc<dyn VectorIndexing>, CliError> {
        Err(left_out())
    }
}

fn left_out() -> CliError {
    CliError::failed(LEFT_OUT)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests make the files")]

    use std::fs;

    use super::{super::Opened, LEFT_OUT};

    #[test]
    fn storages_that_were_left_out_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("notes")).unwrap();
        let s3 = "s3.endpoint = 'https://storage.test'\npath = 'bucket'\n";
        for storage in [
            format!("[notebook.notebook_storage]\ntype = 's3'\n{s3}"),
            format!("[notebook.notebook_storage]\ntype = 'supabase'\n{s3}"),
            format!("[notebook]\nroot = 'notes'\n[notebook.artifact_storage]\ntype = 's3'\n{s3}"),
            "[notebook]\nroot = 'notes'\n[notebook.vector_storage]\ntype = 'pgvector'\n\
             connection = 'postgres://reader@storage.test/library'\n"
                .to_owned(),
        ] {
            let file = folder.path().join("sectile.toml");
            fs::write(&file, &storage).unwrap();
            let refused = Opened::at(&file).err();
            let message = refused.as_ref().map(|error| error.message());
            assert_eq!(message, Some(LEFT_OUT), "{storage}");
        }
        let file = folder.path().join("sectile.toml");
        fs::write(&file, "[notebook]\nroot = 'notes'\n").unwrap();
        assert!(Opened::at(&file).is_ok());
    }
}
