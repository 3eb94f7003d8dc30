//! Any bytes have a section map, and its spans cover the bytes. Whether lines end in LF or CR makes no difference.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sectile_markdown::Source;

fuzz_target!(|data: &[u8]| {
    let document = Source::new(data).parse();
    let mut rebuilt = document.preamble().slice(data).to_vec();
    for (index, section, extent) in document.top_level() {
        rebuilt.extend_from_slice(section.heading.slice(data));
        rebuilt.extend_from_slice(extent.own_body.slice(data));
        assert!(
            extent.subtree.contains(section.heading) && extent.subtree.contains(extent.own_body)
        );
        if let Some(parent) = extent.parent {
            assert!(parent < index, "a parent comes first");
            let outer = document.sections()[parent]
                .extent
                .expect("an enclosing section owns bytes");
            assert!(outer.subtree.contains(extent.subtree), "subtrees nest");
        }
    }
    assert_eq!(rebuilt, data, "preamble and sections are all bytes");
    for (index, section) in document.sections().iter().enumerate() {
        assert_eq!(section.ordinal, index + 1);
        assert!((1..=6).contains(&section.level));
        assert_eq!(
            document.heading_path(index).last(),
            Some(&section.text.as_str())
        );
    }
    if !data.contains(&b'\r') {
        let returns: Vec<u8> = data
            .iter()
            .map(|byte| if *byte == b'\n' { b'\r' } else { *byte })
            .collect();
        assert_eq!(Source::new(&returns).parse(), document);
    }
});
