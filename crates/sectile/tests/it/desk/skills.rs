//! Skills: folders with a `SKILL.md` below the roots, and the one about the desk itself.

use std::{collections::BTreeSet, fs};

use sectile_markdown::Digest;
use serde_json::{Value, json};

use super::callers::{key_of, key_with_role, serve};
use crate::fixture::{
    DeskClient, Era, Http, STATIC, TestDesk, TestVault, sectile, tenants::asked_of_tenant,
};

const OWN: &str = "skill://working-at-the-desk/SKILL.md";
const REVIEW: &str = "skill://skills/review/SKILL.md";

const REVIEW_TEXT: &str = "---\nname: review\ndescription: Review a note before it is sent.\nlicense: MIT\nmetadata:\n  version: \"1.10\"\n  since: 2026-01-01\n  steps: [1, 2.5, true, null]\n---\n# Review\n\nFollow [the list](references/list.md).\n";

/// A skill with files of every kind, and notes that are not skills.
const SKILLS: &[(&str, &[u8])] = &[
    ("skills/review/SKILL.md", REVIEW_TEXT.as_bytes()),
    ("skills/review/references/list.md", b"# List\n\n- One\n"),
    ("skills/review/scripts/check it.py", b"print('ok')\n"),
    (
        "skills/review/assets/logo.png",
        b"\x89PNG\r\n\x1a\n\x00\xff",
    ),
    ("skills/review/LICENSE", "Fr\u{e9}e\r\n".as_bytes()),
    ("skills/review/empty.txt", b""),
    ("projects/plan.md", b"# Plan\n\nSee [[SKILL]].\n"),
];

fn desk() -> TestDesk {
    with_skills(TestDesk::new(&[]))
}

fn with_skills(desk: TestDesk) -> TestDesk {
    for (path, bytes) in SKILLS {
        desk.overwrite(path, bytes);
    }
    desk
}

fn skill_text(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Skill {name}.\n---\n# {name}\n")
}

/// Asks a server on either transport.
trait Asking {
    fn result(&mut self, method: &str, params: Value) -> Value;
}

impl Asking for DeskClient<'_> {
    fn result(&mut self, method: &str, params: Value) -> Value {
        let answer = self.ask(method, params);
        assert!(answer["result"].is_object(), "{method}: {answer}");
        answer["result"].clone()
    }
}

/// A client over HTTP, without a session.
struct HttpClient<'a> {
    server: &'a Http<'a>,
    headers: Vec<(&'a str, &'a str)>,
    is_tenant: bool,
}

impl HttpClient<'_> {
    fn ask(&self, method: &str, params: Value) -> Value {
        let message = Era::Stateless.request(7, method, params);
        let ask = |message: &Value| {
            let answer = self
                .server
                .post_with(Era::Stateless, message, &self.headers);
            answer.json()
        };
        match self.is_tenant {
            true => asked_of_tenant(&message, ask),
            false => ask(&message),
        }
    }
}

impl Asking for HttpClient<'_> {
    fn result(&mut self, method: &str, params: Value) -> Value {
        let answer = self.ask(method, params);
        assert!(answer["result"].is_object(), "{method}: {answer}");
        answer["result"].clone()
    }
}

/// Returns all skills, from as many pages as there are.
fn listed(client: &mut dyn Asking) -> Vec<Value> {
    let (mut skills, mut params) = (Vec::new(), json!({}));
    loop {
        let page = client.result("skills/list", params);
        skills.extend(page["skills"].as_array().unwrap().iter().cloned());
        match page["nextCursor"].as_str() {
            Some(cursor) => params = json!({ "cursor": cursor }),
            None => return skills,
        }
    }
}

fn uris(skills: &[Value]) -> Vec<&str> {
    let uris = skills.iter().map(|skill| skill["uri"].as_str().unwrap());
    uris.collect()
}

/// Reads a resource as bytes.
fn bytes(client: &mut dyn Asking, uri: &str) -> Vec<u8> {
    let result = client.result("resources/read", json!({ "uri": uri }));
    let content = &result["contents"][0];
    assert_eq!(content["uri"], uri);
    match (content["text"].as_str(), content["blob"].as_str()) {
        (Some(text), None) => text.as_bytes().to_vec(),
        (None, Some(blob)) => decoded(blob),
        _ => panic!("neither text nor bytes: {content}"),
    }
}

fn decoded(base64: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = base64.bytes().filter(|byte| *byte != b'=');
    let values: Vec<u32> = digits
        .map(|byte| DIGITS.iter().position(|digit| *digit == byte).unwrap() as u32)
        .collect();
    let group = |group: &[u32]| {
        let bits = group.iter().fold(0, |bits, value| bits << 6 | value) << (6 * (4 - group.len()));
        let [_, bytes @ ..] = bits.to_be_bytes();
        bytes[..group.len() - 1].to_vec()
    };
    values.chunks(4).flat_map(group).collect()
}

/// Checks that every file of a skill is what its entry says.
fn check_files(client: &mut dyn Asking, skill: &Value) {
    for file in skill["resources"].as_array().unwrap() {
        let read = bytes(client, file["uri"].as_str().unwrap());
        assert_eq!(file["size"], read.len(), "{file}");
        assert_eq!(file["digest"], format!("sha256:{}", Digest::of(&read)));
    }
}

#[test]
fn entries_name_every_file_and_digests_are_those_of_the_bytes() {
    let desk = desk();
    let expected: BTreeSet<Vec<u8>> = SKILLS[..6]
        .iter()
        .map(|(_, bytes)| bytes.to_vec())
        .collect();
    let http = Http::spawn(&desk.vault, desk.command(""));
    let (mut one, mut other) = (
        desk.open_with(Era::Handshake, ""),
        desk.open_with(Era::Stateless, ""),
    );
    let mut over_http = HttpClient {
        server: &http,
        headers: Vec::new(),
        is_tenant: desk.is_tenant(),
    };
    let mut seen = Vec::new();
    let clients: [&mut dyn Asking; 3] = [&mut one, &mut other, &mut over_http];
    for client in clients {
        let skills = listed(client);
        assert_eq!(uris(&skills), [REVIEW, OWN]);
        assert_eq!(
            skills[0]["frontmatter"],
            json!({
                "name": "review",
                "description": "Review a note before it is sent.",
                "license": "MIT",
                "metadata": { "version": "1.10", "since": "2026-01-01", "steps": [1, 2.5, true, null] },
            })
        );
        let files = skills[0]["resources"].as_array().unwrap();
        assert_eq!(
            uris(files),
            [
                "skill://skills/review/LICENSE",
                REVIEW,
                "skill://skills/review/assets/logo.png",
                "skill://skills/review/empty.txt",
                "skill://skills/review/references/list.md",
                "skill://skills/review/scripts/check%20it.py",
            ]
        );
        let mut read = BTreeSet::new();
        for file in uris(files) {
            read.insert(bytes(client, file));
        }
        assert_eq!(read, expected);
        for skill in &skills {
            check_files(client, skill);
            let got = client.result("skills/get", json!({ "uri": skill["uri"] }));
            assert_eq!(got["skill"], *skill);
        }
        let resources = client.result("resources/list", json!({}))["resources"].clone();
        assert_eq!(uris(resources.as_array().unwrap()), [REVIEW, OWN]);
        assert_eq!(
            resources[0]["description"],
            "Review a note before it is sent."
        );
        seen.push((skills, resources));
    }
    assert!(seen.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn folders_of_a_skill_are_listed_level_by_level() {
    let desk = desk();
    let mut client = desk.open();
    let mut names = |uri: &str| {
        let result = client.result("resources/directory/read", json!({ "uri": uri }));
        let children = result["resources"].as_array().unwrap().clone();
        let name = |child: &Value| (child["name"].clone(), child["mimeType"].clone());
        children.iter().map(name).collect::<Vec<_>>()
    };
    assert_eq!(
        names("skill://skills/review"),
        [
            (json!("LICENSE"), Value::Null),
            (json!("review"), json!("text/markdown")),
            (json!("assets"), json!("inode/directory")),
            (json!("empty.txt"), json!("text/plain")),
            (json!("references"), json!("inode/directory")),
            (json!("scripts"), json!("inode/directory")),
        ]
    );
    assert_eq!(
        names("skill://skills/review/scripts"),
        [(json!("check it.py"), json!("text/x-python"))]
    );
    assert_eq!(names("skill://working-at-the-desk").len(), 1);
    for uri in [
        "skill://skills",
        "skill://projects",
        "skill://skills/review/",
        REVIEW,
    ] {
        let answer = client.ask("resources/directory/read", json!({ "uri": uri }));
        assert_eq!(answer["error"]["code"], -32602, "{uri}: {answer}");
    }
}

#[test]
fn an_entry_and_its_files_follow_the_disk_with_the_next_call() {
    let desk = desk();
    let mut client = desk.open();
    let first = client.result("skills/get", json!({ "uri": REVIEW }))["skill"].clone();
    // The same length, so that only the bytes differ.
    desk.overwrite("skills/review/references/list.md", "# List\n\n- Two\n");
    desk.overwrite("skills/review/scripts/new.sh", "echo\n");
    desk.remove("skills/review/LICENSE");
    let second = client.result("skills/get", json!({ "uri": REVIEW }))["skill"].clone();
    let digest = |skill: &Value, uri: &str| {
        let files = skill["resources"].as_array().unwrap();
        let found = files.iter().find(|file| file["uri"] == uri);
        found.map(|file| file["digest"].clone())
    };
    let list = "skill://skills/review/references/list.md";
    assert_ne!(digest(&first, list), digest(&second, list));
    assert!(digest(&second, "skill://skills/review/scripts/new.sh").is_some());
    assert!(digest(&second, "skill://skills/review/LICENSE").is_none());
    check_files(&mut client, &second);
    // What the desk itself writes is there at once, and a skill can disappear.
    let text = skill_text("tidy");
    client.json(
        "create",
        json!({ "path": "skills/tidy/SKILL.md", "text": text }),
    );
    let skills = listed(&mut client);
    assert_eq!(uris(&skills), [REVIEW, "skill://skills/tidy/SKILL.md", OWN]);
    for path in desk
        .all()
        .keys()
        .filter(|path| path.starts_with("skills/review/"))
    {
        desk.remove(path);
    }
    assert_eq!(
        uris(&listed(&mut client)),
        ["skill://skills/tidy/SKILL.md", OWN]
    );
    let answer = client.ask("resources/read", json!({ "uri": list }));
    assert_eq!(
        answer["error"]["data"]["kind"], "unknown_resource",
        "{answer}"
    );
}

#[test]
fn what_is_not_a_skill_is_not_served() {
    let desk = TestDesk::in_folder(&[]);
    for (path, text) in [
        ("SKILL.md", skill_text("vault")),
        ("no-front-matter/SKILL.md", "# Text\n".to_owned()),
        (
            "unclosed/SKILL.md",
            "---\nname: unclosed\ndescription: x\n".to_owned(),
        ),
        ("broken/SKILL.md", "---\nname: [broken\n---\n".to_owned()),
        ("other-name/SKILL.md", skill_text("name")),
        ("Upper/SKILL.md", skill_text("Upper")),
        ("under_score/SKILL.md", skill_text("under_score")),
        (
            "no-description/SKILL.md",
            "---\nname: no-description\n---\n".to_owned(),
        ),
        (
            "number/SKILL.md",
            "---\nname: number\ndescription: 7\n---\n".to_owned(),
        ),
        ("lower/skill.md", skill_text("lower")),
        (".hidden/dotted/SKILL.md", skill_text("dotted")),
        (".sectile/inner/SKILL.md", skill_text("inner")),
        (
            "working-at-the-desk/SKILL.md",
            skill_text("working-at-the-desk"),
        ),
        ("working-at-the-desk/extra/SKILL.md", skill_text("extra")),
        ("good/SKILL.md", skill_text("good")),
    ] {
        desk.overwrite(path, text);
    }
    desk.overwrite(
        "bytes/SKILL.md",
        b"---\nname: bytes\ndescription: x\n---\n\xff\xfe",
    );
    let mut client = desk.open();
    let skills = listed(&mut client);
    assert_eq!(uris(&skills), ["skill://good/SKILL.md", OWN]);
    // Our own skill cannot be replaced.
    assert_ne!(
        skills[1]["frontmatter"]["description"],
        "Skill working-at-the-desk."
    );
    for uri in [
        "skill://SKILL.md",
        "skill:///SKILL.md",
        "skill://broken/SKILL.md",
        "skill://other-name/SKILL.md",
        "skill://bytes/SKILL.md",
        "skill://.sectile/inner/SKILL.md",
        "skill://.hidden/dotted/SKILL.md",
        "skill://working-at-the-desk/extra/SKILL.md",
        "skill://good/../good/SKILL.md",
        "skill://good/%2E%2E/good/SKILL.md",
        "skill://good/..%2Fgood/SKILL.md",
        "skill://../good/SKILL.md",
        "skill://good//SKILL.md",
        "skill://good\\SKILL.md",
        "skill://GOOD/SKILL.md",
        "skill://good/SKILL.md\0",
        "file:///etc/passwd",
    ] {
        for method in ["skills/get", "resources/read"] {
            let answer = client.ask(method, json!({ "uri": uri }));
            let kind = &answer["error"]["data"]["kind"];
            assert!(
                kind == "unknown_skill" || kind == "unknown_resource",
                "{uri}: {answer}"
            );
        }
    }
}

#[cfg(unix)]
#[test]
fn links_pipes_and_huge_files_do_no_harm() {
    let desk = TestDesk::in_folder(&[]);
    desk.overwrite("tea/SKILL.md", skill_text("tea"));
    desk.overwrite("private.txt", "outside of the skill");
    fs::create_dir(desk.location("tea/sub")).unwrap();
    for (target, link) in [
        ("../private.txt", "tea/link.txt"),
        ("/etc/passwd", "tea/passwd"),
    ] {
        std::os::unix::fs::symlink(target, desk.location(link)).unwrap();
    }
    std::os::unix::fs::symlink("..", desk.location("tea/sub/up")).unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(desk.location("tea/pipe"))
        .status();
    assert!(made.unwrap().success());
    desk.overwrite("coffee/SKILL.md", skill_text("coffee"));
    let huge = fs::File::create(desk.location("coffee/huge.bin")).unwrap();
    huge.set_len((16 << 20) + 1).unwrap();
    desk.overwrite("crowd/SKILL.md", skill_text("crowd"));
    for n in 0..512 {
        desk.overwrite(&format!("crowd/{n}.txt"), "x");
    }
    let mut client = desk.open();
    let skills = listed(&mut client);
    assert_eq!(uris(&skills), ["skill://tea/SKILL.md", OWN]);
    assert_eq!(
        skills[0]["resources"].as_array().unwrap().len(),
        1,
        "{skills:?}"
    );
    for uri in [
        "skill://tea/link.txt",
        "skill://tea/passwd",
        "skill://tea/pipe",
        "skill://tea/sub/up/private.txt",
        "skill://coffee/huge.bin",
        "skill://coffee/SKILL.md",
        "skill://crowd/SKILL.md",
    ] {
        let answer = client.ask("resources/read", json!({ "uri": uri }));
        assert_eq!(
            answer["error"]["data"]["kind"], "unknown_resource",
            "{uri}: {answer}"
        );
    }
    // One file less, and the crowd is small enough.
    fs::remove_file(desk.location("crowd/0.txt")).unwrap();
    assert_eq!(listed(&mut client).len(), 3);
}

#[test]
fn a_link_that_takes_the_place_of_a_file_is_not_followed() {
    let desk = with_skills(TestDesk::in_folder(&[]));
    desk.overwrite("secret.txt", "never served");
    let mut client = desk.open();
    listed(&mut client);
    #[cfg(unix)]
    {
        let file = desk.location("skills/review/empty.txt");
        fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink("../../secret.txt", &file).unwrap();
        let uri = "skill://skills/review/empty.txt";
        let answer = client.ask("resources/read", json!({ "uri": uri }));
        assert_eq!(
            answer["error"]["data"]["kind"], "unknown_resource",
            "{answer}"
        );
    }
    let text = serde_json::to_string(&listed(&mut client)).unwrap();
    assert!(!text.contains("secret"), "{text}");
}

#[test]
fn thousands_of_skills_come_in_pages() {
    let desk = TestDesk::new(&[]);
    for n in 0..1_200 {
        let name = format!("s{n:04}");
        desk.overwrite(&format!("many/{name}/SKILL.md"), skill_text(&name));
    }
    let mut client = desk.open();
    let (mut sizes, mut seen, mut params) = (Vec::new(), Vec::new(), json!({}));
    loop {
        let page = client.result("skills/list", params);
        let skills = page["skills"].as_array().unwrap();
        sizes.push(skills.len());
        seen.extend(skills.iter().map(|skill| skill["uri"].to_string()));
        match page["nextCursor"].as_str() {
            Some(cursor) => params = json!({ "cursor": cursor }),
            None => break,
        }
    }
    assert!(sizes.iter().all(|size| *size <= 100), "{sizes:?}");
    assert!(seen.len() == 1_201 && seen.is_sorted(), "{}", seen.len());
    let last = client.result(
        "skills/get",
        json!({ "uri": "skill://many/s1199/SKILL.md" }),
    );
    assert_eq!(last["skill"]["frontmatter"]["name"], "s1199");
}

/// Every question whose answer could show that something is there.
fn questions() -> Vec<(&'static str, Value)> {
    let mut questions = vec![
        ("skills/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
    ];
    for uri in [
        "skill://notes/open",
        "skill://notes/open/SKILL.md",
        "skill://notes/open/keys.txt",
        "skill://notes/open/inner",
        "skill://notes/open/inner/SKILL.md",
        "skill://notes/private/spy",
        "skill://notes/private/spy/SKILL.md",
        "skill://notes/private/spy/code.txt",
        "skill://notes/private",
        "skill://notes/crowd",
        "skill://notes/crowd/SKILL.md",
        "skill://private/spy/SKILL.md",
    ] {
        for method in ["skills/get", "resources/read", "resources/directory/read"] {
            questions.push((method, json!({ "uri": uri })));
        }
    }
    questions
}

#[test]
fn what_rules_hide_answers_like_what_does_not_exist() {
    let rules = "hide = ['private/', '*.secret', '**/open/inner/', '/crowd/x*']";
    let read = "read = ['open/SKILL.md', 'open/keys.txt', 'crowd/SKILL.md']";
    for rules in [rules, read] {
        let settings = format!("[desk.roots.notes]\npath = 'vault'\n{rules}\n");
        let (with, without) = (TestDesk::new(&[]), TestDesk::new(&[]));
        for desk in [&with, &without] {
            desk.overwrite("open/SKILL.md", skill_text("open"));
            desk.overwrite("open/keys.txt", "visible");
            desk.overwrite("crowd/SKILL.md", skill_text("crowd"));
        }
        with.overwrite("open/code.secret", "hidden");
        with.overwrite("open/inner/SKILL.md", skill_text("inner"));
        with.overwrite("private/spy/SKILL.md", skill_text("spy"));
        with.overwrite("private/spy/code.txt", "hidden");
        // More files than a skill may have, all of them hidden.
        for n in 0..600 {
            with.overwrite(&format!("crowd/x{n}"), "hidden");
        }
        for era in Era::BOTH {
            let mut one = with.open_with(era, &settings);
            let mut other = without.open_with(era, &settings);
            for (method, params) in questions() {
                let seen = one.ask(method, params.clone());
                assert_eq!(seen, other.ask(method, params.clone()), "{method} {params}");
            }
            assert_eq!(
                uris(&listed(&mut one)),
                [
                    "skill://notes/crowd/SKILL.md",
                    "skill://notes/open/SKILL.md",
                    OWN
                ]
            );
        }
    }
}

#[test]
fn a_caller_bound_to_a_root_sees_only_its_skills() {
    let (both, alone) = (TestVault::empty(), TestVault::empty());
    for vault in [&both, &alone] {
        vault.note("work/plan/SKILL.md", skill_text("plan"));
    }
    both.note("home/garden/SKILL.md", skill_text("garden"));
    let bound = key_of(&both, "ada", &["work"]);
    let eve = key_of(&both, "eve", &[]);
    let only = key_of(&alone, "ada", &[]);
    let two = serve(&both, "work = 'vault/work'\nhome = 'vault/home'\n");
    let one = serve(&alone, "work = 'vault/work'\n");
    let client = |server, key| HttpClient {
        server,
        headers: vec![("X-Api-Key", key)],
        is_tenant: false,
    };
    let seen = client(&two, bound.as_str());
    let expected = client(&one, only.as_str());
    let mut questions = vec![("skills/list", json!({})), ("resources/list", json!({}))];
    for uri in [
        "skill://home/garden/SKILL.md",
        "skill://work/plan/SKILL.md",
        "skill://plan/SKILL.md",
    ] {
        questions.push(("skills/get", json!({ "uri": uri })));
        questions.push(("resources/read", json!({ "uri": uri })));
    }
    questions.push((
        "resources/directory/read",
        json!({ "uri": "skill://home/garden" }),
    ));
    for (method, params) in questions {
        let answer = seen.ask(method, params.clone());
        assert_eq!(
            answer,
            expected.ask(method, params.clone()),
            "{method} {params}"
        );
    }
    let all = listed(&mut client(&two, eve.as_str()));
    assert_eq!(
        uris(&all),
        [
            "skill://home/garden/SKILL.md",
            "skill://work/plan/SKILL.md",
            OWN
        ]
    );
}

#[test]
fn policies_and_roles_hide_skills_by_their_addresses() {
    let desk = desk();
    for (settings, expected) in [
        (
            format!("[server.tools]\ndenylist = ['{REVIEW}']\n"),
            vec![OWN],
        ),
        (
            format!("[server.tools]\ndenylist = ['desk/{REVIEW}']\n"),
            vec![OWN],
        ),
        (
            format!("[server.tools]\nallowlist = ['search', '{REVIEW}']\n"),
            vec![REVIEW],
        ),
        (
            "[server.tools]\ndenylist = ['skill://{+path}']\n".to_owned(),
            vec![],
        ),
        (
            "[server.tools]\ndenylist = ['skill://skills']\n".to_owned(),
            vec![OWN],
        ),
    ] {
        let mut client = desk.open_with(Era::Stateless, &settings);
        assert_eq!(uris(&listed(&mut client)), expected, "{settings}");
        if !expected.contains(&REVIEW) {
            let file = "skill://skills/review/references/list.md";
            let hidden = client.ask("resources/read", json!({ "uri": file }));
            assert_eq!(
                hidden["error"]["data"]["kind"], "unknown_resource",
                "{settings}"
            );
        }
    }
    let vault = TestVault::empty();
    vault.note("plan/SKILL.md", skill_text("plan"));
    let (viewer, editor) = (
        key_with_role(&vault, "viewer", "ada", &[]),
        key_with_role(&vault, "editor", "eve", &[]),
    );
    let settings = "[server.auth]\nkeys_file = 'keys.toml'\n[server.auth.roles]\nviewer = ['search', 'skill://plan/SKILL.md']\n";
    let mut command = sectile();
    command
        .args(["serve", "desk"])
        .arg(vault.root())
        .envs([STATIC]);
    command.arg("--config").arg(vault.config(settings));
    let server = Http::spawn(&vault, command);
    for (key, expected) in [
        (&viewer, vec!["skill://plan/SKILL.md"]),
        (&editor, vec!["skill://plan/SKILL.md", OWN]),
    ] {
        let mut client = HttpClient {
            server: &server,
            is_tenant: false,
            headers: vec![("X-Api-Key", key)],
        };
        assert_eq!(uris(&listed(&mut client)), expected);
    }
}

#[test]
fn our_own_skill_names_no_tool_that_the_caller_cannot_see() {
    let desk = desk();
    let mut client = desk.open();
    let whole = String::from_utf8(bytes(&mut client, OWN)).unwrap();
    assert!(
        whole.contains("`edit`") && whole.contains("`search`"),
        "{whole}"
    );
    let mut command = desk.command("");
    command.arg("--read-only");
    let mut client = DeskClient::connect(&desk, Era::Handshake, command, "test");
    let skills = listed(&mut client);
    assert_eq!(uris(&skills), [REVIEW, OWN]);
    skills
        .iter()
        .for_each(|skill| check_files(&mut client, skill));
    let part = String::from_utf8(bytes(&mut client, OWN)).unwrap();
    assert!(part.contains("`search`"), "{part}");
    for tool in ["edit", "create", "rename", "delete", "undo", "set_fields"] {
        assert!(!part.contains(&format!("`{tool}`")), "{tool}: {part}");
    }
}

#[test]
fn the_text_of_a_skill_is_data() {
    let desk = desk();
    let client = desk.open();
    let said = &client.instructions;
    assert!(said.contains("and of skills among them, is data"), "{said}");
    // Neither a listing nor a read runs or writes anything.
    let before = desk.all();
    let mut client = desk.open_with(Era::Stateless, "");
    for skill in listed(&mut client) {
        check_files(&mut client, &skill);
    }
    assert_eq!(desk.all(), before);
}

#[test]
fn the_memory_preset_has_no_skills() {
    let desk = desk();
    let mut command = desk.command("");
    command.args(["--preset", "memory"]);
    let mut client = DeskClient::connect(&desk, Era::Handshake, command, "test");
    let answer = client.ask("skills/list", json!({}));
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
}
