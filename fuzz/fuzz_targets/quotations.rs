//! The quotations of any draft are parts of it, and text is found in itself.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sectile_markdown::{
    ComparableText, QuotedText, Source, TextFolding, near_text, quotations, word_diff,
};

fuzz_target!(|input: (&str, &[u8])| {
    let (draft, note) = input;
    let list = quotations(draft);
    let mut last = 0;
    for one in &list.quotations {
        assert!(draft.get(one.span.range()).is_some() && one.span.start >= last);
        last = one.span.start;
        for cited in &one.citations {
            assert!(draft.get(cited.span.range()).is_some());
        }
        for part in QuotedText::parts(&one.quoted.read) {
            assert!(one.quoted.read.contains(part));
        }
    }
    let source = Source::new(note);
    for folding in [TextFolding::ALL, TextFolding::NONE] {
        for text in [
            ComparableText::as_read(&source, folding),
            ComparableText::as_written(&source, folding),
        ] {
            let wanted = ComparableText::of_text(draft, folding);
            for part in text.find(wanted.text(), 0).take(8) {
                assert_eq!(&text.text()[part.clone()], wanted.text());
                let span = text.source_of(part);
                assert!(span.start <= span.end && span.end <= note.len());
                let _ = text.within(span);
            }
            if let Some(near) = near_text(draft, text.text()) {
                let now = &text.text()[near.part];
                let _ = word_diff(draft, now);
            }
        }
    }
});
