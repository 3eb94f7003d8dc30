//! Callers that are bound to roots, over HTTP.

use std::time::SystemTime;

use sectile_mcp::{
    NoObserver,
    access::{
        Acl, AuthSettings, Authenticator, KeyFile, KeyHolder, LiveValue, NewKey, RateLimits, Role,
    },
    http::{AuthenticationSettings, AuthenticationStep},
};

use super::{
    wire::{HttpServer, http_settings},
    *,
};

const NOW: &str = "2026-11-15T12:00:00Z";

/// A world that says which roots its caller is bound to.
fn surface(has_roots: bool, roles: &Arc<LiveValue<Acl>>) -> Surface {
    fn roots(context: &CallContext) -> String {
        match context.roots() {
            None => "all".to_owned(),
            Some(roots) => format!("only {}", roots.join(", ")),
        }
    }
    #[derive(Deserialize, JsonSchema)]
    struct NoParams {}
    let tell = |_: &(), _: NoParams, context: &CallContext| {
        Ok::<_, Failure>((roots(context), AnswerFacts::default()))
    };
    let envelope: Envelope = |failure| ErrorResponse::Text(failure.told());
    let spec = WorldSpec {
        tools: vec![Tool::read("roots", "Roots", "Say the roots.").call_text(tell)],
        describe: Some(|(), context| format!("Roots: {}.", roots(context))),
        has_roots,
        ..WorldSpec::new("roots", "Say.", envelope, ErrorList::default)
    };
    let policy = Policy {
        roles: Arc::clone(roles),
        ..Policy::default()
    };
    Surface::new(spec, (), policy, limits()).for_callers()
}

struct Door {
    roles: Arc<LiveValue<Acl>>,
    authenticator: Arc<LiveValue<Authenticator>>,
    keys: KeyFile,
}

impl Door {
    fn new() -> Self {
        let keys = KeyFile::default();
        Self {
            roles: Arc::default(),
            authenticator: Arc::new(LiveValue::new(authenticator(&keys))),
            keys,
        }
    }

    fn add(&mut self, role: Role, roots: Option<&[&str]>) -> NewKey {
        let holder = KeyHolder {
            user: "ann".to_owned(),
            role,
            vaults: Vec::new(),
            roots: roots.map(|roots| roots.iter().map(|&root| root.to_owned()).collect()),
        };
        let key = self.keys.add(holder, NOW).unwrap();
        self.authenticator.set(authenticator(&self.keys));
        key
    }

    async fn serve(&self, has_roots: bool) -> HttpServer {
        let mut settings = http_settings();
        settings.authentication = Arc::new(AuthenticationStep::new(AuthenticationSettings {
            authenticator: Some(Arc::clone(&self.authenticator)),
            roles: Arc::clone(&self.roles),
            rates: RateLimits::new(0, 0),
            public_url: "http://127.0.0.1".to_owned(),
            trusted_proxies: Vec::new(),
            observer: Arc::new(NoObserver),
        }));
        HttpServer::start_with(surface(has_roots, &self.roles), settings).await
    }
}

fn authenticator(keys: &KeyFile) -> Authenticator {
    let made = Authenticator::new(AuthSettings {
        keys: Some(keys.clone()),
        tokens: None,
        context: None,
        clock: SystemTime::now,
    });
    made.unwrap_or_else(|problem| panic!("{problem}"))
}

fn bound(role: Role, roots: &[&str]) -> Acl {
    let roots = roots.iter().map(|&root| root.to_owned()).collect();
    Acl::default().with_roots([(role, roots)])
}

/// The roots that a handler sees, and those that the instructions name.
async fn seen(server: &HttpServer, era: Era, key: &NewKey) -> [String; 2] {
    let key = [("X-Api-Key", key.text.reveal())];
    let call = era.call(7, "roots", json!({}));
    let answer = server.post(era, &call, &key).await.json().await;
    let greeting = match era {
        Era::Handshake => initialize(7),
        Era::Stateless => era.request(7, "server/discover", json!({})),
    };
    let greeted = server.post(era, &greeting, &key).await.json().await;
    let text = |value: &Value| value.as_str().unwrap_or("nothing").to_owned();
    [
        text(&answer["result"]["content"][0]["text"]),
        text(&greeted["result"]["instructions"]),
    ]
}

#[tokio::test]
async fn a_caller_is_bound_by_its_key_and_its_role() {
    let mut door = Door::new();
    let free = door.add(Role::Viewer, None);
    let keyed = door.add(Role::Viewer, Some(&["home", "work"]));
    let server = door.serve(true).await;
    for era in Era::BOTH {
        for (acl, of_free, of_keyed) in [
            (Acl::default(), "all", "only home, work"),
            (bound(Role::Viewer, &["work"]), "only work", "only work"),
            (bound(Role::Viewer, &["lab"]), "only lab", "only "),
            (bound(Role::Editor, &["lab"]), "all", "only home, work"),
        ] {
            // As a reload does.
            door.roles.set(acl);
            for (key, expected) in [(&free, of_free), (&keyed, of_keyed)] {
                let instructions = format!("Say.\n\nRoots: {expected}.");
                let expected = [expected.to_owned(), instructions];
                assert_eq!(seen(&server, era, key).await, expected, "{era:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_caller_that_is_bound_to_roots_is_not_let_into_a_world_without_roots() {
    let mut door = Door::new();
    let free = door.add(Role::Editor, None);
    let keyed = door.add(Role::Editor, Some(&["work"]));
    let server = door.serve(false).await;
    for era in Era::BOTH {
        let status = async |key: &NewKey| {
            let call = era.call(7, "roots", json!({}));
            let key = [("X-Api-Key", key.text.reveal())];
            server.post(era, &call, &key).await.status
        };
        door.roles.set(Acl::default());
        assert_eq!((status(&free).await, status(&keyed).await), (200, 403));
        door.roles.set(bound(Role::Editor, &["work"]));
        assert_eq!((status(&free).await, status(&keyed).await), (403, 403));
    }
}
