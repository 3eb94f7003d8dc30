//! A path that a parser accepts leads nowhere but down.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sectile_vault::NotePath;

fuzz_target!(|input: &str| {
    for parse in [NotePath::parse_vault, NotePath::parse_hosted] {
        let Ok(path) = parse(input) else { continue };
        let text = path.as_str();
        let is_clean = |segment: &str| {
            segment != ".." && !segment.is_empty() && !segment.contains(['\0', '\\'])
        };
        assert!(path.segments().all(is_clean), "{input:?} gave {text:?}");
        assert!(!text.starts_with('/'), "{input:?} gave {text:?}");
    }
    // Only here: a hosted path is trimmed as a whole, so the part before a trailing slash may end in white space.
    if let Ok(path) = NotePath::parse_vault(input) {
        assert_eq!(
            NotePath::parse_vault(path.as_str()),
            Ok(path),
            "a parsed path is in its final form"
        );
    }
});
