//! A state that is made for each call.

use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};

use sectile_mcp::{CallState, SkillFiles, Skills};

use super::{wire::HttpServer, *};

/// A store of titles, which refuses changes and goes away when the test wants that.
#[derive(Clone, Default)]
struct TitleStore {
    titles: Arc<Mutex<Vec<String>>>,
    /// The kinds of access of all calls.
    accesses: Arc<Mutex<Vec<Access>>>,
    /// The number of times that the next change is refused.
    refusals: Arc<AtomicUsize>,
    is_away: Arc<AtomicBool>,
}

/// The titles as one call sees and changes them.
struct TitleView(Mutex<Vec<String>>);

impl CallState<TitleView> for TitleStore {
    fn with_state(
        &self,
        _: &CallContext,
        access: Access,
        work: &mut dyn FnMut(&TitleView),
    ) -> Result<(), Failure> {
        self.accesses.lock().unwrap().push(access);
        if self.is_away.load(Ordering::SeqCst) {
            return Err(Failure::new(FailureKind::Unavailable, "The store is away."));
        }
        loop {
            let view = TitleView(Mutex::new(self.titles.lock().unwrap().clone()));
            work(&view);
            let refused = |left: usize| left.checked_sub(1);
            let order = Ordering::SeqCst;
            if access == Access::Read || self.refusals.fetch_update(order, order, refused).is_err()
            {
                *self.titles.lock().unwrap() = view.0.into_inner().unwrap();
                return Ok(());
            }
        }
    }

    fn ready(&self) -> Result<(), String> {
        match self.is_away.load(Ordering::SeqCst) {
            true => Err("The store is away.".to_owned()),
            false => Ok(()),
        }
    }
}

impl TitleView {
    fn text(&self) -> String {
        self.0.lock().unwrap().join(", ")
    }
}

/// A skill whose file is read from the titles of the call.
struct TitleSkill(String);

impl SkillFiles for TitleSkill {
    fn folders(&self) -> Vec<String> {
        vec!["titles".to_owned()]
    }

    fn files<'a>(&'a self, _: &'a str) -> Box<dyn Iterator<Item = String> + 'a> {
        Box::new(std::iter::once("titles/SKILL.md".to_owned()))
    }

    fn size(&self, _: &str) -> Option<u64> {
        Some(self.0.len() as u64)
    }

    fn read(&self, _: &str, _: u64) -> Option<Vec<u8>> {
        Some(self.0.clone().into_bytes())
    }

    fn front_matter(&self, text: &[u8]) -> Option<JsonObject> {
        let description = String::from_utf8(text.to_vec()).ok()?;
        let object = json!({ "name": "titles", "description": description });
        object.as_object().cloned()
    }
}

fn shelve(
    view: &TitleView,
    params: ShelveParams,
    _: &CallContext,
) -> Result<(String, AnswerFacts), Failure> {
    view.0.lock().unwrap().push(params.title);
    Ok((view.text(), AnswerFacts::default()))
}

fn surface(store: &TitleStore) -> Surface {
    let envelope: Envelope = |failure| ErrorResponse::Text(failure.told());
    let spec = WorldSpec {
        tools: vec![
            Tool::write("shelve", "Shelve", "Put a title on the shelf.").call_text(shelve),
            Tool::destructive("replace", "Replace", "Put a title on the shelf.").call_text(shelve),
        ],
        describe: Some(|view, _| format!("Titles: {}.", view.text())),
        resources: Some(Resources {
            list: |view, _| {
                let resource = |title: &String| Resource {
                    uri: format!("shelf://{title}"),
                    name: title.clone(),
                    title: title.clone(),
                    description: String::new(),
                    mime_type: "text/plain",
                    size: None,
                    last_modified: None,
                };
                let titles = view.0.lock().unwrap();
                Ok(titles.iter().map(resource).collect::<Vec<_>>().into())
            },
            read: |view, uri| {
                let titles = view.0.lock().unwrap();
                let found = titles
                    .iter()
                    .find(|title| uri == format!("shelf://{title}"));
                Ok(found.map(|title| {
                    ResourceContent::text("text/plain", title.clone(), CacheHint::LIVE)
                }))
            },
            templates: std::borrow::Cow::Borrowed(&[]),
            cache: CacheHint::LIVE,
            changes: None,
        }),
        skills: Some(Skills {
            open: |view, _, _| Ok(Box::new(TitleSkill(view.text()))),
        }),
        prompts: vec![Prompt {
            name: "titles",
            title: "Titles",
            description: "All titles.",
            arguments: &[],
            render: |view, _, _| Ok(vec![view.text().into()]),
        }],
        complete: Some(|view, _, _| view.0.lock().unwrap().clone()),
        ..WorldSpec::new("shelf", "A shelf.", envelope, ErrorList::default)
    };
    Surface::per_call(spec, store.clone(), Policy::default(), limits())
}

#[tokio::test]
async fn only_the_last_run_of_a_call_counts() {
    for era in Era::BOTH {
        let store = TitleStore::default();
        let mut client = Client::connect_to(era, surface(&store)).await;
        store.accesses.lock().unwrap().clear();
        for (tool, title, refusals) in [("shelve", "one", 0), ("replace", "two", 3)] {
            store.refusals.store(refusals, Ordering::SeqCst);
            let arguments = json!({ "title": title });
            let params = json!({ "name": tool, "arguments": arguments });
            let answer = client.ask("tools/call", params).await;
            assert_eq!(answer["result"]["isError"], false, "{answer}");
        }
        assert_eq!(*store.titles.lock().unwrap(), ["one", "two"]);
        let accesses = store.accesses.lock().unwrap().clone();
        assert_eq!(accesses, [Access::Write, Access::Destructive]);
    }
}

/// What every part of the world says: a prompt, a completion, the resources, a skill and its file.
async fn said(client: &mut Client) -> Vec<String> {
    let mut answers = Vec::new();
    for (method, params) in [
        ("prompts/get", json!({ "name": "titles" })),
        (
            "completion/complete",
            json!({
                "ref": { "type": "ref/prompt", "name": "titles" },
                "argument": { "name": "any", "value": "" },
            }),
        ),
        ("resources/list", json!({})),
        ("resources/read", json!({ "uri": "shelf://one" })),
        ("skills/list", json!({})),
        (
            "resources/read",
            json!({ "uri": "skill://titles/SKILL.md" }),
        ),
    ] {
        answers.push(client.ask(method, params).await.to_string());
    }
    answers
}

#[tokio::test]
async fn every_part_of_a_world_has_the_state_of_its_call() {
    for era in Era::BOTH {
        let store = TitleStore::default();
        let mut client = Client::connect_to(era, surface(&store)).await;
        let before = said(&mut client).await;
        assert!(
            before.iter().all(|answer| !answer.contains("one,")),
            "{before:?}"
        );
        *store.titles.lock().unwrap() = ["one", "two"].map(str::to_owned).to_vec();
        for answer in said(&mut client).await {
            assert!(
                answer.contains("one") && !answer.contains("error"),
                "{answer}"
            );
        }
        store.is_away.store(true, Ordering::SeqCst);
        let away = said(&mut client).await;
        assert!(
            away.iter().all(|answer| !answer.contains("two")),
            "{away:?}"
        );
        // A completion is empty; everything else says why there is none.
        let reasons = away
            .iter()
            .filter(|answer| answer.contains("The store is away."));
        assert_eq!(reasons.count(), away.len() - 1, "{away:?}");
        let params = json!({ "name": "shelve", "arguments": { "title": "three" } });
        let answer = client.ask("tools/call", params).await;
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        store.is_away.store(false, Ordering::SeqCst);
        let titles = store.titles.lock().unwrap().clone();
        assert_eq!(titles, ["one", "two"]);
    }
}

#[tokio::test]
async fn a_description_needs_the_state_and_a_greeting_does_not() {
    let store = TitleStore::default();
    store.titles.lock().unwrap().push("one".to_owned());
    for (is_away, expected) in [(false, "A shelf.\n\nTitles: one."), (true, "A shelf.")] {
        store.is_away.store(is_away, Ordering::SeqCst);
        let server = HttpServer::start(surface(&store)).await;
        let answer = server
            .ask(Era::Stateless, "server/discover", json!({}))
            .await;
        assert_eq!(answer["result"]["instructions"], expected, "{answer}");
        let probe = server.get("/readyz").await;
        assert_eq!(probe.status, if is_away { 503 } else { 200 });
    }
}
