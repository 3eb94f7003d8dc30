//! Any bytes can be read as a journal: whatever is not one is damage, and nothing panics.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sectile_markdown::Digest;
use sectile_vault::journal::replay_for_fuzzing;

fuzz_target!(|data: &[u8]| {
    let lines = data.iter().filter(|byte| **byte == b'\n').count();
    let (records, _) = replay_for_fuzzing(data);
    assert!(records <= lines, "a line is at most one record");
    // The same lines with correct checksums, so that their content is inspected too.
    let mut sealed = Vec::new();
    for line in data.split(|byte| *byte == b'\n') {
        let sum = Digest::of(line).to_string();
        sealed.extend_from_slice(&sum.as_bytes()[..16]);
        sealed.push(b' ');
        sealed.extend_from_slice(line);
        sealed.push(b'\n');
    }
    let (records, _) = replay_for_fuzzing(&sealed);
    assert!(records <= lines + 1);
});
