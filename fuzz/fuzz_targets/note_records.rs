//! Records of notes in a cache may hold anything: they are refused, or are records of no more parts than there are bytes.
//! Those of real notes come back as they were.

#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use sectile_library::{
    NotebookStamp,
    live_folder::{NoteRecord, decode_records, encode_records},
};
use sectile_vault::NotePath;

fn check(bytes: &[u8]) {
    let Ok(records) = decode_records(bytes) else {
        return;
    };
    let parts = |note: &NoteRecord| {
        let properties = &note.properties;
        let values = properties.fields.iter().map(|field| field.values.len());
        let uses = note.links.iter().map(|link| link.uses.len());
        note.links.len()
            + note.headings.len()
            + note.blocks.len()
            + note.html_ids.len()
            + properties.tags.len()
            + properties.aliases.len()
            + properties.tasks.len()
            + values.sum::<usize>()
            + uses.sum::<usize>()
    };
    assert!(records.iter().map(parts).sum::<usize>() <= bytes.len());
    let records: Vec<Arc<NoteRecord>> = records.into_iter().map(Arc::new).collect();
    let again = decode_records(&encode_records(&records)).expect("records");
    assert!(again.iter().eq(records.iter().map(AsRef::as_ref)));
    for record in &records {
        // Offsets may be anything, too.
        let _ = (record.anchors(), record.heading_path(usize::MAX));
    }
}

fuzz_target!(|data: (&[u8], Vec<&[u8]>, Vec<(u32, u8)>)| {
    let (bytes, notes, damages) = data;
    check(bytes);
    let path = NotePath::parse_vault("a/note.md").expect("a path");
    let stamp = NotebookStamp::default();
    let notes = notes
        .iter()
        .map(|bytes| NoteRecord::new(path.clone(), stamp, bytes));
    let notes: Vec<Arc<NoteRecord>> = notes.map(Arc::new).collect();
    let mut encoded = encode_records(&notes);
    let decoded = decode_records(&encoded).expect("records");
    assert!(decoded.iter().eq(notes.iter().map(AsRef::as_ref)));
    for (at, flip) in damages {
        let at = at as usize % encoded.len();
        encoded[at] ^= flip;
    }
    check(&encoded);
    encoded.truncate(encoded.len() / 2);
    check(&encoded);
});
