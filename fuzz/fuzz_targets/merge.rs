//! Any three texts merge or conflict, and the reported differences are the actual ones.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sectile_markdown::{DiffOptions, line_changes, merge, unified_diff};

fuzz_target!(|texts: (&[u8], &[u8], &[u8], u8)| {
    let (base, ours, theirs, context) = texts;
    let merged = merge(base, ours, theirs);
    assert_eq!(
        merged.as_ref().ok(),
        merge(base, theirs, ours).as_ref().ok(),
        "the sides are equal"
    );
    if let Err(conflict) = merged {
        assert!(conflict.span().end <= base.len());
    }
    for changed in [ours, theirs] {
        let alone = [
            merge(base, changed, base),
            merge(base, base, changed),
            merge(base, changed, changed),
        ];
        for result in alone {
            assert_eq!(result.as_deref(), Ok(changed));
        }

        let changes = line_changes(base, changed);
        assert_eq!(changes.apply(base).as_deref(), Some(changed));

        let options = DiffOptions {
            old_name: "base",
            new_name: "changed",
            context: usize::from(context % 8),
            max_bytes: usize::MAX,
        };
        let full = unified_diff(base, &changes, options);
        assert_eq!(full.text.is_empty(), base == changed);
        assert!(!full.truncated && !full.text.contains('\r'));

        let max_bytes = usize::from(context);
        let cut = unified_diff(
            base,
            &changes,
            DiffOptions {
                max_bytes,
                ..options
            },
        );
        assert!(cut.text.len() <= max_bytes && full.text.starts_with(&cut.text));
        assert_eq!(cut.truncated, full.text.len() > max_bytes);
    }
});
