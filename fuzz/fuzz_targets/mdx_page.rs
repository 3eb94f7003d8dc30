//! Any page in MDX has sections whose spans cover its bytes, and anchors of every style that are unique.

#![no_main]

use std::collections::HashSet;

use libfuzzer_sys::fuzz_target;
use sectile_markdown::{AnchorStyle, PageFormat, PageSyntax, Source, passages};

fuzz_target!(|data: &[u8]| {
    let source = Source::new(data);
    for anchors in AnchorStyle::ALL {
        let format = PageFormat {
            syntax: PageSyntax::Mdx,
            anchors,
        };
        let read = passages(&source, 3, format);
        let mut rebuilt = read.document.preamble().slice(data).to_vec();
        for (_, section, extent) in read.document.top_level() {
            rebuilt.extend_from_slice(section.heading.slice(data));
            rebuilt.extend_from_slice(extent.own_body.slice(data));
        }
        assert_eq!(rebuilt, data, "preamble and sections are all bytes");
        assert_eq!(read.anchors.len(), read.document.sections().len());
        let unique: HashSet<&String> = read.anchors.iter().collect();
        assert_eq!(unique.len(), read.anchors.len(), "anchors are unique");
    }
});
