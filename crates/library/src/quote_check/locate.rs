//! Finds a passage in the bytes of one note.

use std::cell::OnceCell;

use memchr::memmem;
use sectile_markdown::{
    ComparableText, Quotation, QuotationForm, QuotedText, Source, Span, TextFolding,
};

use super::{MAX_PLACES, QuoteDifference};

/// The most places of the first of several parts that are tried as the start of a passage.
const MAX_STARTS: usize = 64;
/// The fewest bytes of a word that are looked for before a note is compared.
const MIN_ANCHOR_BYTES: usize = 2;
/// The most words that are looked for.
const MAX_ANCHORS: usize = 3;

/// A passage, prepared for comparing.
pub(super) struct WantedPassage {
    quoted: QuotedText,
    /// The forms of the passage, the most faithful first.
    variants: Vec<PassageVariant>,
    /// Words of which a note with the passage contains one as it is, unless there is markup inside all of them.
    anchors: Vec<Vec<u8>>,
}

/// A form of a passage that may be in a note.
struct PassageVariant {
    /// Its parts, as they are written and as they are read.
    written: Vec<WantedText>,
    read: Vec<WantedText>,
    /// What differs in this form.
    differences: Vec<QuoteDifference>,
}

/// Text that is looked for.
struct WantedText {
    text: String,
    folded: String,
}

/// A passage that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FoundPassage {
    /// The bytes of its parts.
    pub(super) parts: Vec<Span>,
    pub(super) differences: Vec<QuoteDifference>,
}

/// A note that is compared with passages. Its text is folded when that is needed.
pub(super) struct ComparedNote<'n> {
    bytes: &'n [u8],
    source: Source<'n>,
    written: OnceCell<ComparableText>,
    read: OnceCell<ComparableText>,
    unfolded: OnceCell<ComparableText>,
}

impl<'n> ComparedNote<'n> {
    /// Returns all of its bytes.
    pub(super) fn whole(&self) -> Span {
        Span::new(0, self.bytes.len())
    }

    pub(super) fn new(bytes: &'n [u8]) -> Self {
        Self {
            bytes,
            source: Source::new(bytes),
            written: OnceCell::new(),
            read: OnceCell::new(),
            unfolded: OnceCell::new(),
        }
    }

    fn written(&self) -> &ComparableText {
        self.written
            .get_or_init(|| ComparableText::as_written(&self.source, TextFolding::ALL))
    }

    fn read(&self) -> &ComparableText {
        self.read
            .get_or_init(|| ComparableText::as_read(&self.source, TextFolding::ALL))
    }

    /// Returns the text of some bytes as it is read, without folding.
    fn unfolded(&self, span: Span) -> String {
        let text = self
            .unfolded
            .get_or_init(|| ComparableText::as_read(&self.source, TextFolding::NONE));
        text.within(span).to_owned()
    }
}

impl WantedText {
    fn new(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            folded: folded(text, TextFolding::ALL),
        }
    }
}

fn folded(text: &str, folding: TextFolding) -> String {
    ComparableText::of_text(text, folding).text().to_owned()
}

impl PassageVariant {
    fn new(quoted: &QuotedText, differences: &[QuoteDifference]) -> Self {
        Self {
            written: vec![WantedText::new(&quoted.written)],
            read: vec![WantedText::new(&quoted.read)],
            differences: differences.to_vec(),
        }
    }

    /// Returns the parts of a passage between its ellipses, if it has some.
    fn in_parts(quoted: &QuotedText) -> Option<Self> {
        let parts = |text: &str| -> Vec<WantedText> {
            let parts = QuotedText::parts(text).into_iter();
            parts.map(WantedText::new).collect()
        };
        let has_ellipsis = |text: &str| {
            let parts = QuotedText::parts(text);
            parts.len() != 1 || parts[0].len() < sectile_markdown::trim(text).len()
        };
        let (written, read) = (parts(&quoted.written), parts(&quoted.read));
        let is_one = written.is_empty() || read.is_empty() || !has_ellipsis(&quoted.read);
        (!is_one).then(|| Self {
            written,
            read,
            differences: vec![QuoteDifference::Ellipsis],
        })
    }
}

impl WantedPassage {
    /// Prepares a passage. Where its citation is known, what looks like an attribution is one.
    pub(super) fn new(quotation: &Quotation, is_cited: bool) -> Self {
        let quoted = quotation.quoted.clone();
        let mut forms = vec![(quoted.clone(), Vec::new())];
        if let Some(whole) = quotation.with_attribution.as_ref().filter(|_| !is_cited) {
            forms.insert(0, (whole.clone(), Vec::new()));
        }
        if quotation.form == QuotationForm::Marks
            && let Some(shorter) = without_end(&quoted)
        {
            forms.push((shorter, vec![QuoteDifference::EndPunctuation]));
        }
        let mut variants = Vec::new();
        for (form, differences) in &forms {
            variants.push(PassageVariant::new(form, differences));
        }
        for (form, differences) in &forms {
            if let Some(mut parts) = PassageVariant::in_parts(form) {
                parts.differences.extend(differences);
                variants.push(parts);
            }
        }
        Self {
            anchors: anchors(&quoted.read),
            quoted,
            variants,
        }
    }

    /// Returns the passage as it is read.
    pub(super) fn read(&self, folding: TextFolding) -> String {
        folded(&self.quoted.read, folding)
    }

    /// Returns the longest line of the passage.
    pub(super) fn longest_line(&self) -> &str {
        let lines = self.quoted.read.split('\n').flat_map(QuotedText::parts);
        lines.fold("", |best, next| match next.len() > best.len() {
            true => next,
            false => best,
        })
    }

    /// Returns whether bytes may contain the passage.
    pub(super) fn may_be_in(&self, bytes: &[u8]) -> bool {
        let mut anchors = self.anchors.iter();
        self.anchors.is_empty() || anchors.any(|anchor| memmem::find(bytes, anchor).is_some())
    }

    /// Returns the places of the passage in a part of a note, one for each place it starts.
    pub(super) fn find_in(&self, note: &ComparedNote<'_>, part: Span) -> Vec<FoundPassage> {
        if !self.may_be_in(note.bytes) {
            return Vec::new();
        }
        for variant in &self.variants {
            let mut found = find(note, note.written(), &variant.written, part);
            if found.is_empty() {
                found = find(note, note.read(), &variant.read, part);
            }
            if !found.is_empty() {
                let found = found.into_iter();
                return found
                    .map(|parts| FoundPassage {
                        differences: differences(note, variant, &parts),
                        parts,
                    })
                    .collect();
            }
        }
        Vec::new()
    }
}

/// Returns the places of texts one after the other in a part of a note.
fn find(
    note: &ComparedNote<'_>,
    text: &ComparableText,
    wanted: &[WantedText],
    part: Span,
) -> Vec<Vec<Span>> {
    let is_inside = |span: Span| {
        let bytes = note.bytes.get(span.range());
        // What was replaced when the note was decoded is not text.
        part.contains(span) && bytes.is_some_and(|bytes| std::str::from_utf8(bytes).is_ok())
    };
    let Some((first, rest)) = wanted.split_first() else {
        return Vec::new();
    };
    let mut found: Vec<Vec<Span>> = Vec::new();
    for start in text.find(&first.folded, 0).take(MAX_STARTS) {
        let mut end = start.end;
        let mut parts = vec![text.source_of(start)];
        for next in rest {
            let Some(place) = text.find(&next.folded, end).next() else {
                return found;
            };
            end = place.end;
            parts.push(text.source_of(place));
        }
        if parts.iter().all(|span| is_inside(*span)) {
            // Of several starts with one end, the last is the shortest.
            let is_same_end = |other: &Vec<Span>| !rest.is_empty() && other.last() == parts.last();
            if found.last().is_some_and(is_same_end) {
                found.pop();
            }
            found.push(parts);
        }
        if found.len() > MAX_PLACES {
            break;
        }
    }
    found
}

/// Returns what differs between a passage and the bytes where it was found.
fn differences(
    note: &ComparedNote<'_>,
    variant: &PassageVariant,
    parts: &[Span],
) -> Vec<QuoteDifference> {
    let mut all = variant.differences.clone();
    for (index, span) in parts.iter().enumerate() {
        let on_disk = note.bytes.get(span.range()).unwrap_or_default();
        let on_disk = String::from_utf8_lossy(on_disk);
        let written = variant
            .written
            .get(index)
            .map_or("", |one| one.text.as_str());
        if on_disk == written {
            continue;
        }
        let is_same_markup =
            folded(&on_disk, TextFolding::ALL) == folded(written, TextFolding::ALL);
        let (ours, theirs) = match is_same_markup {
            true => (written.to_owned(), on_disk.into_owned()),
            false => {
                all.push(QuoteDifference::Markup);
                let read = variant.read.get(index).map_or("", |one| one.text.as_str());
                (read.to_owned(), note.unfolded(*span))
            }
        };
        let every = TextFolding::ALL;
        for (difference, folding) in [
            (
                QuoteDifference::WhiteSpace,
                TextFolding {
                    white_space: false,
                    ..every
                },
            ),
            (
                QuoteDifference::Typography,
                TextFolding {
                    typography: false,
                    ..every
                },
            ),
            (
                QuoteDifference::NormalForm,
                TextFolding {
                    normal_form: false,
                    ..every
                },
            ),
        ] {
            if folded(&ours, folding) != folded(&theirs, folding) {
                all.push(difference);
            }
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// Returns a passage without the full stop or comma at its end: many put the one of their own sentence inside the
/// quotation marks.
fn without_end(quoted: &QuotedText) -> Option<QuotedText> {
    let shorter = |text: &str| {
        let rest = text.strip_suffix(['.', ',', '\u{3002}', '\u{ff0c}'])?;
        (!rest.ends_with(['.', '\u{2026}'])).then(|| rest.to_owned())
    };
    Some(QuotedText {
        written: shorter(&quoted.written)?,
        read: shorter(&quoted.read)?,
    })
}

/// Returns the longest words of plain letters and digits.
fn anchors(text: &str) -> Vec<Vec<u8>> {
    // Beyond letters and digits of ASCII, the same character may have several forms.
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    let mut words: Vec<&str> = words
        .filter(|word| word.len() >= MIN_ANCHOR_BYTES)
        .collect();
    words.sort_by_key(|word| (std::cmp::Reverse(word.len()), *word));
    words.dedup();
    let longest = words.into_iter().take(MAX_ANCHORS);
    longest.map(|word| word.as_bytes().to_vec()).collect()
}
