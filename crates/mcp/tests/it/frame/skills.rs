//! Skills: entries, files and folders in both eras, and policies about them.

use sectile_mcp::{SkillFiles, Skills, policy::Mode};

use super::{policies::policy, wire::HttpServer, *};

/// The files of the shelf. The front matter of a `SKILL.md` is its first line, as JSON.
const FILES: [(&str, &[u8]); 8] = [
    ("broken/SKILL.md", b"nothing"),
    ("broken/secret", b"never served"),
    (
        "kitchen/tea/SKILL.md",
        br#"{"name":"tea","description":"Make tea."}"#,
    ),
    ("kitchen/tea/cup.png", b"\xff\xd8\x00"),
    (
        "kitchen/tea/green/SKILL.md",
        br#"{"name":"green","description":"Green tea."}"#,
    ),
    ("kitchen/tea/green/steps.md", b"# Steps"),
    (
        "sweep/SKILL.md",
        br#"{"name":"sweep","description":"Sweep."}"#,
    ),
    ("sweep/tools/broom.txt", b"A broom."),
];

const TEA: &str = "skill://kitchen/tea/SKILL.md";
const GREEN: &str = "skill://kitchen/tea/green/SKILL.md";
const SWEEP: &str = "skill://sweep/SKILL.md";

struct ShelfSkills;

impl SkillFiles for ShelfSkills {
    fn folders(&self) -> Vec<String> {
        let manifests = FILES
            .iter()
            .filter_map(|(path, _)| path.strip_suffix("/SKILL.md"));
        manifests.map(str::to_owned).collect()
    }

    fn files<'a>(&'a self, folder: &'a str) -> Box<dyn Iterator<Item = String> + 'a> {
        let start = format!("{folder}/");
        let paths = FILES.iter().map(|(path, _)| (*path).to_owned());
        Box::new(paths.filter(move |path| path.starts_with(&start)))
    }

    fn size(&self, path: &str) -> Option<u64> {
        self.read(path, u64::MAX).map(|bytes| bytes.len() as u64)
    }

    fn read(&self, path: &str, _: u64) -> Option<Vec<u8>> {
        let found = FILES.iter().find(|(known, _)| *known == path);
        found.map(|(_, bytes)| bytes.to_vec())
    }

    fn front_matter(&self, text: &[u8]) -> Option<JsonObject> {
        serde_json::from_slice(text).ok()
    }
}

fn skilled() -> WorldSpec<Shelf> {
    WorldSpec {
        skills: Some(Skills {
            open: |_, _, _| Ok(Box::new(ShelfSkills)),
        }),
        ..spec()
    }
}

/// The same world without any resources but those of skills.
fn only_skills() -> WorldSpec<Shelf> {
    WorldSpec {
        resources: None,
        ..skilled()
    }
}

async fn http(spec: WorldSpec<Shelf>, policy: Policy) -> HttpServer {
    HttpServer::start(Surface::new(spec, Shelf::default(), policy, limits())).await
}

fn capabilities(era: Era, answer: &Value) -> Value {
    let result = &answer["result"];
    assert!(result["capabilities"].is_object(), "{era:?}: {answer}");
    result["capabilities"].clone()
}

async fn greeted(era: Era, spec: WorldSpec<Shelf>) -> Value {
    let (method, params) = match era {
        Era::Handshake => ("initialize", initialize(0)["params"].clone()),
        Era::Stateless => ("server/discover", json!({})),
    };
    let server = http(spec, Policy::default()).await;
    capabilities(era, &server.ask(era, method, params).await)
}

#[tokio::test]
async fn a_world_without_skills_does_not_have_their_methods() {
    for era in Era::BOTH {
        let declared = greeted(era, spec()).await;
        assert!(declared.get("extensions").is_none(), "{declared}");
        let mut client = Client::connect(era, spec(), Policy::default()).await;
        for method in ["skills/list", "skills/get", "resources/directory/read"] {
            let answer = client.ask(method, json!({ "uri": TEA })).await;
            assert_eq!(
                answer["error"]["code"], -32601,
                "{method}, {era:?}: {answer}"
            );
        }
    }
}

#[tokio::test]
async fn a_world_with_skills_declares_them_and_resources() {
    for era in Era::BOTH {
        for spec in [skilled(), only_skills()] {
            let declared = greeted(era, spec).await;
            assert_eq!(
                declared["extensions"],
                json!({ "io.modelcontextprotocol/skills": { "directoryRead": true } }),
                "{era:?}"
            );
            assert!(declared["resources"].is_object(), "{era:?}: {declared}");
        }
    }
}

#[tokio::test]
async fn skills_are_listed_got_and_read_alike_in_both_eras_and_on_both_transports() {
    let entry = json!({
        "uri": SWEEP,
        "frontmatter": { "name": "sweep", "description": "Sweep." },
        "resources": [
            {
                "uri": SWEEP,
                "digest": "sha256:e3dd3982769ffc9af5468443e9552ec9608c57cd1713729470bdd9d3cb005716",
                "size": 39,
            },
            {
                "uri": "skill://sweep/tools/broom.txt",
                "digest": "sha256:14170db1688bd32dadc942a914b59ab5ff1da21f9f970a933d44c39d3567eb3f",
                "size": 8,
            },
        ],
    });
    for era in Era::BOTH {
        let mut client = Client::connect(era, skilled(), Policy::default()).await;
        let server = http(skilled(), Policy::default()).await;
        for (method, params) in [
            ("skills/list", json!({})),
            ("skills/get", json!({ "uri": SWEEP })),
            (
                "resources/directory/read",
                json!({ "uri": "skill://sweep" }),
            ),
        ] {
            let answer = client.ask(method, params.clone()).await;
            let over_http = server.ask(era, method, params).await;
            assert_eq!(answer["result"], over_http["result"], "{method}, {era:?}");
            let result = &answer["result"];
            // Only the stateless era knows these.
            let hints = ["resultType", "ttlMs", "cacheScope"].map(|key| result[key].clone());
            match era {
                Era::Handshake => assert_eq!(hints, [Value::Null, Value::Null, Value::Null]),
                Era::Stateless => {
                    assert_eq!(hints, [json!("complete"), json!(0), json!("private")]);
                }
            }
            assert!(result.get("nextCursor").is_none(), "{result}");
            match method {
                "skills/list" => {
                    let skills = result["skills"].as_array().unwrap();
                    let uris: Vec<&Value> = skills.iter().map(|skill| &skill["uri"]).collect();
                    assert_eq!(uris, [TEA, GREEN, SWEEP]);
                    assert_eq!(skills[2], entry, "{era:?}");
                }
                "skills/get" => assert_eq!(result["skill"], entry, "{era:?}"),
                _ => assert_eq!(
                    result["resources"],
                    json!([
                        {
                            "uri": SWEEP,
                            "name": "sweep",
                            "title": "sweep",
                            "description": "Sweep.",
                            "mimeType": "text/markdown",
                            "size": 39,
                        },
                        {
                            "uri": "skill://sweep/tools",
                            "name": "tools",
                            "mimeType": "inode/directory",
                        },
                    ])
                ),
            }
        }
    }
}

#[tokio::test]
async fn files_of_skills_are_resources() {
    for era in Era::BOTH {
        let mut client = Client::connect(era, skilled(), Policy::default()).await;
        let listed = client.listed("resources/list", "resources", "uri").await;
        assert_eq!(listed, [ALPHA, BETA, TEA, GREEN, SWEEP], "{era:?}");
        let templates = "resources/templates/list";
        let listed = client
            .listed(templates, "resourceTemplates", "uriTemplate")
            .await;
        assert_eq!(listed, ["skill://{+path}"], "{era:?}");
        let mut read = async |uri: &str| {
            let answer = client.ask("resources/read", json!({ "uri": uri })).await;
            answer["result"]["contents"][0].clone()
        };
        assert_eq!(
            read("skill://kitchen/tea/green/steps.md").await,
            json!({
                "uri": "skill://kitchen/tea/green/steps.md",
                "mimeType": "text/markdown",
                "text": "# Steps",
            })
        );
        // What is not text is sent in base64.
        assert_eq!(
            read("skill://kitchen/tea/cup.png").await,
            json!({
                "uri": "skill://kitchen/tea/cup.png",
                "mimeType": "image/png",
                "blob": "/9gA",
            })
        );
        assert_eq!(read(ALPHA).await["text"], "# Alpha");
        let mut client = Client::connect(era, only_skills(), Policy::default()).await;
        let listed = client.listed("resources/list", "resources", "uri").await;
        assert_eq!(listed, [TEA, GREEN, SWEEP], "{era:?}");
        let answer = client.ask("resources/read", json!({ "uri": ALPHA })).await;
        assert_eq!(
            answer["error"]["data"]["kind"], "unknown_resource",
            "{answer}"
        );
    }
}

#[tokio::test]
async fn what_is_not_there_has_the_code_of_the_specification() {
    for era in Era::BOTH {
        let mut client = Client::connect(era, skilled(), Policy::default()).await;
        for (method, uri, kind) in [
            ("skills/get", "skill://none/SKILL.md", "unknown_skill"),
            ("skills/get", "skill://sweep", "unknown_skill"),
            ("skills/get", "skill://broken/SKILL.md", "unknown_skill"),
            ("skills/get", ALPHA, "unknown_skill"),
            ("skills/get", "", "unknown_skill"),
            (
                "resources/directory/read",
                "skill://none",
                "unknown_directory",
            ),
            ("resources/directory/read", SWEEP, "unknown_directory"),
            (
                "resources/directory/read",
                "skill://broken",
                "unknown_directory",
            ),
            (
                "resources/directory/read",
                "skill://kitchen",
                "unknown_directory",
            ),
            ("resources/directory/read", ALPHA, "unknown_directory"),
            (
                "resources/read",
                "skill://broken/secret",
                "unknown_resource",
            ),
            ("resources/read", "skill://sweep", "unknown_resource"),
        ] {
            let answer = client.ask(method, json!({ "uri": uri })).await;
            let error = &answer["error"];
            assert_eq!(error["data"]["kind"], kind, "{method} {uri}: {answer}");
            let code = match (method, era) {
                ("resources/read", Era::Handshake) => -32002,
                _ => -32602,
            };
            assert_eq!(error["code"], code, "{method} {uri}, {era:?}: {answer}");
        }
        for (method, params) in [
            ("skills/get", json!({})),
            ("skills/get", json!({ "uri": 7 })),
            ("skills/list", json!({ "cursor": 7 })),
            ("skills/list", json!({ "cursor": "x" })),
            ("skills/list", json!({ "cursor": "00000000" })),
            ("resources/directory/read", json!({ "cursor": "000000c8" })),
            (
                "resources/directory/read",
                json!({ "uri": "skill://sweep", "cursor": "1" }),
            ),
        ] {
            let answer = client.ask(method, params.clone()).await;
            assert_eq!(
                answer["error"]["code"], -32602,
                "{method} {params}: {answer}"
            );
        }
        // Beyond the end there is nothing, as if skills had gone meanwhile.
        let answer = client
            .ask("skills/list", json!({ "cursor": "000000c8" }))
            .await;
        assert_eq!(answer["result"]["skills"], json!([]), "{answer}");
    }
}

/// Policies that hide the skill [`SWEEP`] with its files, and nothing else of the skills.
fn hiding_sweep() -> Vec<(&'static str, Policy)> {
    use Mode::{Filter, Passthrough};
    vec![
        ("denied", policy(Filter, &[], &[SWEEP], &[])),
        (
            "denied with its world",
            policy(Filter, &[], &["shelf/skill://sweep/SKILL.md"], &[]),
        ),
        (
            "denied as a folder",
            policy(Filter, &[], &["skill://sweep"], &[]),
        ),
        ("not allowed", policy(Filter, &[TEA, GREEN], &[], &[])),
        ("denied, listed", policy(Passthrough, &[], &[SWEEP], &[])),
        (
            "denied, others callable",
            policy(Filter, &[], &[SWEEP], &[TEA, GREEN]),
        ),
    ]
}

#[tokio::test]
async fn a_hidden_skill_answers_like_one_that_does_not_exist() {
    let cases = [
        ("skills/get", SWEEP, "skill://swoop/SKILL.md"),
        ("resources/read", SWEEP, "skill://swoop/SKILL.md"),
        (
            "resources/read",
            "skill://sweep/tools/broom.txt",
            "skill://swoop/tools/broom.txt",
        ),
        ("resources/directory/read", "skill://sweep", "skill://swoop"),
        (
            "resources/directory/read",
            "skill://sweep/tools",
            "skill://swoop/tools",
        ),
    ];
    for era in Era::BOTH {
        for (name, policy) in hiding_sweep() {
            let lists_all = policy.visibility.mode == Mode::Passthrough;
            let mut client = Client::connect(era, skilled(), policy).await;
            for (method, hidden, absent) in cases {
                let seen = client.line(method, json!({ "uri": hidden })).await;
                let other = client.line(method, json!({ "uri": absent })).await;
                assert_eq!(seen, other, "{name}, {method} {hidden}");
                assert!(seen.contains("error"), "{seen}");
            }
            for (method, list) in [("skills/list", "skills"), ("resources/list", "resources")] {
                let listed = client.listed(method, list, "uri").await;
                let shows = listed.iter().any(|uri| uri == SWEEP);
                assert_eq!(shows, lists_all, "{name}, {method}");
                assert!(listed.iter().any(|uri| uri == TEA), "{name}, {method}");
            }
            let answer = client.ask("skills/get", json!({ "uri": TEA })).await;
            assert!(answer["result"]["skill"].is_object(), "{name}: {answer}");
        }
        let everything = policy(Mode::Filter, &[], &["skill://{+path}"], &[]);
        let mut client = Client::connect(era, skilled(), everything).await;
        let listed = client.listed("skills/list", "skills", "uri").await;
        assert!(listed.is_empty(), "{listed:?}");
    }
}

#[tokio::test]
async fn a_hidden_part_of_a_skill_is_missing_from_it() {
    for (deny, hidden, kept) in [
        (GREEN, "skill://kitchen/tea/green/steps.md", 2),
        (
            "skill://kitchen/tea/green",
            "skill://kitchen/tea/green/steps.md",
            2,
        ),
        (
            "skill://kitchen/tea/cup.png",
            "skill://kitchen/tea/cup.png",
            3,
        ),
    ] {
        let policy = policy(Mode::Filter, &[], &[deny], &[]);
        let mut client = Client::connect(Era::Stateless, skilled(), policy).await;
        let answer = client.ask("skills/get", json!({ "uri": TEA })).await;
        let resources = answer["result"]["skill"]["resources"].as_array().unwrap();
        assert_eq!(resources.len(), kept, "{deny}: {answer}");
        assert!(!answer.to_string().contains(hidden), "{deny}: {answer}");
        let seen = client
            .line("resources/read", json!({ "uri": hidden }))
            .await;
        let absent = json!({ "uri": "skill://kitchen/tea/none" });
        assert_eq!(seen, client.line("resources/read", absent).await, "{deny}");
        let folder = json!({ "uri": "skill://kitchen/tea" });
        let answer = client.ask("resources/directory/read", folder).await;
        let name = deny
            .trim_end_matches("/SKILL.md")
            .rsplit('/')
            .next()
            .unwrap();
        assert!(!answer.to_string().contains(name), "{deny}: {answer}");
    }
}

#[tokio::test]
async fn a_skill_that_callers_may_not_use_exists_and_is_refused() {
    let policy = policy(Mode::Filter, &[], &[], &[TEA]);
    for era in Era::BOTH {
        let mut client = Client::connect(era, skilled(), policy.clone()).await;
        for (method, uri) in [
            ("skills/get", SWEEP),
            ("resources/read", "skill://sweep/tools/broom.txt"),
            ("resources/directory/read", "skill://sweep/tools"),
        ] {
            let answer = client.ask(method, json!({ "uri": uri })).await;
            assert_eq!(
                answer["error"]["data"]["kind"], "forbidden",
                "{method}: {answer}"
            );
        }
        let answer = client.ask("skills/get", json!({ "uri": TEA })).await;
        assert!(answer["result"].is_object(), "{answer}");
    }
}

#[tokio::test]
async fn a_world_that_fails_or_panics_is_answered_for() {
    let failing = WorldSpec {
        skills: Some(Skills {
            open: |_, _, _| Err(Failure::new(FailureKind::Unavailable, "The shelf is gone.")),
        }),
        ..spec()
    };
    let panicking = WorldSpec {
        skills: Some(Skills {
            open: |_, _, _| panic!("for the test"),
        }),
        ..spec()
    };
    for (spec, code) in [(failing, -32000), (panicking, -32603)] {
        let mut client = Client::connect(Era::Stateless, spec, Policy::default()).await;
        for (method, uri) in [
            ("skills/list", TEA),
            ("skills/get", TEA),
            ("resources/list", TEA),
            ("resources/read", TEA),
            ("resources/directory/read", "skill://sweep"),
        ] {
            let answer = client.ask(method, json!({ "uri": uri })).await;
            assert_eq!(answer["error"]["code"], code, "{method}: {answer}");
        }
        let answer = client.ask("resources/read", json!({ "uri": ALPHA })).await;
        assert!(answer["result"].is_object(), "{answer}");
    }
}
