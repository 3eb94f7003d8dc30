//! Messages of a build without the feature `backends` about the storages that it lacks.
#![expect(clippy::disallowed_methods, reason = "tests make the files")]

use std::fs;

use super::open;

const LEFT_OUT: &str = "this build of sectile does not include storage on servers; build it with `--features \
                        backends`, or use a release.";

#[test]
fn storages_that_were_left_out_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("notes")).unwrap();
    let file = folder.path().join("sectile.toml");
    let opened = |settings: &str| {
        fs::write(&file, settings).unwrap();
        open(&file).map_err(|error| error.message().to_owned())
    };
    let s3 = "s3.endpoint = 'https://storage.test'\npath = 'bucket'\n";
    for settings in [
        format!("[notebook.notebook_storage]\ntype = 's3'\n{s3}"),
        format!("[notebook.notebook_storage]\ntype = 'supabase'\n{s3}"),
        format!("[notebook]\nroot = 'notes'\n[notebook.artifact_storage]\ntype = 's3'\n{s3}"),
        "[notebook]\nroot = 'notes'\n[notebook.vector_storage]\ntype = 'pgvector'\n\
         connection = 'postgres://reader@storage.test/library'\n"
            .to_owned(),
        "[notebook]\nroot = 'notes'\n[notebook.vector_storage]\ntype = 'weaviate'\n\
         url = 'https://storage.test'\n"
            .to_owned(),
    ] {
        assert_eq!(
            opened(&settings).err().as_deref(),
            Some(LEFT_OUT),
            "{settings}"
        );
    }
    assert!(opened("[notebook]\nroot = 'notes'\n").is_ok());
}
