//! The manifest of an index may hold anything: it is refused, or its content survives being written again.

#![no_main]

use std::{fs, path::PathBuf, sync::OnceLock};

use libfuzzer_sys::fuzz_target;
use sectile_markdown::Digest;
use sectile_retrieval::{DocumentLocation, Manifest, ManifestEntry, Store};

/// Returns the folder for the whole run.
fn folder() -> &'static PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("sectile-fuzz-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        folder
    })
}

fuzz_target!(
    |data: (&[u8], &str, Vec<(&str, [u64; 4], u32)>, Vec<(u32, u8)>)| {
        let (bytes, name, entries, damages) = data;
        let path = folder().join("manifest");
        let store = Store::make_at(folder()).expect("a store");
        fs::write(&path, bytes).expect("a file");
        let _ = store.read(None);
        let manifest = Manifest {
            name: name.to_owned(),
            made_at: -1,
            segments: Vec::new(),
            entries: entries
                .into_iter()
                .map(|(name, stamp, document)| ManifestEntry {
                    name: name.to_owned(),
                    stamp,
                    digest: Digest::of(name.as_bytes()),
                    place: DocumentLocation {
                        segment: 0,
                        document: document as usize,
                    },
                })
                .collect(),
        };
        let writer = store.writer().expect("the only writer");
        writer.commit(&manifest).expect("a manifest");
        let stored = store.read(None).expect("an index").expect("a manifest");
        assert_eq!(stored.manifest, manifest);
        // All segments are empty, so nothing is found.
        assert_eq!(stored.corpus().len(), 0);
        let mut damaged = fs::read(&path).expect("a file");
        for (at, flip) in damages {
            let at = at as usize % damaged.len();
            damaged[at] ^= flip;
        }
        fs::write(&path, damaged).expect("a file");
        if let Ok(Some(stored)) = store.read(None) {
            assert_eq!(stored.manifest, manifest, "damage that nobody noticed");
        }
    }
);
