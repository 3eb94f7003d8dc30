//! Records of notes hold what links and filters need, and come back from bytes as they were.

use std::sync::Arc;

use proptest::prelude::*;
use sectile_markdown::{FragmentResolution, links};
use sectile_retrieval::FormatError;

use super::*;

const NOTE: &str = "---\ntitle: Winter feed\ndate: 2026-01-02\ntags: [farm, farm/hay]\naliases: Futter\nstatus: open\n---\n\
                    # Winter *feed*\n\nSee [[Plan#Budget|the plan]] and [hay][h]. #sheep ^why\n\n> ## Quoted\n\n\
                    - [ ] order hay\n- [x] count bales\n\n%% [[Hidden]] %%\n\n<a id=\"Old\"></a>\n\n[h]: ../hay.md#amount\n";

fn record(text: &str) -> NoteRecord {
    let stamp = NotebookStamp {
        bytes: text.len() as u64,
        modified: -5,
        changed: u64::MAX,
        state: [1, u64::MAX, 0, 7],
    };
    let path = NotePath::parse_vault("farm/winter-feed.md").unwrap();
    NoteRecord::new(path, stamp, text.as_bytes())
}

#[test]
fn a_record_holds_what_a_note_says() {
    let note = record(NOTE);
    assert_eq!(note.title, "Winter feed");
    assert_eq!(note.date, Some(1_767_312_000_000));
    assert_eq!(note.properties.tags, ["farm", "farm/hay", "sheep"]);
    assert_eq!(note.properties.aliases, ["Futter"]);
    let tasks = note.properties.tasks.iter();
    assert_eq!(
        tasks.map(|task| task.is_done).collect::<Vec<_>>(),
        [false, true]
    );
    let links = note.links.iter();
    let links: Vec<(LinkForm, u32, &str, &str, Vec<&str>)> = links
        .map(|link| {
            let uses = link.uses.iter().map(|span| &NOTE[span.range()]);
            let (path, fragment) = (link.path.as_str(), link.fragment.as_str());
            (link.form, link.line, path, fragment, uses.collect())
        })
        .collect();
    assert_eq!(
        links,
        [
            (LinkForm::Wiki, 10, "Plan", "Budget", vec![]),
            (
                LinkForm::Definition,
                21,
                "../hay.md",
                "amount",
                vec!["[hay][h]"]
            ),
        ]
    );
    let headings = note.headings.iter();
    let headings: Vec<(&str, bool)> = headings
        .map(|heading| (heading.text.as_str(), heading.is_nested))
        .collect();
    assert_eq!(headings, [("Winter feed", false), ("Quoted", true)]);
    assert_eq!(note.heading_path(1), ["Winter feed", "Quoted"]);
    assert!(note.heading_path(usize::MAX).is_empty());
    assert_eq!(note.blocks.len(), 1);
    assert_eq!(note.html_ids, ["old"]);
    assert!(note.tokens > 20);
}

#[test]
fn other_files_are_refused() {
    let notes = [Arc::new(record(NOTE))];
    let bytes = encode_records(&notes);
    assert_eq!(decode_records(&bytes).unwrap(), [record(NOTE)]);
    assert_eq!(decode_records(b"nothing"), Err(FormatError::Strange));
    let mut other = bytes.clone();
    other[8] = 9;
    assert_eq!(decode_records(&other), Err(FormatError::OtherVersion));
    let cut = &bytes[..bytes.len() - 1];
    assert_eq!(decode_records(cut), Err(FormatError::Damaged));
    // A path that no parser returns is not a path, even if it is text.
    let at = bytes.windows(4).position(|word| word == b"farm").unwrap();
    let mut bent = bytes.clone();
    bent[at..at + 4].copy_from_slice(b"/etc");
    assert_eq!(decode_records(&bent), Err(FormatError::Damaged));
}

#[test]
fn a_lie_about_a_length_costs_nothing() {
    let note = record("").with_details(|details| details.title = String::new());
    let mut bytes = encode_records(&[Arc::new(note)]);
    // The last list is empty: it becomes longer than there are bytes.
    assert_eq!(bytes.pop(), Some(0));
    bytes.push(0x7f);
    assert_eq!(decode_records(&bytes), Err(FormatError::Damaged));
}

#[test]
fn details_that_cannot_be_read_are_refused_with_their_file() {
    let notes = [Arc::new(record("")), Arc::new(record(NOTE))];
    let bytes = encode_records(&notes);
    let mut refused = 0;
    for bit in 0..bytes.len() * 8 {
        let mut bent = bytes.clone();
        bent[bit / 8] ^= 1 << (bit % 8);
        let Ok(decoded) = decode_records(&bent) else {
            refused += 1;
            continue;
        };
        for note in decoded {
            let details = note.encoded.as_ref().unwrap().decoded();
            assert!(details.is_some(), "bit {bit} of {}", note.path);
        }
    }
    assert!(
        refused > bytes.len(),
        "{refused} of {} bits",
        bytes.len() * 8
    );
}

#[test]
fn a_text_is_spelled_once() {
    let text = format!("# {}\n", "winter feed for sheep ".repeat(50));
    let size = |count: usize| {
        let note = Arc::new(record(&text));
        encode_records(&vec![note; count]).len()
    };
    // Another record of the same texts is little more than its digest.
    assert!(size(2) - size(1) < 100, "{} {}", size(1), size(2));
    // The words of a long heading are spelled once, too.
    assert!(size(1) < text.len() / 2 + 200, "{} {}", size(1), text.len());
}

/// Generates notes with every kind of part.
fn note_text() -> impl Strategy<Value = String> {
    let part = proptest::sample::select(vec![
        "---\n",
        "a: [1, b]\n",
        "aliases: x\n",
        "# H *x*\n",
        "> ## Q {#id}\n",
        "\n\n",
        "[[A#b]]",
        "![[p.png]]",
        "[t](u/v.md#w)",
        "[r]: z.md\n",
        "[r]",
        "#tag/a ",
        "- [ ] do\n",
        "- [x] é\n",
        " ^b1\n",
        "<a name=q>",
        "%%",
        "`",
        "\r",
        "\u{0}",
        "漢字 ",
    ]);
    proptest::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
}

proptest! {
    /// Records come back as they were.
    #[test]
    fn records_come_back(texts in proptest::collection::vec(note_text(), 0..4)) {
        let notes: Vec<Arc<NoteRecord>> = texts.iter().map(|text| Arc::new(record(text))).collect();
        let decoded = decode_records(&encode_records(&notes)).unwrap();
        let expected: Vec<NoteRecord> = notes.iter().map(|note| NoteRecord::clone(note)).collect();
        prop_assert_eq!(decoded, expected);
    }

    /// The anchors of a record resolve every fragment as those of the note do.
    #[test]
    fn anchors_come_back(text in note_text(), fragment in "[A-Cha-z{}#^1 *-]{0,6}") {
        let source = Source::new(text.as_bytes());
        let (kept, real) = (record(&text).anchors(), Anchors::new(&source));
        let all = links(&source);
        let fragments = all.iter().map(|link| link.fragment_text());
        for fragment in fragments.chain([fragment.as_str(), "H x", "h-x", "H *x*", "id", "^b1", "q"]) {
            for form in [LinkForm::Wiki, LinkForm::Inline] {
                let found: FragmentResolution = kept.resolve(form, fragment);
                prop_assert_eq!(found, real.resolve(form, fragment), "{:?}", fragment);
            }
        }
    }

    /// Damaged bytes are refused, or are other records of no more parts than there are bytes.
    #[test]
    fn damaged_bytes_do_no_harm(
        text in note_text(),
        damages in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<proptest::sample::Index>(),
    ) {
        let mut bytes = encode_records(&[Arc::new(record(&text))]);
        for (at, byte) in damages {
            let at = 12 + at.index(bytes.len() - 12);
            bytes[at] = byte;
        }
        bytes.truncate(12 + cut.index(bytes.len() - 11));
        if let Ok(notes) = decode_records(&bytes) {
            let parts = |note: &NoteRecord| {
                note.links.len() + note.headings.len() + note.blocks.len() + note.html_ids.len()
                    + note.properties.tags.len() + note.properties.tasks.len()
            };
            prop_assert!(notes.iter().map(parts).sum::<usize>() <= bytes.len());
            let again: Vec<Arc<NoteRecord>> = notes.iter().cloned().map(Arc::new).collect();
            prop_assert_eq!(decode_records(&encode_records(&again)).unwrap(), notes);
        }
    }
}
