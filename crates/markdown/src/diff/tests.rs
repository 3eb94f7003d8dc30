//! Tests of the line diff, and of the unified diff, which a small patch program applies.

use proptest::prelude::*;

use super::*;

const ALL: DiffOptions<'static> = DiffOptions {
    old_name: "old.md",
    new_name: "new.md",
    context: 3,
    max_bytes: usize::MAX,
};

fn diff_of(old: &str, new: &str, context: usize) -> String {
    let changes = line_changes(old.as_bytes(), new.as_bytes());
    let options = DiffOptions { context, ..ALL };
    unified_diff(old.as_bytes(), &changes, options).text
}

/// Generates replacements of any bytes, not only of whole lines.
fn any_changes(old: &[u8], wishes: Vec<(usize, usize, String)>) -> Changes {
    let mut wishes: Vec<_> = wishes
        .into_iter()
        .map(|(start, length, text)| (start.min(old.len()), length, text))
        .collect();
    wishes.sort();
    let mut at = 0;
    let kept = wishes.into_iter().filter_map(|(start, length, text)| {
        let span = Span::new(start, (start + length).min(old.len()));
        (span.start >= at).then(|| {
            at = span.end;
            Change::new(span, text)
        })
    });
    Changes::new(kept).expect("disjoint")
}

fn wishes(text: &'static str) -> impl Strategy<Value = Vec<(usize, usize, String)>> {
    proptest::collection::vec((0_usize..60, 0_usize..5, text), 0..6)
}

fn numbers(range: &str) -> (usize, usize) {
    let (first, count) = range[1..].split_once(',').expect("start and count");
    let (first, count): (usize, usize) = (first.parse().unwrap(), count.parse().unwrap());
    (first - usize::from(count > 0), count)
}

/// Applies a diff to `old` like a patch program; panics if it does not fit.
fn patched(old: &str, diff: &str) -> String {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let mut new: Vec<&str> = Vec::new();
    let mut at = 0;
    let mut lines = diff.split_inclusive('\n').skip(2).peekable();
    while let Some(head) = lines.next() {
        let ranges: Vec<&str> = head.split(' ').collect();
        assert!(ranges[0] == "@@" && ranges[3] == "@@\n", "{head}");
        let ((old_start, old_count), (new_start, new_count)) =
            (numbers(ranges[1]), numbers(ranges[2]));
        new.extend(&old[at..old_start]);
        at = old_start;
        assert_eq!(new.len(), new_start, "{diff}");
        while let Some(line) = lines.next_if(|line| !line.starts_with("@@")) {
            let is_cut = lines.next_if(|next| next.starts_with('\\')).is_some();
            let text = &line[1..line.len() - usize::from(is_cut)];
            if !line.starts_with('+') {
                assert_eq!(old[at], text, "{diff}");
                at += 1;
            }
            if !line.starts_with('-') {
                new.push(text);
            }
        }
        assert_eq!(at - old_start, old_count, "{diff}");
        assert_eq!(new.len() - new_start, new_count, "{diff}");
    }
    new.extend(&old[at..]);
    new.concat()
}

fn with_lf(text: &[u8]) -> String {
    let text = std::str::from_utf8(text).unwrap();
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// Returns the old and the new lines that each hunk shows.
fn hunk_sides(diff: &str) -> Vec<(String, String)> {
    let mut sides: Vec<(String, String)> = Vec::new();
    let mut last_sign = ' ';
    for line in diff.split_inclusive('\n').skip(2) {
        if line.starts_with("@@") {
            sides.push(Default::default());
            continue;
        }
        let (old, new) = sides.last_mut().expect("a head comes first");
        if !line.starts_with('\\') {
            last_sign = line.chars().next().expect("a sign");
        }
        if last_sign != '+' {
            old.push_str(&line[1..]);
        }
        if last_sign != '-' {
            new.push_str(&line[1..]);
        }
    }
    sides
}

fn common_lines(old: &[&[u8]], new: &[&[u8]]) -> usize {
    let mut row = vec![0; new.len() + 1];
    for old_line in old {
        let mut diagonal = 0;
        for (column, new_line) in new.iter().enumerate() {
            let above = row[column + 1];
            row[column + 1] = if old_line == new_line {
                diagonal + 1
            } else {
                above.max(row[column])
            };
            diagonal = above;
        }
    }
    row[new.len()]
}

#[test]
fn lines_are_replaced_whole() {
    let changes = line_changes(b"a\nb\r\nc\rd", b"a\nB\r\nc\rd\ne");
    let expected = [
        Change::new(Span::new(2, 5), "B\r\n"),
        Change::new(Span::new(7, 8), "d\ne"),
    ];
    assert!(changes.iter().eq(&expected), "{changes:?}");
}

#[test]
fn a_line_end_is_never_cut_in_two() {
    let changes = line_changes(b"a\r\nb", b"a\rb");
    let expected = [Change::new(Span::new(0, 3), "a\r")];
    assert!(changes.iter().eq(&expected), "{changes:?}");
}

#[test]
fn a_part_too_large_to_compare_is_one_replacement() {
    let text = |name: &str, lines: usize| -> String {
        let lines: Vec<String> = (0..lines).map(|line| format!("{name}{line}\n")).collect();
        format!("{}same\n{}", lines.concat(), lines[0])
    };
    // Two more lines are below.
    let most = MAX_COMPARED_LINES - 2;
    let count = |old: String, new: String| {
        let changes = line_changes(old.as_bytes(), new.as_bytes());
        assert_eq!(changes.apply(old.as_bytes()).unwrap(), new.as_bytes());
        changes.iter().len()
    };
    assert_eq!(count(text("old", most), text("new", 9)), 2);
    assert_eq!(count(text("old", most + 1), text("new", 9)), 1);
    assert_eq!(count(text("old", 9), text("new", most + 1)), 1);
}

/// Returns text in `parts` parts that all differ, far from each other, and its changes.
fn many_parts(parts: usize, lines: usize) -> (String, Changes) {
    let mut old = String::new();
    let mut changes = Vec::new();
    for part in 0..parts {
        let start = old.len();
        let text: String = (0..lines).map(|line| format!("{part} {line}\n")).collect();
        old += &text;
        let new = text.replace('1', "x").replace("2\n", "2\n2\n");
        changes.push(Change::new(Span::new(start, old.len()), new));
        old += &"kept\n".repeat(20);
    }
    (old, Changes::new(changes).expect("in order"))
}

#[test]
fn however_many_parts_differ_no_more_lines_are_compared() {
    let (old, changes) = many_parts(40, 5_000);
    let whole = DiffOptions {
        old_name: "a",
        new_name: "b",
        context: 3,
        max_bytes: usize::MAX,
    };
    let steps = work::steps_of(|| unified_diff(old.as_bytes(), &changes, whole));
    assert!(steps <= MAX_COMPARED_IN_ALL, "{steps}");
    assert!(steps > MAX_COMPARED_IN_ALL / 2, "{steps}");
    let diff = unified_diff(old.as_bytes(), &changes, whole);
    let new = changes.apply(old.as_bytes()).expect("made for it");
    assert_eq!(patched(&old, &diff.text).as_bytes(), new);
    // Hunks that are not shown are not compared either.
    let cut = DiffOptions {
        max_bytes: 1_000,
        ..whole
    };
    let steps = work::steps_of(|| unified_diff(old.as_bytes(), &changes, cut));
    assert!(steps <= 12_000, "{steps}");
}

#[test]
fn a_merge_compares_two_parts_at_most() {
    let base: String = (0..60_000).map(|line| format!("{line}\n")).collect();
    let ours = base.replace('1', "x");
    let theirs = base.replace('2', "y");
    let steps =
        work::steps_of(|| crate::merge(base.as_bytes(), ours.as_bytes(), theirs.as_bytes()));
    assert!(steps <= 4 * MAX_COMPARED_LINES, "{steps}");
}

#[test]
fn a_changed_line_is_not_a_removal_here_and_an_addition_there() {
    let edit = |old: Range<usize>, new: Range<usize>| LineReplacement { old, new };
    let cases: [([u32; 3], [u32; 3], _, _); 3] = [
        (
            [0, 0, 1],
            [2, 0, 1],
            [edit(0..0, 0..1), edit(1..2, 2..2)],
            0..1,
        ),
        (
            [1, 0, 0],
            [1, 0, 2],
            [edit(1..2, 1..1), edit(3..3, 2..3)],
            2..3,
        ),
        (
            [0, 0, 1],
            [0, 2, 1],
            [edit(0..1, 0..0), edit(2..2, 1..2)],
            1..2,
        ),
    ];
    for (old, new, edits, lines) in cases {
        let expected = vec![edit(lines.clone(), lines)];
        assert_eq!(settle(edits.into(), &old, &new), expected);
    }
    let repeated = vec![edit(1..1, 1..2)];
    assert_eq!(
        settle(repeated, &[0, 0, 1], &[0, 0, 0, 1]),
        [edit(2..2, 2..3)]
    );
}

#[test]
fn distant_edits_stand_in_separate_hunks() {
    let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    let new = "1\nzwei\n3\n4\n5\n6\n7\n9\n10";
    assert_eq!(
        diff_of(old, new, 1),
        "--- old.md\n+++ new.md\n\
         @@ -1,3 +1,3 @@\n 1\n-2\n+zwei\n 3\n\
         @@ -7,3 +7,3 @@\n 7\n-8\n 9\n+10\n\\ No newline at end of file\n"
    );
    assert_eq!(diff_of(old, new, 2).matches("@@ -").count(), 2);
    assert_eq!(diff_of(old, new, 3).matches("@@ -").count(), 1);
}

#[test]
fn a_side_without_lines_is_counted_from_the_line_before() {
    let heads = [
        ("", "a\n", "@@ -0,0 +1,1 @@\n+a\n"),
        ("a\n", "", "@@ -1,1 +0,0 @@\n-a\n"),
        ("a\nb\n", "a\nx\nb\n", "@@ -1,0 +2,1 @@\n+x\n"),
    ];
    for (old, new, hunk) in heads {
        let expected = format!("--- old.md\n+++ new.md\n{hunk}");
        assert_eq!(diff_of(old, new, 0), expected);
    }
    assert_eq!(diff_of("a\n", "a\n", 3), "");
}

#[test]
fn changed_line_ends_can_be_seen() {
    let cases = [
        ("a\r\nb\r\n", "a\nb\r\n", "-a␍␊\n+a\n b␍␊\n"),
        ("a\r\nb\r\n", "a\rb\r\n", "-a␍␊\n+a␍\n b␍␊\n"),
        ("a\rb\r", "a\rc\r", " a\n-b\n+c\n"),
        ("a\r\n", "a\r\nb", " a\n+b\n\\ No newline at end of file\n"),
    ];
    for (old, new, lines) in cases {
        let diff = diff_of(old, new, 1);
        assert_eq!(diff.split_once(" @@\n").unwrap().1, lines);
    }
}

#[test]
fn neither_bytes_nor_names_garble_the_diff() {
    let old = b"\xffa\nb\n";
    let changes = Changes::new([Change::new(Span::new(1, 2), "\u{e4}")]).unwrap();
    let options = DiffOptions {
        old_name: "a\n@@",
        ..ALL
    };
    assert_eq!(
        unified_diff(old, &changes, options).text,
        "--- a\u{fffd}@@\n+++ new.md\n@@ -1,2 +1,2 @@\n-\u{fffd}a\n+\u{fffd}\u{e4}\n b\n"
    );
    assert_eq!(
        unified_diff(b"", &changes, options),
        UnifiedDiff::default(),
        "beyond the end"
    );
}

#[test]
fn a_replacement_that_repeats_lines_shows_only_what_differs() {
    let old = "a\nb\nc\nd\n";
    let whole = Changes::new([Change::new(Span::new(0, 8), "a\nb\nC\nd\n")]).unwrap();
    assert_eq!(
        unified_diff(old.as_bytes(), &whole, ALL).text,
        diff_of(old, "a\nb\nC\nd\n", 3)
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn line_changes_are_few_and_make_the_new_text(
        old in proptest::collection::vec(proptest::sample::select(b"ab\r\n\xff".as_slice()), 0..40),
        new in proptest::collection::vec(proptest::sample::select(b"ab\r\n\xff".as_slice()), 0..40),
    ) {
        let changes = line_changes(&old, &new);
        prop_assert_eq!(changes.apply(&old).unwrap(), new.clone());
        let (old, new) = (LineTable::new(&old), LineTable::new(&new));
        let mut removed = 0;
        for change in changes.iter() {
            prop_assert!(old.borders.contains(&change.span.start) && old.borders.contains(&change.span.end));
            removed += old.line_from(change.span.end) - old.line_from(change.span.start);
        }
        for span in changes.spans_after() {
            prop_assert!(new.borders.contains(&span.start) && new.borders.contains(&span.end));
        }
        let lines = |table: &LineTable<'_>| {
            (0..table.count()).map(|line| table.line(line).to_vec()).collect::<Vec<_>>()
        };
        let (old, new) = (lines(&old), lines(&new));
        let old: Vec<&[u8]> = old.iter().map(Vec::as_slice).collect();
        let new: Vec<&[u8]> = new.iter().map(Vec::as_slice).collect();
        prop_assert_eq!(old.len() - removed, common_lines(&old, &new));
    }

    #[test]
    fn only_lines_near_the_changes_matter(
        old in "(a|b|\r|\n|\r\n){0,120}",
        wishes in proptest::collection::vec((0_usize..140, 0_usize..5, "[ab\r\n]{0,4}"), 0..3),
        context in 0_usize..4,
    ) {
        let changes = any_changes(old.as_bytes(), wishes);
        let options = DiffOptions { context, ..ALL };
        let diff = unified_diff(old.as_bytes(), &changes, options).text;
        // The same with all lines.
        let new = changes.apply(old.as_bytes()).expect("inside");
        let tables = (LineTable::new(old.as_bytes()), LineTable::new(&new));
        let edits: Vec<LineReplacement> = changed_regions(&tables.0, &tables.1, &changes, context)
            .into_iter()
            .flat_map(|region| {
                let mut room = MAX_COMPARED_IN_ALL;
                differing_lines(&tables.0, region.old, &tables.1, region.new, &mut room)
            })
            .collect();
        let mut writer = Writer { diff: UnifiedDiff::default(), max_bytes: usize::MAX };
        for (at, edits) in hunks(&edits, context).enumerate() {
            let heading = if at == 0 { heading(options) } else { String::new() };
            Hunk::new(&tables.0, &tables.1, edits, context).write(&heading, 0, &mut writer);
        }
        prop_assert_eq!(diff, writer.diff.text);
    }

    #[test]
    fn a_patch_program_gets_the_new_text(
        old in "[abc\n]{0,60}",
        wishes in wishes("[abc\n]{0,4}"),
        context in 0_usize..4,
    ) {
        let changes = any_changes(old.as_bytes(), wishes);
        let new = changes.apply(old.as_bytes()).unwrap();
        let diff = unified_diff(old.as_bytes(), &changes, DiffOptions { context, ..ALL });
        prop_assert_eq!(patched(&old, &diff.text).into_bytes(), new.clone());
        prop_assert_eq!(diff.text.is_empty(), old.as_bytes() == new);
    }

    #[test]
    fn any_line_ends_are_counted_and_differences_show(
        old in "[ab\r\n]{0,60}",
        wishes in wishes("[ab\r\n]{0,4}"),
        context in 0_usize..3,
    ) {
        let changes = any_changes(old.as_bytes(), wishes);
        let new = changes.apply(old.as_bytes()).unwrap();
        let diff = unified_diff(old.as_bytes(), &changes, DiffOptions { context, ..ALL });
        prop_assert!(!diff.text.contains('\r'));
        prop_assert_eq!(diff.text.is_empty(), old.as_bytes() == new);
        for (old_side, new_side) in hunk_sides(&diff.text) {
            prop_assert_ne!(old_side, new_side);
        }
        let unmarked = diff.text.replace(['␍', '␊'], "");
        prop_assert_eq!(patched(&with_lf(old.as_bytes()), &unmarked), with_lf(&new));
    }

    #[test]
    fn a_diff_ends_at_a_line_when_there_is_no_more_room(
        old in "[abä\n]{0,60}",
        new in "[abä\n]{0,60}",
        max_bytes in 0_usize..120,
    ) {
        let changes = line_changes(old.as_bytes(), new.as_bytes());
        let full = unified_diff(old.as_bytes(), &changes, ALL).text;
        let cut = unified_diff(old.as_bytes(), &changes, DiffOptions { max_bytes, ..ALL });
        prop_assert!(cut.text.len() <= max_bytes && full.starts_with(&cut.text));
        prop_assert_eq!(cut.truncated, full.len() > max_bytes);
        prop_assert!(cut.truncated || cut.text == full);
        let changed = |diff: &str| {
            let lines = diff.lines().skip_while(|line| !line.starts_with("@@"));
            lines.filter(|line| line.starts_with(['+', '-'])).count()
        };
        prop_assert!(changed(&cut.text) + cut.left_out >= changed(&full));
        prop_assert!(cut.truncated || cut.left_out == 0);
        prop_assert!(cut.text.is_empty() || cut.text.ends_with('\n'));
    }
}
