//! Links lead where the editor says they do, in both directions, after any change.

#![expect(clippy::disallowed_methods, reason = "tests make the files")]

use std::fs;

use proptest::prelude::*;
use sectile_markdown::LinkForm;
use sectile_vault::{
    Editor, JournalKey, Root,
    editor::{CallHooks, EditorOptions},
};

use super::*;
use crate::live_folder::testing::{Texts, changes, contents, path, texts};

/// An edge in one line.
fn told(edge: &LinkEdge) -> String {
    let LinkEdge { from, link, to } = edge;
    let to = match to {
        LinkTarget::Note {
            path,
            heading,
            block,
        } => {
            let heading = heading.map(|index| format!(" heading {index}"));
            let block = block.as_ref().map(|block| format!(" block {block}"));
            format!(
                "{path}{}{}",
                heading.unwrap_or_default(),
                block.unwrap_or_default()
            )
        }
        LinkTarget::File(path) => format!("file {path}"),
        LinkTarget::Folder(path) => format!("folder {path}"),
        LinkTarget::FolderAbove => "above".to_owned(),
        LinkTarget::Missing(reason) => (*reason).to_owned(),
        LinkTarget::Ambiguous(paths) => format!("several: {}", paths.len()),
        LinkTarget::Outside => "outside".to_owned(),
    };
    format!("{from}:{} {to}", link.line)
}

/// Returns the links of a folder.
fn graph_of(contents: &FolderContents) -> LinkGraph {
    let names = Arc::new(NameIndex::new(contents));
    LinkGraph::new(names, Arc::new(LinkMentions::new(contents)))
}

/// Brings the links of a folder up to date.
fn apply(graph: &mut LinkGraph, contents: &FolderContents, changes: &FolderChanges) {
    Arc::make_mut(&mut graph.names).apply(contents, changes);
    Arc::make_mut(&mut graph.mentions).apply(changes);
}

fn into(graph: &LinkGraph, path: &NotePath) -> Vec<LinkEdge> {
    graph.into(path)
}

fn told_all(edges: &[LinkEdge]) -> Vec<String> {
    edges.iter().map(told).collect()
}

fn harbour() -> Texts {
    texts(&[
        (
            "plan.md",
            "# Plan\n\n## Budget\n\nMoney. ^sum\n\n[[#Budget]]\n[[crew|us]] ![[map.png]]\n[x](crew/)\n[y](..)\n[z](../out.md)\n",
        ),
        (
            "crew/ada.md",
            "---\naliases: [Crew, A]\n---\n[p](../plan.md#budget)\n[[plan#^sum]] [[plan#^gone]]\n[[Plan#Gone]]\n%% [[plan]] %%\n",
        ),
        (
            "crew/bo.md",
            "---\nup: \"[[plan]]\"\n---\n[the plan][p] [[ada]] [[a]] [[same]]\n\n[p]: /plan\n",
        ),
        ("crew/same.md", ""),
        ("old/same.md", "[[same]] [[missing]] ![[crew/same]]\n"),
        ("map.png", ""),
    ])
}

#[test]
fn links_in_and_out() {
    let graph = graph_of(&contents(&harbour()));
    assert_eq!(
        told_all(&graph.out_of(&path("plan.md"))),
        [
            "plan.md:7 plan.md heading 1",
            "plan.md:8 crew/ada.md",
            "plan.md:8 file map.png",
            "plan.md:9 folder crew",
            "plan.md:10 outside",
            "plan.md:11 outside",
        ]
    );
    assert_eq!(
        told_all(&into(&graph, &path("plan.md"))),
        [
            "crew/ada.md:4 plan.md heading 1",
            "crew/ada.md:5 plan.md block sum",
            "crew/ada.md:5 no such block",
            "crew/ada.md:6 no such heading",
            "crew/bo.md:2 plan.md",
            "crew/bo.md:6 plan.md",
            "plan.md:7 plan.md heading 1",
        ]
    );
    assert_eq!(
        told_all(&into(&graph, &path("crew/ada.md"))),
        [
            "crew/bo.md:4 crew/ada.md",
            "crew/bo.md:4 crew/ada.md",
            "plan.md:8 crew/ada.md"
        ]
    );
    assert_eq!(
        told_all(&into(&graph, &path("map.png"))),
        ["plan.md:8 file map.png"]
    );
    assert_eq!(
        told_all(&into(&graph, &path("crew"))),
        ["plan.md:9 folder crew"]
    );
    assert_eq!(
        told_all(&into(&graph, &path("crew/same.md"))),
        ["crew/bo.md:4 crew/same.md", "old/same.md:1 crew/same.md"]
    );
    let (page, total) = graph.links_to(&path("plan.md"), 1..3);
    assert_eq!((told_all(&page).len(), total), (2, 7));
    assert!(graph.out_of(&path("nothing.md")).is_empty());
    // The definition knows where it is used, so that the sentences around its uses can be shown.
    let edges = graph.out_of(&path("crew/bo.md"));
    let definition = edges
        .iter()
        .find(|edge| edge.link.form == LinkForm::Definition);
    assert_eq!(definition.map(|edge| edge.link.uses.len()), Some(1));
}

#[test]
fn broken_links_are_listed() {
    let state = contents(&harbour());
    let graph = graph_of(&state);
    let (edges, total) = graph.broken(&state.notes, 0..10);
    assert_eq!(
        told_all(&edges),
        [
            "crew/ada.md:5 no such block",
            "crew/ada.md:6 no such heading",
            "old/same.md:1 no such document",
            "plan.md:10 outside",
            "plan.md:11 outside",
        ]
    );
    assert_eq!(total, 5);
    assert_eq!(
        told_all(&graph.broken(&state.notes, 1..2).0),
        ["crew/ada.md:6 no such heading"]
    );
}

#[test]
fn a_change_elsewhere_is_seen() {
    let mut files = harbour();
    let before = contents(&files);
    let mut graph = graph_of(&before);
    let old = graph.clone();
    // A note with the name appears, a target loses its heading, and another one goes.
    files.insert("new/missing.md".into(), String::new());
    files.insert("plan.md".into(), "# Plan\n".into());
    files.remove("crew/same.md");
    let mut after = contents(&files);
    let changes = changes(&before, &mut after);
    apply(&mut graph, &after, &changes);
    let (edges, _) = graph.broken(&after.notes, 0..10);
    assert_eq!(
        told_all(&edges),
        [
            "crew/ada.md:4 no such heading",
            "crew/ada.md:5 no such block",
            "crew/ada.md:5 no such block",
            "crew/ada.md:6 no such heading",
            "old/same.md:1 no such document",
        ]
    );
    assert_eq!(
        told_all(&into(&graph, &path("new/missing.md"))),
        ["old/same.md:1 new/missing.md"]
    );
    assert_eq!(
        told_all(&into(&graph, &path("old/same.md"))),
        ["crew/bo.md:4 old/same.md", "old/same.md:1 old/same.md"]
    );
    assert_eq!(old.broken(&before.notes, 0..10).1, 5);
}

const PATHS: [&str; 8] = [
    "a.md",
    "A.md",
    "sub/a.md",
    "sub/d e.md",
    "sub/deep/b.markdown",
    "pic.png",
    "sub/pic.png",
    "b.md.md",
];
const PIECES: [&str; 30] = [
    "[[a]]",
    "[[A]]",
    "[[sub/a]]",
    "[[d e#One]]",
    "[[x|y]]",
    "![[pic.png]]",
    "[[b]]",
    "[[b.md]]",
    "[[./a]]",
    "[[../a#One#Two]]",
    "[[#One]]",
    "[[a#^b1]]",
    "[[/a]]",
    "[[sub/]]",
    "[l](a.md)",
    "[l](sub/a.md#one)",
    "[l](../a)",
    "[l](/sub/d%20e.md#two)",
    "[l](sub)",
    "[l](.)",
    "[l](deep/b.markdown#one)",
    "[l](../../x.md)",
    "<a href=\"a.md#one\">",
    "[r]",
    "%% [[nowhere]] %%",
    "`[[nowhere]]`",
    "[l](hidden/n.md)",
    "[l](linked.md)",
    "[[ zwei ]]",
    "[[b.markdown]]",
];
const HEADS: [&str; 5] = [
    "",
    "---\naliases: [x, zwei]\n---\n",
    "---\nalias: X\nup: '[[sub/a]]'\n---\n",
    "# One\n\n## Two\n\ntext ^b1\n\n",
    "# One *two*\n\n[r]: a.md#one-two\n\n",
];

fn note_text() -> impl Strategy<Value = String> {
    let pieces = proptest::collection::vec(0..PIECES.len(), 0..5);
    let heads = proptest::collection::vec(0..HEADS.len(), 1..3);
    (heads, pieces).prop_map(|(heads, pieces)| {
        let heads: Vec<&str> = heads.iter().map(|head| HEADS[*head]).collect();
        let pieces: Vec<&str> = pieces.iter().map(|piece| PIECES[*piece]).collect();
        heads.concat() + &pieces.join("\n\n")
    })
}

fn steps() -> impl Strategy<Value = Vec<(usize, Option<String>)>> {
    proptest::collection::vec(
        (0..PATHS.len(), proptest::option::weighted(0.8, note_text())),
        1..16,
    )
}

fn all_paths() -> impl Iterator<Item = NotePath> {
    PATHS.iter().copied().chain(["sub", "sub/deep"]).map(path)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Broken links are those that the editor reports for the same folder, with the same reasons.
    #[test]
    fn broken_links_are_those_of_the_editor(steps in steps()) {
        let folder = tempfile::tempdir().unwrap();
        let write = |at: &str, text: &str| {
            let file = folder.path().join(at);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        let mut files = Texts::new();
        for (at, text) in steps {
            if let Some(text) = text {
                files.insert(PATHS[at].to_owned(), text);
            }
        }
        for (at, text) in &files {
            write(at, text);
        }
        // Something that is ignored, but there; and a link of the file system to a note, or to nothing.
        write(".gitignore", "hidden/\n");
        write("hidden/n.md", "");
        #[cfg(unix)]
        std::os::unix::fs::symlink("a.md", folder.path().join("linked.md")).unwrap();
        let key = JournalKey::new(&[7; JournalKey::BYTES]);
        let editor = Editor::folder(folder.path(), EditorOptions::new(key, || 0)).unwrap();
        let check = editor.check_links(None, CallHooks::none()).unwrap();
        let mut expected: Vec<(String, usize, &str)> = check
            .broken
            .iter()
            .map(|broken| (broken.path.clone(), broken.line, broken.reason))
            .collect();
        let several = link_reason::SEVERAL_ALIASES;
        for broken in expected.iter_mut().filter(|broken| broken.2 == several) {
            broken.2 = link_reason::SEVERAL_DOCUMENTS;
        }
        expected.sort();
        let root = Root::open(folder.path()).unwrap();
        let state = contents(&files);
        let graph = graph_of(&state).with_disk(DiskLookup::new(move |path| root.find(path)));
        let (edges, total) = graph.broken(&state.notes, 0..1000);
        let mut found: Vec<(String, usize, &str)> = edges
            .iter()
            .map(|edge| (edge.from.to_string(), edge.link.line as usize, edge.to.problem().unwrap()))
            .collect();
        found.sort();
        prop_assert_eq!(total, found.len());
        prop_assert_eq!(found, expected);
    }

    /// After any changes, the answers are those of a graph made from scratch, and both directions agree.
    #[test]
    fn updates_are_like_building_again(steps in steps()) {
        let mut files = Texts::new();
        let mut state = contents(&files);
        let mut graph = graph_of(&state);
        for (at, text) in steps {
            match text {
                Some(text) => files.insert(PATHS[at].to_owned(), text),
                None => files.remove(PATHS[at]),
            };
            let mut after = contents(&files);
            let changes = changes(&state, &mut after);
            apply(&mut graph, &after, &changes);
            state = after;
        }
        let again = graph_of(&state);
        let mut in_all = Vec::new();
        for path in all_paths() {
            prop_assert_eq!(graph.out_of(&path), again.out_of(&path));
            let edges = into(&graph, &path);
            prop_assert_eq!(&edges, &into(&again, &path));
            in_all.extend(edges.iter().map(told));
        }
        prop_assert_eq!(graph.broken(&state.notes, 0..100), again.broken(&state.notes, 0..100));
        // Every link that leads to a file or folder is among the links into it.
        let follower = Follower::new(&graph);
        let mut out_all: Vec<String> = Vec::new();
        for note in &state.notes {
            for (link, edge) in note.links.iter().zip(graph.out_of(&note.path)) {
                if follower.document(note, link).path().is_some() {
                    out_all.push(told(&edge));
                }
            }
        }
        in_all.sort();
        out_all.sort();
        prop_assert_eq!(in_all, out_all);
    }
}
