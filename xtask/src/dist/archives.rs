//! Archives that depend on nothing but the names, modes and bytes of their files.

use std::io::{Cursor, Write as _};

use anyhow::Result;
use flate2::{Compression, GzBuilder};
use zip::write::SimpleFileOptions;

/// A file that goes into an archive or a package.
#[derive(Clone, Debug)]
pub(super) struct PackedFile {
    pub(super) path: String,
    pub(super) bytes: Vec<u8>,
    pub(super) is_program: bool,
}

impl PackedFile {
    pub(super) fn new(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            path: path.into(),
            bytes: bytes.into(),
            is_program: false,
        }
    }

    pub(super) fn program(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            is_program: true,
            ..Self::new(path, bytes)
        }
    }

    pub(super) fn mode(&self) -> u32 {
        if self.is_program { 0o755 } else { 0o644 }
    }
}

/// Returns a compressed tar archive of the files, below `folder`.
pub(super) fn tar_gz(folder: &str, files: &[PackedFile], time: u64) -> Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    for file in sorted(files) {
        let mut header = tar::Header::new_ustar();
        header.set_size(file.bytes.len() as u64);
        header.set_mode(file.mode());
        header.set_mtime(time);
        header.set_uid(0);
        header.set_gid(0);
        let path = format!("{folder}/{}", file.path);
        archive.append_data(&mut header, path, file.bytes.as_slice())?;
    }
    gz(&archive.into_inner()?)
}

/// Returns compressed bytes, with neither a name nor a time.
pub(super) fn gz(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzBuilder::new().write(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

/// Returns a zip archive of the files. Its times are those of 1980-01-01, with which the format begins.
pub(super) fn zip(files: &[PackedFile]) -> Result<Vec<u8>> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for file in sorted(files) {
        let options = SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Deflated)
            .compression_level(Some(9))
            .last_modified_time(zip::DateTime::default())
            .unix_permissions(file.mode());
        archive.start_file(&file.path, options)?;
        archive.write_all(&file.bytes)?;
    }
    Ok(archive.finish()?.into_inner())
}

fn sorted(files: &[PackedFile]) -> Vec<&PackedFile> {
    let mut files: Vec<&PackedFile> = files.iter().collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_do_not_depend_on_the_order_of_their_files() {
        let files = [
            PackedFile::new("b/read-me", "text"),
            PackedFile::program("a", vec![0, 159, 146]),
        ];
        let mut turned = files.clone();
        turned.reverse();
        assert_eq!(
            tar_gz("x", &files, 7).unwrap(),
            tar_gz("x", &turned, 7).unwrap()
        );
        assert_eq!(zip(&files).unwrap(), zip(&turned).unwrap());
        let mut archive = zip::ZipArchive::new(Cursor::new(zip(&files).unwrap())).unwrap();
        assert_eq!(archive.by_index(0).unwrap().unix_mode(), Some(0o100_755));
        let bytes = tar_gz("x", &files, 7).unwrap();
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(bytes.as_slice()));
        let entries = archive.entries().unwrap().map(|entry| {
            let entry = entry.unwrap();
            let header = entry.header();
            (
                entry.path().unwrap().into_owned(),
                header.mode().unwrap(),
                header.mtime().unwrap(),
            )
        });
        let expected = [("x/a".into(), 0o755, 7), ("x/b/read-me".into(), 0o644, 7)];
        assert_eq!(entries.collect::<Vec<_>>(), expected);
    }
}
