//! Front matter of any bytes has a value or an error, and its span is inside the bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sectile_markdown::Source;

fuzz_target!(|data: &[u8]| {
    let source = Source::new(data);
    let value = source.front_matter_value();
    assert_eq!(value.is_some(), source.front_matter().is_some());
    if let Some(block) = source.front_matter() {
        assert!(block.block.contains(block.yaml));
        assert!(block.block.end <= data.len());
    }
    // Fuzzed bytes seldom open a block by themselves.
    let wrapped = [b"---\n", data, b"\n---\n"].concat();
    let wrapped = Source::new(&wrapped);
    assert_eq!(
        wrapped.front_matter_value().is_some(),
        wrapped.front_matter().is_some()
    );
});
