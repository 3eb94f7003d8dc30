//! Which folders are skills, and what callers see of them.

use std::{cell::Cell, collections::BTreeMap};

use super::*;

/// Files in memory. A front matter is JSON up to the first line break.
#[derive(Default)]
struct Drawer {
    files: BTreeMap<String, Vec<u8>>,
    reads: Cell<usize>,
}

impl Drawer {
    fn with(mut self, path: &str, bytes: &[u8]) -> Self {
        self.files.insert(path.to_owned(), bytes.to_owned());
        self
    }

    /// Adds a `SKILL.md` with these values in its front matter.
    fn skill(self, folder: &str, name: &str, description: &str) -> Self {
        let head = json!({ "name": name, "description": description });
        self.with(
            &format!("{folder}/SKILL.md"),
            format!("{head}\nText").as_bytes(),
        )
    }

    fn visible(&self, hidden: &[&str]) -> Vec<Value> {
        self.seen(hidden, |skills| {
            skills.page(0, SkillBudget::PAGE, &|| false).0
        })
    }

    fn seen<T>(&self, hidden: &[&str], look: impl FnOnce(&VisibleSkills<'_>) -> T) -> T {
        let shows = |uri: &str| !hidden.contains(&uri);
        let policy = SkillPolicy {
            shows: &shows,
            hides_file: &|uri| hidden.contains(&uri),
        };
        look(&VisibleSkills::new(self, policy))
    }
}

impl SkillFiles for Drawer {
    fn folders(&self) -> Vec<String> {
        let manifests = self
            .files
            .keys()
            .filter_map(|path| path.strip_suffix("/SKILL.md"));
        manifests.map(str::to_owned).collect()
    }

    fn files<'a>(&'a self, folder: &'a str) -> Box<dyn Iterator<Item = String> + 'a> {
        let start = format!("{folder}/");
        let below = self
            .files
            .keys()
            .filter(move |path| path.starts_with(&start));
        Box::new(below.cloned())
    }

    fn size(&self, path: &str) -> Option<u64> {
        self.files.get(path).map(|bytes| bytes.len() as u64)
    }

    fn read(&self, path: &str, limit: u64) -> Option<Vec<u8>> {
        self.reads.set(self.reads.get() + 1);
        let bytes = self.files.get(path)?;
        (bytes.len() as u64 <= limit).then(|| bytes.clone())
    }

    fn front_matter(&self, text: &[u8]) -> Option<JsonObject> {
        let line = text.split(|byte| *byte == b'\n').next()?;
        serde_json::from_slice(line).ok()
    }
}

fn uris(entries: &[Value]) -> Vec<&str> {
    entries
        .iter()
        .filter_map(|entry| entry["uri"].as_str())
        .collect()
}

fn files(entry: &Value) -> Vec<&str> {
    uris(entry["resources"].as_array().unwrap())
}

#[test]
fn a_skill_has_the_name_of_its_folder_and_a_description() {
    let long = "x".repeat(MAX_NAME_CHARS);
    let too_long = "x".repeat(MAX_NAME_CHARS + 1);
    for name in ["a", "a-1", "0", &long] {
        let drawer = Drawer::default().skill(name, name, "What it is for.");
        assert_eq!(drawer.visible(&[]).len(), 1, "{name}");
    }
    for name in ["-a", "a-", "a--b", "A", "a_b", "a b", "é", &too_long] {
        let drawer = Drawer::default().skill(name, name, "What it is for.");
        assert!(drawer.visible(&[]).is_empty(), "{name}");
    }
    let most = "é".repeat(MAX_DESCRIPTION_CHARS);
    assert_eq!(
        Drawer::default().skill("a", "a", &most).visible(&[]).len(),
        1
    );
    let more = format!("{most}é");
    for (name, description) in [("b", "x"), ("a", ""), ("a", " \n"), ("a", &more)] {
        let drawer = Drawer::default().skill("a", name, description);
        assert!(drawer.visible(&[]).is_empty(), "{name} {description:?}");
    }
    for text in ["", "none", "[]", "{}", "{\"name\":\"a\",\"description\":1}"] {
        let drawer = Drawer::default().with("a/SKILL.md", text.as_bytes());
        assert!(drawer.visible(&[]).is_empty(), "{text:?}");
    }
    let mut long = json!({ "name": "a", "description": "x" })
        .to_string()
        .into_bytes();
    long.push(b'\n');
    long.resize(MAX_MANIFEST_BYTES as usize, b'x');
    let drawer = Drawer::default().with("a/SKILL.md", &long);
    assert_eq!(drawer.visible(&[]).len(), 1);
    assert!(drawer.seen(&[], |skills| skills.resource("a").is_some()));
    long.push(b'x');
    let drawer = Drawer::default().with("a/SKILL.md", &long);
    assert!(drawer.visible(&[]).is_empty());
    assert!(drawer.seen(&[], |skills| skills.resource("a").is_none()));
    let much =
        json!({ "name": "a", "description": "x", "more": "y".repeat(MAX_FRONT_MATTER_BYTES) });
    let drawer = Drawer::default().with("a/SKILL.md", much.to_string().as_bytes());
    assert!(drawer.visible(&[]).is_empty());
}

#[test]
fn an_entry_has_every_file_with_its_digest_and_size() {
    let drawer = Drawer::default()
        .skill("tools/make tea/brew", "brew", "Tea.")
        .with("tools/make tea/brew/cups/ü.txt", b"abc")
        .with("tools/make tea/other.md", b"not part of it");
    let entries = drawer.visible(&[]);
    assert_eq!(entries[0]["uri"], "skill://tools/make%20tea/brew/SKILL.md");
    assert_eq!(entries[0]["frontmatter"]["description"], "Tea.");
    assert_eq!(
        entries[0]["resources"][1],
        json!({
            "uri": "skill://tools/make%20tea/brew/cups/%C3%BC.txt",
            "digest": "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            "size": 3,
        })
    );
    assert_eq!(files(&entries[0]).len(), 2);
}

#[test]
fn a_skill_beyond_the_limits_is_not_served() {
    let with_files = |count: usize| {
        let skill = Drawer::default().skill("a", "a", "x");
        (0..count).fold(skill, |drawer, n| drawer.with(&format!("a/{n}"), b""))
    };
    assert_eq!(
        files(&with_files(MAX_FILES - 1).visible(&[])[0]).len(),
        MAX_FILES
    );
    let too_many = with_files(MAX_FILES);
    assert!(too_many.visible(&[]).is_empty());
    too_many.seen(&[], |skills| {
        assert!(skills.read("skill://a/SKILL.md").is_none());
        assert!(skills.children("skill://a").is_none());
        assert!(skills.resource("a").is_none());
    });
    let skill = Drawer::default().skill("a", "a", "x");
    let head = skill.size("a/SKILL.md").unwrap();
    let rest = vec![0; (MAX_BYTES - head) as usize];
    assert_eq!(skill.with("a/big", &rest).visible(&[]).len(), 1);
    let skill = Drawer::default().skill("a", "a", "x").with("a/one", b"1");
    assert!(skill.with("a/big", &rest).visible(&[]).is_empty());
}

#[test]
fn a_file_belongs_to_the_innermost_skill_and_is_hidden_with_it() {
    let drawer = Drawer::default()
        .skill("a", "a", "Outer.")
        .with("a/x", b"x")
        .skill("a/b", "b", "Inner.")
        .with("a/b/y", b"y")
        .skill("a/b/c", "c", "Innermost.");
    let all = drawer.visible(&[]);
    let (a, b, c) = (
        "skill://a/SKILL.md",
        "skill://a/b/SKILL.md",
        "skill://a/b/c/SKILL.md",
    );
    assert_eq!(uris(&all), [a, b, c]);
    assert_eq!(files(&all[0]), [a, b, c, "skill://a/b/y", "skill://a/x"]);
    let without_b = drawer.visible(&[b]);
    assert_eq!(uris(&without_b), [a, c]);
    assert_eq!(files(&without_b[0]), [a, c, "skill://a/x"]);
    drawer.seen(&[b], |skills| {
        assert_eq!(skills.owner("skill://a/b/y").as_deref(), Some(b));
        assert!(skills.read("skill://a/b/y").is_none());
        assert!(skills.read(c).is_some());
        assert!(skills.children("skill://a/b").is_some(), "c is in it");
    });
    let without_a = drawer.visible(&[a]);
    assert_eq!(uris(&without_a), [b, c]);
    drawer.seen(&[a], |skills| {
        assert!(skills.read("skill://a/x").is_none());
        assert!(skills.read("skill://a/b/y").is_some());
        assert!(skills.children("skill://a").is_none());
    });
    // A single file can be hidden too.
    assert_eq!(files(&drawer.visible(&["skill://a/x"])[0]).len(), 4);
}

#[test]
fn what_is_not_a_skill_is_part_of_the_one_around_it() {
    let drawer = Drawer::default()
        .skill("a", "a", "x")
        .skill("a/b", "wrong", "x")
        .skill("bad", "wrong", "x")
        .skill("bad/good", "good", "x")
        .with("bad/x", b"x");
    let entries = drawer.visible(&[]);
    assert_eq!(
        uris(&entries),
        ["skill://a/SKILL.md", "skill://bad/good/SKILL.md"]
    );
    drawer.seen(&[], |skills| {
        assert!(skills.read("skill://a/b/SKILL.md").is_some());
        assert!(skills.read("skill://bad/x").is_none());
        assert!(skills.children("skill://bad").is_none());
        let seen = skills.children("skill://a/b").unwrap();
        assert!(matches!(&seen[..], [SkillChild::Other { name, .. }] if name == "SKILL.md"));
    });
}

#[test]
fn a_folder_lists_its_direct_children() {
    let drawer = Drawer::default()
        .skill("a", "a", "x")
        .with("a/my files/1.png", b"1")
        .with("a/my files/deep/2", b"2")
        .with("a/z.sh", b"echo");
    let named = |child: &SkillChild| match child {
        SkillChild::Manifest(resource) => (resource.uri.clone(), Some(resource.mime_type)),
        SkillChild::Other { uri, mime_type, .. } => (uri.clone(), *mime_type),
    };
    let children = |uri: &str| {
        drawer.seen(&[], |skills| {
            let children = skills.children(uri)?;
            Some(children.iter().map(named).collect::<Vec<_>>())
        })
    };
    let expected = [
        ("skill://a/SKILL.md", Some("text/markdown")),
        ("skill://a/my%20files", Some("inode/directory")),
        ("skill://a/z.sh", Some("application/x-sh")),
    ];
    let expected = expected.map(|(uri, mime)| (uri.to_owned(), mime));
    assert_eq!(children("skill://a").unwrap(), expected);
    let expected = [
        ("skill://a/my%20files/1.png", Some("image/png")),
        ("skill://a/my%20files/deep", Some("inode/directory")),
    ];
    let expected = expected.map(|(uri, mime)| (uri.to_owned(), mime));
    assert_eq!(children("skill://a/my%20files").unwrap(), expected);
    for wrong in [
        "skill://",
        "skill://a/",
        "skill://a//my%20files",
        "skill://a/my files",
        "skill://a/my%20files/",
        "skill://a/SKILL.md",
        "skill://a/none",
        "skill://b",
        "skill://a/../a",
    ] {
        assert!(children(wrong).is_none(), "{wrong}");
    }
}

#[test]
fn only_the_address_of_a_listing_is_read() {
    let drawer = Drawer::default().skill("a b/c", "c", "x");
    drawer.seen(&[], |skills| {
        assert!(skills.read("skill://a%20b/c/SKILL.md").is_some());
        for wrong in [
            "skill://a b/c/SKILL.md",
            "skill://a%20b/%63/SKILL.md",
            "skill://a%20b/c/SKILL.md#x",
            "skill://a%20b/c/SKILL.md?x",
            "skill://a%20b/./c/SKILL.md",
            "skill://a%20b/x/../c/SKILL.md",
            "skill:///a%20b/c/SKILL.md",
            "skill://A%20B/c/SKILL.md",
            "skill://a%20b/c/skill.md",
            "skill://a%20b/c",
        ] {
            assert!(skills.read(wrong).is_none(), "{wrong}");
            assert!(skills.folder_at(wrong).is_none(), "{wrong}");
        }
    });
}

#[test]
fn pages_take_bounded_work_and_cover_everything_once() {
    let mut drawer = Drawer::default();
    for n in 0..250 {
        let name = format!("s{n:03}");
        drawer = drawer
            .skill(&name, &name, "x")
            .with(&format!("{name}/data"), &[0; 100]);
    }
    let drawer = drawer.skill("s100", "wrong", "x");
    for (budget, most) in [
        (SkillBudget::PAGE, 100),
        (
            SkillBudget {
                files: 20,
                ..SkillBudget::PAGE
            },
            10,
        ),
        (
            SkillBudget {
                bytes: 1_000,
                ..SkillBudget::PAGE
            },
            10,
        ),
    ] {
        let (mut all, mut start) = (Vec::new(), Some(0));
        while let Some(at) = start {
            drawer.reads.set(0);
            let (page, next) = drawer.seen(&[], |skills| skills.page(at, budget, &|| false));
            assert!(page.len() <= most && drawer.reads.get() <= 2 * most + 2);
            assert!(next.is_none_or(|next| next > at));
            all.extend(page);
            start = next;
        }
        assert_eq!(all.len(), 249);
        assert!(all.is_sorted_by(|one, other| one["uri"].as_str() < other["uri"].as_str()));
    }
    let (page, next) = drawer.seen(&[], |skills| skills.page(0, SkillBudget::PAGE, &|| true));
    assert!(page.is_empty() && next == Some(0));
}

#[test]
fn a_file_that_is_gone_is_not_part_of_a_skill() {
    struct Vanishing(Drawer);
    impl SkillFiles for Vanishing {
        fn folders(&self) -> Vec<String> {
            self.0.folders()
        }
        fn files<'a>(&'a self, folder: &'a str) -> Box<dyn Iterator<Item = String> + 'a> {
            Box::new(self.0.files(folder).chain(["a/gone".to_owned()]))
        }
        fn size(&self, path: &str) -> Option<u64> {
            self.0.size(path)
        }
        fn read(&self, path: &str, limit: u64) -> Option<Vec<u8>> {
            self.0.read(path, limit)
        }
        fn front_matter(&self, text: &[u8]) -> Option<JsonObject> {
            self.0.front_matter(text)
        }
    }
    let vanishing = Vanishing(Drawer::default().skill("a", "a", "x"));
    let policy = SkillPolicy {
        shows: &|_| true,
        hides_file: &|_| false,
    };
    let skills = VisibleSkills::new(&vanishing, policy);
    let mut budget = SkillBudget::PAGE;
    let entry = skills.entry("a", &mut budget).unwrap();
    assert_eq!(files(&entry), ["skill://a/SKILL.md"]);
    assert!(skills.read("skill://a/gone").is_none());
}
