//! The parts around a hosted server: a store that answers at once, a bare gateway to compare with, and the load generator.
//!
//! `store` and `bare STORE` print their address and serve until they are killed; `load ADDRESS ...` prints its measurements
//! as JSON. They are separate processes so that each can use all cores.

#![expect(
    clippy::print_stdout,
    reason = "they talk to the benchmark over standard output"
)]

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use http_body_util::{BodyExt as _, Full};
use hyper::{Request, Response, body::Bytes, body::Incoming, header, service::service_fn};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioIo},
};
use sectile_markdown::Source;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

/// The approximate length of the note, in bytes.
const NOTE_BYTES: usize = 10_000;

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["store"] => store().await,
        ["bare", store] => bare(store.parse()?).await,
        [
            "load",
            address,
            connections,
            seconds,
            requests,
            ref head @ ..,
            body,
        ] => {
            let plan = Plan {
                address: address.parse()?,
                connections: connections.parse()?,
                time: Duration::from_secs_f64(seconds.parse()?),
                requests: requests.parse()?,
            };
            load(plan, request(head, body)).await
        }
        _ => {
            bail!("store, bare STORE, or load ADDRESS CONNECTIONS SECONDS REQUESTS HEADER... BODY")
        }
    }
}

/// Returns a note of ordinary shape: a heading every few paragraphs.
fn note() -> String {
    let mut text = "# A note of ordinary shape\n\n".to_owned();
    let mut number = 0;
    while text.len() < NOTE_BYTES {
        number += 1;
        text += &format!("## Part {number}\n\n");
        for _ in 0..3 {
            text +=
                "Some words about *the matter*, with a [link](other.md), `code` and a list:\n\n";
            text += "- one thing, and another\n- a second line that is a little longer\n\n";
        }
    }
    text
}

async fn listen() -> Result<TcpListener> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    Ok(listener)
}

/// Serves every connection with `answer`.
async fn serve<A, F>(listener: TcpListener, answer: A) -> Result<()>
where
    A: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Response<Full<Bytes>>> + Send,
{
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let answer = answer.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let answer = answer(request);
                async move { Ok::<_, Infallible>(answer.await) }
            });
            let connection = hyper::server::conn::http1::Builder::new();
            // Clients may disconnect at any time.
            drop(
                connection
                    .serve_connection(TokioIo::new(stream), service)
                    .await,
            );
        });
    }
}

fn json_answer(body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    let json = header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

/// A store that returns the same note for every request.
async fn store() -> Result<()> {
    let front_matter = r#"{"title":"A note","tags":["one","two"]}"#;
    let note = json!({ "path": "a.md", "frontmatter": front_matter, "body": note() });
    let body = Bytes::from(note.to_string());
    serve(listen().await?, move |_| {
        let body = body.clone();
        async move { json_answer(body) }
    })
    .await
}

/// The minimum that any gateway has to do: take a request, ask the store, parse the note, answer.
async fn bare(store: SocketAddr) -> Result<()> {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client: Client<HttpConnector, Full<Bytes>> =
        Client::builder(TokioExecutor::new()).build(connector);
    serve(listen().await?, move |request| {
        let client = client.clone();
        async move {
            match bare_answer(&client, store, request).await {
                Ok(body) => json_answer(body),
                Err(_) => {
                    let mut response = Response::new(Full::default());
                    *response.status_mut() = hyper::StatusCode::BAD_GATEWAY;
                    response
                }
            }
        }
    })
    .await
}

async fn bare_answer(
    client: &Client<HttpConnector, Full<Bytes>>,
    store: SocketAddr,
    request: Request<Incoming>,
) -> Result<String> {
    let call: Value = serde_json::from_slice(&request.collect().await?.to_bytes())?;
    let path = call["params"]["arguments"]["path"]
        .as_str()
        .context("no path")?;
    let path = path.replace('/', "%2F");
    let asked = Request::get(format!("http://{store}/api/v1/notes/{path}"))
        .header("authorization", "Bearer x")
        .header("x-vault-id", "default")
        .header("x-user-id", "ada")
        .header("accept", "application/json")
        .header("content-type", "application/json")
        .body(Full::default())?;
    let answer = client.request(asked).await?;
    let note: Value = serde_json::from_slice(&answer.collect().await?.to_bytes())?;
    let body = note["body"].as_str().context("no body")?;
    let sections = Source::new(body.as_bytes()).parse().sections().len();
    Ok(
        json!({ "jsonrpc": "2.0", "id": call["id"], "result": { "sections": sections } })
            .to_string(),
    )
}

#[derive(Clone, Copy)]
struct Plan {
    address: SocketAddr,
    connections: usize,
    /// The load ends after this time, or after this many answers.
    time: Duration,
    requests: usize,
}

fn request(head: &[&str], body: &str) -> Vec<u8> {
    let mut text = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n",
        body.len()
    );
    for line in head {
        text += line;
        text += "\r\n";
    }
    (text + "\r\n" + body).into_bytes()
}

/// Repeats the same request on every connection.
async fn load(plan: Plan, request: Vec<u8>) -> Result<()> {
    let (request, sent) = (Arc::new(request), Arc::new(AtomicUsize::new(0)));
    let started = Instant::now();
    let mut clients = Vec::new();
    for _ in 0..plan.connections {
        let (request, sent) = (Arc::clone(&request), Arc::clone(&sent));
        clients.push(tokio::spawn(async move {
            let mut connection = Connection::open(plan.address).await?;
            let mut times = Vec::new();
            while started.elapsed() < plan.time
                && sent.fetch_add(1, Ordering::Relaxed) < plan.requests
            {
                times.push(connection.exchange(&request).await?);
            }
            Ok::<_, anyhow::Error>(times)
        }));
    }
    let mut times = Vec::new();
    for client in clients {
        times.extend(client.await??);
    }
    let elapsed = started.elapsed();
    times.sort();
    let at = |share: f64| {
        let index = (times.len() as f64 * share) as usize;
        times.get(index.min(times.len().saturating_sub(1))).copied()
    };
    let micros = |time: Option<Duration>| time.unwrap_or_default().as_secs_f64() * 1e6;
    println!(
        "{}",
        json!({
            "requests": times.len(),
            "seconds": elapsed.as_secs_f64(),
            "p50_us": micros(at(0.5)),
            "p99_us": micros(at(0.99)),
        })
    );
    Ok(())
}

struct Connection {
    stream: TcpStream,
    received: Vec<u8>,
}

impl Connection {
    async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            received: Vec::with_capacity(64 << 10),
        })
    }

    /// Sends one request and reads the whole answer, which must be a success with a length.
    async fn exchange(&mut self, request: &[u8]) -> Result<Duration> {
        let started = Instant::now();
        self.stream.write_all(request).await?;
        self.received.clear();
        loop {
            let count = self.stream.read_buf(&mut self.received).await?;
            ensure!(count > 0, "the server closed the connection");
            let text = &self.received;
            let Some(head) = text.windows(4).position(|window| window == b"\r\n\r\n") else {
                continue;
            };
            ensure!(
                text.starts_with(b"HTTP/1.1 200"),
                "answered {}",
                String::from_utf8_lossy(text)
            );
            let length = length(&text[..head])?;
            if text.len() >= head + 4 + length {
                let failed = text[head..]
                    .windows(14)
                    .any(|window| window == b"\"isError\":true");
                ensure!(!failed, "answered {}", String::from_utf8_lossy(text));
                return Ok(started.elapsed());
            }
        }
    }
}

fn length(head: &[u8]) -> Result<usize> {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let line = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"));
    Ok(line.context("an answer without a length")?.trim().parse()?)
}
