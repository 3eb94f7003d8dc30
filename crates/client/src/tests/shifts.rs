//! Servers that send more than was requested, or answers whose end is ambiguous: nobody gets an answer meant for others,
//! and no faulty connection is reused.

use std::sync::Barrier;

use super::*;
use crate::connections::{MAX_IDLE, MAX_IDLE_PER_CALLER};

/// Returns the body that only this request should get.
fn own(user: &str, path: &str) -> String {
    format!("what {user} has at {path}")
}

/// Returns a plain answer with this body.
fn plain(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn chunked(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
        body.len()
    )
}

/// A faulty answer: its name, the bytes sent at once, and those sent a while later.
struct Trouble {
    name: &'static str,
    write: Written,
}

type Written = fn(&str) -> (String, String);

/// Answers after which a connection must not be reused.
const TROUBLES: &[Trouble] = &[
    Trouble {
        name: "an answer too many at once",
        write: |own| (plain(own) + &plain(own), String::new()),
    },
    Trouble {
        name: "an answer too many after a while",
        write: |own| (plain(own), plain(own)),
    },
    Trouble {
        name: "an answer too many in pieces",
        write: |own| {
            let more = plain(own);
            (plain(own) + &more[..9], more[9..].to_owned())
        },
    },
    Trouble {
        name: "an answer too many after chunks",
        write: |own| (chunked(own) + &plain(own), String::new()),
    },
    Trouble {
        name: "an answer too many after chunks and a while",
        write: |own| (chunked(own), plain(own)),
    },
    Trouble {
        name: "one byte beyond the length",
        write: |own| (plain(own) + "\n", String::new()),
    },
    Trouble {
        name: "an error too many",
        write: |own| {
            (
                plain(own) + "HTTP/1.1 404 X\r\ncontent-length: 0\r\n\r\n",
                String::new(),
            )
        },
    },
    Trouble {
        name: "an interim answer too many",
        write: |own| (plain(own), "HTTP/1.1 100 Continue\r\n\r\n".to_owned()),
    },
    Trouble {
        name: "an interim answer before",
        write: |own| {
            (
                "HTTP/1.1 103 Early\r\nlink: x\r\n\r\n".to_owned() + &plain(own),
                String::new(),
            )
        },
    },
    Trouble {
        name: "a 204 with a body",
        write: |own| {
            let body = plain(own);
            (
                format!(
                    "HTTP/1.1 204 X\r\ncontent-length: {}\r\n\r\n{body}",
                    body.len()
                ),
                String::new(),
            )
        },
    },
    Trouble {
        name: "a 204 with a body after a while",
        write: |own| ("HTTP/1.1 204 X\r\n\r\n".to_owned(), plain(own)),
    },
    Trouble {
        name: "a 304 with a body",
        write: |own| {
            let body = plain(own);
            (
                format!("HTTP/1.1 304 X\r\ncontent-length: {}\r\n\r\n", body.len()),
                body,
            )
        },
    },
    Trouble {
        name: "a 304 with chunks",
        write: |own| {
            let rest = chunked(own);
            let rest = rest.split_once("\r\n\r\n").map(|(_, rest)| rest.to_owned());
            (
                "HTTP/1.1 304 X\r\ntransfer-encoding: chunked\r\n\r\n".to_owned(),
                rest.unwrap_or_default(),
            )
        },
    },
    Trouble {
        name: "an empty 404 with a body after a while",
        write: |own| {
            (
                "HTTP/1.1 404 X\r\ncontent-length: 0\r\n\r\n".to_owned(),
                plain(own),
            )
        },
    },
    Trouble {
        name: "two ends",
        write: |own| {
            let chunks = chunked(own);
            (
                chunks.replacen("\r\n", "\r\ncontent-length: 3\r\n", 1),
                String::new(),
            )
        },
    },
    Trouble {
        name: "two equal lengths",
        write: |own| {
            let twice = format!("\r\ncontent-length: {}\r\n", own.len());
            (plain(own).replacen("\r\n", &twice, 1), plain(own))
        },
    },
    Trouble {
        name: "a length that some read as another",
        write: |own| (plain(own).replace("length: ", "length: 0, "), plain(own)),
    },
    Trouble {
        name: "chunks of an older protocol",
        write: |own| (chunked(own).replace("HTTP/1.1", "HTTP/1.0"), plain(own)),
    },
    Trouble {
        name: "an older protocol that stays",
        write: |own| {
            (
                plain(own).replacen("1.1 200 OK", "1.0 200 OK\r\nconnection: keep-alive", 1),
                plain(own),
            )
        },
    },
    Trouble {
        name: "another protocol",
        write: |own| {
            (
                "HTTP/1.1 101 X\r\nconnection: upgrade\r\nupgrade: y\r\n\r\n".to_owned(),
                plain(own),
            )
        },
    },
];

/// Starts a server that answers each request faultily. The late bytes follow after `pause`.
fn troubled(write: Written, pause: Duration) -> Server {
    Server::start(move |heads, mut stream| {
        while let Some(head) = read_head(&mut stream) {
            let path = head.split(' ').nth(1).unwrap();
            let user = head.split_once("x-user: ").unwrap().1;
            let user = user.split("\r\n").next().unwrap();
            let (now, later) = write(&own(user, path));
            heads.lock().unwrap().push(head);
            if stream.write_all(now.as_bytes()).is_err() {
                return;
            }
            thread::sleep(pause);
            if stream.write_all(later.as_bytes()).is_err() {
                return;
            }
        }
    })
}

async fn get_as(client: &Client, server: &Server, user: &'static str, path: &str) -> Option<Bytes> {
    let mut headers = HeaderMap::new();
    headers.insert("x-user", HeaderValue::from_static(user));
    let reply = client.get(&server.target(""), path, headers).await.ok()?;
    Some(reply.body)
}

/// So short that late bytes sometimes arrive before the next request is sent, and sometimes after.
const PAUSES: [u64; 4] = [0, 1, 2, 4];

#[tokio::test]
async fn nobody_is_given_what_somebody_else_asked_for() {
    for trouble in TROUBLES {
        for pause in PAUSES {
            let server = troubled(trouble.write, Duration::from_millis(pause));
            let mut settings = settings();
            settings.timeout = Duration::from_secs(5);
            let client = Client::new(settings).unwrap();
            for round in 0..10 {
                for (user, path) in [("ada", "/a"), ("eve", "/a"), ("ada", "/b"), ("eve", "/b")] {
                    let body = get_as(&client, &server, user, path).await;
                    let body = body.unwrap_or_default();
                    let own = own(user, path);
                    assert!(
                        body.is_empty() || body == own,
                        "{}, {pause} ms, round {round}: {user} at {path} is given {body:?}",
                        trouble.name
                    );
                }
            }
        }
    }
}

#[tokio::test]
async fn a_connection_with_any_trouble_is_not_used_again() {
    const TIMES: usize = 3;
    for trouble in TROUBLES {
        let server = troubled(trouble.write, Duration::ZERO);
        let client = client();
        for _ in 0..TIMES {
            get_as(&client, &server, "ada", "/").await;
            settle().await;
        }
        assert_eq!(server.heads().len(), TIMES, "{}", trouble.name);
        assert_eq!(server.connections(), TIMES, "{}", trouble.name);
    }
}

#[tokio::test]
async fn a_connection_without_trouble_is_used_again_for_the_same_request_only() {
    let answers: [Written; 3] = [
        |own| (plain(own), String::new()),
        |own| (chunked(own), String::new()),
        // In time.
        |own| {
            let whole = plain(own);
            let (head, rest) = whole.split_at(whole.len() - 3);
            (head.to_owned(), rest.to_owned())
        },
    ];
    for answer in answers {
        let server = troubled(answer, Duration::from_millis(1));
        let client = client();
        for _ in 0..5 {
            for (user, path) in [("ada", "/a"), ("eve", "/a"), ("ada", "/b"), ("ada", "/b?c")] {
                let body = get_as(&client, &server, user, path).await;
                assert_eq!(body.unwrap(), own(user, path));
            }
        }
        assert_eq!(server.heads().len(), 20);
        assert_eq!(server.connections(), 4);
    }
}

/// The runtime learns about incoming data only when it polls for events, and it may be busy with other things.
#[tokio::test]
async fn what_came_in_while_the_runtime_was_busy_is_seen() {
    let (told, written) = std::sync::mpsc::channel();
    let server = Server::new(move |before, stream| {
        stream
            .write_all(plain(&before.to_string()).as_bytes())
            .unwrap();
        thread::sleep(Duration::from_millis(20));
        stream.write_all(plain("too many").as_bytes()).unwrap();
        told.send(()).unwrap();
        Then::Keep
    });
    let client = client();
    for before in 0..5 {
        let reply = client.get(&server.target(""), "/", HeaderMap::new()).await;
        assert_eq!(reply.unwrap().body, before.to_string());
        // Blocks the only thread of the runtime.
        written.recv().unwrap();
    }
    assert_eq!(server.connections(), 5);
}

/// Bytes left in the buffers of TLS count like those left in the buffers of the system.
#[tokio::test]
async fn an_answer_too_many_that_is_encrypted_is_found_too() {
    let server = encrypted(None, |before| {
        let body = if before % 2 == 0 { "one" } else { "two" };
        plain(body) + &plain(body)
    });
    let mut trusting = settings();
    trusting.extra_roots = Some(CERTIFICATE.to_owned());
    let client = Client::new(trusting).unwrap();
    let target = BaseUrl::parse(&format!("https://127.0.0.1:{}", server.port)).unwrap();
    for body in ["one", "two", "one", "two"] {
        let reply = client.get(&target, "/", HeaderMap::new()).await.unwrap();
        assert_eq!(reply.body, body);
    }
    assert_eq!(server.connections(), 4);
}

/// Many concurrent requests need many connections; few of them are kept.
#[tokio::test]
async fn connections_are_kept_in_bounded_numbers() {
    for (callers, most) in [(1, MAX_IDLE_PER_CALLER), (6, MAX_IDLE)] {
        const EACH: usize = MAX_IDLE_PER_CALLER + 8;
        let all = Arc::new(Barrier::new(callers * EACH));
        let server = Server::new(move |_, stream| {
            all.wait();
            stream.write_all(plain("x").as_bytes()).unwrap();
            Then::Keep
        });
        let client = client();
        let mut asking = tokio::task::JoinSet::new();
        for turn in 0..callers * EACH {
            let (client, target) = (client.clone(), server.target(""));
            let mut headers = HeaderMap::new();
            let user = HeaderValue::from_str(&(turn % callers).to_string()).unwrap();
            headers.insert("x-user", user);
            asking.spawn(async move {
                let path = format!("/{}", turn % 7);
                client.get(&target, &path, headers).await.unwrap()
            });
        }
        asking.join_all().await;
        assert_eq!(server.connections(), callers * EACH);
        assert_eq!(client.0.connections.idle(), most);
    }
}

#[tokio::test]
async fn connections_that_nobody_uses_are_closed() {
    let ended = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&ended);
    let server = Server::start(move |_, mut stream| {
        while read_head(&mut stream).is_some() {
            stream.write_all(plain("x").as_bytes()).unwrap();
        }
        counting.fetch_add(1, Ordering::SeqCst);
    });
    let connector = Connector::new(None, None, Duration::from_secs(60)).unwrap();
    let connections = Connections::keeping(connector, Duration::from_millis(50));
    for path in ["/a", "/b"] {
        let mut request = Request::new(Empty::<Bytes>::new());
        *request.uri_mut() = server.target("").at(path).unwrap();
        let purpose = PoolKey::request(&request);
        let status = connections.ask(purpose, request, |response| async move {
            drain(response.into_body()).await;
        });
        status.await.unwrap();
    }
    assert_eq!(server.connections(), 2);
    while ended.load(Ordering::SeqCst) < 2 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(connections.idle(), 0);
}
