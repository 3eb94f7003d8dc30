//! Links can be found in any bytes; each has a target or none, and stays when nothing moved.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sectile_markdown::{
    Anchors, PathResolution, Repair, Source, links, moved_anchors, repair_fragment, repair_path,
    resolve_path,
};

const FROM: &str = "folder/from.md";
const TO: &str = "folder/other/to.md";

fuzz_target!(|data: &[u8]| {
    let source = Source::new(data);
    let anchors = Anchors::new(&source);
    assert_eq!(anchors.len(), source.parse().sections().len());
    let unmoved: Vec<Option<usize>> = (0..anchors.len()).map(Some).collect();
    assert!(moved_anchors(&anchors, &anchors, &unmoved).is_empty());
    let shifted: Vec<Option<usize>> = (0..anchors.len()).map(|at| at.checked_sub(1)).collect();
    for link in links(&source) {
        assert!(link.span.end <= data.len() && link.span.contains(link.path.span));
        if let Some(fragment) = &link.fragment {
            assert!(link.span.contains(fragment.span) && link.path.span.end < fragment.span.start);
        }
        let repair = repair_fragment(&link, data, &anchors, &anchors, &unmoved);
        assert_eq!(repair, Repair::NotNeeded);
        let part = link.fragment.as_ref().map(|fragment| fragment.span);
        if let Repair::Change(change) = repair_fragment(&link, data, &anchors, &anchors, &shifted) {
            assert!(part.is_some_and(|part| part.contains(change.span)));
        }
        if let Repair::Change(change) = repair_path(&link, data, FROM, TO, true) {
            assert_eq!(change.span, link.path.span);
        }
        let resolved = resolve_path(FROM, &link, &|path| path == TO, &|_| vec![TO.to_owned()]);
        if let PathResolution::Document(path) = resolved {
            assert_eq!(path, TO);
        }
    }
});
