//! Random scripts on random documents: whatever they do, bytes and ids match a simple model.

mod generators;
mod operations;
mod world;

use proptest::prelude::*;

use super::*;
use generators::{document, own_script, script};
use world::World;

/// Number of scripts for a property: `default`, or the value of `SECTILE_CASES` for a longer run.
pub(super) fn cases(default: u32) -> ProptestConfig {
    let asked = std::env::var("SECTILE_CASES").ok();
    let cases = asked.and_then(|cases| cases.parse().ok());
    ProptestConfig {
        failure_persistence: None,
        max_shrink_iters: 2_000,
        ..ProptestConfig::with_cases(cases.unwrap_or(default))
    }
}

proptest! {
    #![proptest_config(cases(1_500))]

    /// Own and foreign edits, undo and redo, restarts.
    #[test]
    fn a_script_leaves_what_the_model_says(documents in proptest::collection::vec(document(), 2), script in script()) {
        let mut world = World::new(&documents);
        for step in &script {
            world.step(step);
        }
        world.finish();
    }

}

proptest! {
    #![proptest_config(cases(400))]

    /// Undoing everything leads back to the first byte, redoing everything to the last.
    #[test]
    fn all_the_way_back_and_forth(text in document(), script in own_script()) {
        let mut world = World::new(&[text]);
        let mut states = vec![world.now.clone()];
        for step in &script {
            world.step(step);
            if states.last() != Some(&world.now) {
                states.push(world.now.clone());
            }
        }
        let mut at = states.len() - 1;
        let look = |world: &World| fs::read(world.folder.path().join("a.md")).unwrap();
        for _ in 0..2 {
            while take_back(&world.editor, &undo("a.md", false)).is_ok() {
                at -= 1;
                prop_assert_eq!(&look(&world), &states[at].bytes["a.md"]);
            }
            prop_assert_eq!(at, 0);
            world.editor = open(world.folder.path());
            while take_back(&world.editor, &undo("a.md", true)).is_ok() {
                at += 1;
                prop_assert_eq!(&look(&world), &states[at].bytes["a.md"]);
            }
            prop_assert_eq!(at, states.len() - 1);
        }
        let ids = world.editor.view(&note("a.md")).unwrap().ids().to_vec();
        let expected = states[at].sections["a.md"].iter().map(|known| known.id.clone());
        prop_assert_eq!(ids, expected.collect::<Vec<_>>());
    }

}

proptest! {
    #![proptest_config(cases(800))]

    /// A batch is all of its operations one after the other, or nothing, and is undone as one.
    #[test]
    fn a_batch_is_a_sequence(documents in proptest::collection::vec(document(), 2), script in own_script()) {
        let one_by_one = World::new(&documents);
        let at_once = one_by_one.copied();
        prop_assert_eq!(&one_by_one.now, &at_once.now);
        let paths = ["a.md", "b.md"];
        let mut operations = Vec::new();
        let mut refused = None;
        for step in &script {
            let path = paths[step.document];
            let Some(operation) = operations::operation(&at_once.now, &step.act, Some(path), "n.md") else { continue };
            match write(&one_by_one.editor, vec![operation.clone()]) {
                Ok(_) => operations.push(operation),
                Err(error) => {
                    refused = Some((operation, error));
                    break;
                }
            }
        }
        let text = |world: &World, path: &str| fs::read(world.folder.path().join(path)).unwrap();
        if let Some((operation, error)) = refused {
            let mut all = operations.clone();
            all.push(operation);
            // A section that the same request has created or deleted has no id and no entry yet.
            let gone = |error: EditorError| match error {
                EditorError::SectionDeleted { .. } | EditorError::SectionNotFound { .. } => {
                    EditorError::SectionNotFound { section_id: None, near: Vec::new() }
                }
                EditorError::Reparents { mut section } if !at_once.knows(&section.id) => {
                    section.id.clear();
                    EditorError::Reparents { section }
                }
                error => error,
            };
            prop_assert_eq!(gone(write(&at_once.editor, all).unwrap_err()), gone(error));
            for path in paths {
                prop_assert_eq!(&text(&at_once, path), &at_once.now.bytes[path]);
            }
        }
        let report = write(&at_once.editor, operations).unwrap();
        for path in paths {
            prop_assert_eq!(text(&at_once, path), text(&one_by_one, path));
            let ids = |world: &World| world.editor.view(&note(path)).unwrap().ids().to_vec();
            let old: Vec<String> = at_once.now.sections[path].iter().map(|known| known.id.clone()).collect();
            let kept = |ids: Vec<String>| -> Vec<Option<String>> {
                ids.into_iter().map(|id| old.contains(&id).then_some(id)).collect()
            };
            prop_assert_eq!(kept(ids(&at_once)), kept(ids(&one_by_one)));
        }
        if let Some(document) = report.documents.first().filter(|_| report.entry.is_some()) {
            take_back(&at_once.editor, &undo(&document.path, false)).unwrap();
            for path in paths {
                prop_assert_eq!(&text(&at_once, path), &at_once.now.bytes[path]);
            }
        }
    }
}
