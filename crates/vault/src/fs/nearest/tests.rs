//! The rule on real folders, and against a simpler formulation of itself.

use std::fs;

use proptest::prelude::*;

use super::*;

/// A home folder with a few folders in it, which nobody else may write to.
struct Tree {
    folder: tempfile::TempDir,
}

impl Tree {
    fn new(folders: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for below in folders {
            fs::create_dir_all(folder.path().join(below)).unwrap();
        }
        Self { folder }
    }

    fn at(&self, below: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(below)
    }

    /// The root of a place, as a path below the top, and the name of the mark.
    #[track_caller]
    fn root_of(&self, place: &str) -> (String, &'static str) {
        let home = self.at("home");
        let found = NearestRoot::of(&self.at(place), Some(&home)).unwrap();
        let below = found.folder.strip_prefix(self.at("")).unwrap();
        let mark = found.mark.map_or("", RootMark::name);
        (below.to_str().unwrap().to_owned(), mark)
    }
}

#[test]
fn the_root_is_the_nearest_marked_folder_upward_else_the_folder_itself() {
    let tree = Tree::new(&[
        "home/plain/deep",
        "home/vault/.obsidian",
        "home/vault/areas/tax",
        "home/vault/repository/.git/objects",
        "home/vault/repository/docs",
        "home/edited/.sectile",
        "home/edited/.git",
        "home/edited/a",
        "home/linked",
        "home/tree/docs",
    ]);
    fs::write(tree.at("home/vault/areas/tax.md"), "# T\n").unwrap();
    fs::write(tree.at("home/tree/.git"), "gitdir: elsewhere\n").unwrap();
    for (place, root, mark) in [
        ("home/plain/deep", "home/plain/deep", ""),
        ("home/plain/deep/new.md", "home/plain/deep", ""),
        ("home/vault", "home/vault", ".obsidian"),
        ("home/vault/areas", "home/vault", ".obsidian"),
        ("home/vault/areas/tax", "home/vault", ".obsidian"),
        ("home/vault/areas/tax.md", "home/vault", ".obsidian"),
        ("home/vault/areas/new.md", "home/vault", ".obsidian"),
        // The nearest wins.
        (
            "home/vault/repository/docs/x.md",
            "home/vault/repository",
            ".git",
        ),
        ("home/edited/a/x.md", "home/edited", ".sectile"),
        // A work tree has a file.
        ("home/tree/docs", "home/tree", ".git"),
        // Whatever is inside a mark belongs to its folder.
        ("home/vault/.obsidian", "home/vault", ".obsidian"),
    ] {
        assert_eq!(tree.root_of(place), (root.to_owned(), mark), "{place}");
    }
    let missing = NearestRoot::of(&tree.at("home/none/x.md"), None);
    assert_eq!(missing, Err(RootError::NotFound));
}

#[cfg(unix)]
#[test]
fn a_link_belongs_to_the_root_that_it_leads_to() {
    use std::os::unix::fs::symlink;
    let tree = Tree::new(&[
        "home/one/.obsidian",
        "home/two/.git",
        "home/two/sub",
        "home/odd",
    ]);
    fs::write(tree.at("home/two/sub/x.md"), "# X\n").unwrap();
    symlink(tree.at("home/two/sub/x.md"), tree.at("home/one/x.md")).unwrap();
    symlink(tree.at("home/two/sub"), tree.at("home/one/sub")).unwrap();
    symlink("nowhere", tree.at("home/one/dangling.md")).unwrap();
    // A link in place of the private folder is not one.
    symlink(tree.at("home/one"), tree.at("home/odd/.sectile")).unwrap();
    for (place, root) in [
        ("home/one/x.md", "home/two"),
        ("home/one/sub", "home/two"),
        ("home/one/sub/x.md", "home/two"),
        ("home/one/sub/new.md", "home/two"),
        ("home/one/dangling.md", "home/one"),
    ] {
        assert_eq!(tree.root_of(place).0, root, "{place}");
    }
    assert_eq!(tree.root_of("home/odd"), ("home/odd".to_owned(), ""));
}

#[test]
fn the_home_folder_is_a_root_of_what_lies_further_down_only_with_a_history() {
    let tree = Tree::new(&["home/.git", "home/.obsidian", "home/scratch", ".obsidian"]);
    assert_eq!(tree.root_of("home/scratch").0, "home/scratch");
    // For a path directly in it, it is the folder itself anyway.
    assert_eq!(tree.root_of("home").0, "home");
    fs::create_dir(tree.at("home/.sectile")).unwrap();
    assert_eq!(
        tree.root_of("home/scratch"),
        ("home".to_owned(), ".sectile")
    );
}

#[cfg(unix)]
#[test]
fn a_folder_that_everybody_may_write_to_is_not_a_root_of_what_lies_below() {
    use std::os::unix::fs::PermissionsExt as _;
    let tree = Tree::new(&["shared/.git", "shared/.sectile", "shared/mine/deep"]);
    assert_eq!(tree.root_of("shared/mine/deep").0, "shared");
    fs::set_permissions(tree.at("shared"), fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(tree.root_of("shared/mine/deep").0, "shared/mine/deep");
    // A folder that is named is its own root.
    assert_eq!(tree.root_of("shared").0, "shared");
}

/// A path from the top down: `/0/1/2`.
fn path(depth: usize) -> PathBuf {
    let mut path = PathBuf::from("/");
    path.extend((0..depth).map(|name| name.to_string()));
    path
}

fn folder() -> impl Strategy<Value = Option<FolderFacts>> {
    let mark = prop_oneof![
        4 => Just(None),
        1 => Just(Some(RootMark::History)),
        1 => Just(Some(RootMark::Obsidian)),
        1 => Just(Some(RootMark::Git)),
    ];
    let folder = (mark, 0..8_u32, 0..8_u32, 0..8_u32).prop_map(|(mark, device, owner, open)| {
        FolderFacts {
            mark,
            // Mostly the same.
            device: u64::from(device == 0),
            owner: u32::from(owner == 0),
            is_open: open == 0,
        }
    });
    prop_oneof![9 => folder.prop_map(Some), 1 => Just(None)]
}

proptest! {
    /// Every folder that may be the root is listed, then the nearest is taken.
    #[test]
    fn the_rule_says_what_it_says(
        chain in prop::collection::vec(folder(), 1..8),
        home in prop::option::of(0..8_usize),
    ) {
        let own = chain.len() - 1;
        let look = |at: &Path| {
            let depth = at.components().count() - 1;
            chain.get(depth).copied().flatten()
        };
        let found = decided(&path(own), home.map(path).as_deref(), &look);
        let may_count = |depth: usize| -> bool {
            let between = chain.get(depth..=own).unwrap_or_default();
            let Some(first) = chain[own] else { return false };
            let Some(this) = chain[depth] else { return false };
            let is_marked = this.mark.is_some();
            if depth == own {
                return is_marked;
            }
            let all_are_mine = between.iter().take(own - depth).all(|folder| {
                folder.is_some_and(|folder| {
                    folder.device == first.device && folder.owner == first.owner && !folder.is_open
                })
            });
            let home_is_passed = home.is_some_and(|home| home > depth && home <= own);
            let is_home = home == Some(depth);
            is_marked
                && depth > 0
                && all_are_mine
                && !home_is_passed
                && (!is_home || this.mark == Some(RootMark::History))
        };
        let expected = (0..=own).rev().find(|depth| may_count(*depth));
        match expected {
            Some(depth) => {
                prop_assert_eq!(found.folder, path(depth));
                prop_assert_eq!(found.mark, chain[depth].and_then(|folder| folder.mark));
            }
            None => {
                prop_assert_eq!(found.folder, path(own));
                prop_assert_eq!(found.mark, None);
            }
        }
    }
}
