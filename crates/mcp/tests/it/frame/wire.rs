//! The same server over HTTP, without the binary around it, and a client that sends raw requests.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use sectile_mcp::{
    NoObserver, Surface,
    access::RateLimits,
    http::{
        AuthenticationSettings, AuthenticationStep, HttpSettings, ListenerSettings, Origins,
        SessionBounds, serve,
    },
};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use crate::fixture::{Era, PATIENCE};

pub(super) struct HttpServer {
    address: SocketAddr,
    stop: CancellationToken,
    serving: JoinHandle<io::Result<()>>,
}

/// An answer whose body may still be coming.
pub(super) struct Answer {
    pub(super) status: u16,
    head: String,
    stream: TcpStream,
    /// The part of the body that has arrived and was not returned yet.
    body: String,
    raw: Vec<u8>,
}

pub(super) fn http_settings() -> HttpSettings {
    HttpSettings {
        origins: Origins::default(),
        max_body_bytes: 1 << 20,
        body_timeout: PATIENCE,
        stop_notice: Duration::ZERO,
        sessions: SessionBounds {
            max: 4,
            max_per_caller: 4,
            rest_after: 4 * PATIENCE,
            idle: 4 * PATIENCE,
            confirm_within: 4 * PATIENCE,
        },
        listener: ListenerSettings {
            tls: None,
            max_connections: 1000,
            max_connections_per_address: 1000,
            trusted_proxies: Vec::new(),
            head_timeout: PATIENCE,
            max_head_bytes: 32 << 10,
        },
        authentication: Arc::new(AuthenticationStep::new(AuthenticationSettings {
            authenticator: None,
            roles: Arc::default(),
            rates: RateLimits::new(0, 0),
            public_url: "http://127.0.0.1".to_owned(),
            trusted_proxies: Vec::new(),
            observer: Arc::new(NoObserver),
        })),
    }
}

impl HttpServer {
    pub(super) async fn start(surface: Surface) -> Self {
        Self::start_with(surface, http_settings()).await
    }

    pub(super) async fn start_with(surface: Surface, settings: HttpSettings) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shutdown = CancellationToken::new();
        let serving = serve(
            listener,
            vec![Arc::new(surface)],
            settings,
            None,
            shutdown.clone(),
        );
        Self {
            address,
            stop: shutdown,
            serving: tokio::spawn(serving),
        }
    }

    pub(super) fn stop(&self) {
        self.stop.cancel();
    }

    /// Waits until the server has stopped by itself.
    pub(super) async fn ended(mut self) {
        let ended = timeout(PATIENCE, &mut self.serving).await;
        ended.unwrap().unwrap().unwrap();
    }

    /// Sends a GET request for a path.
    pub(super) async fn get(&self, path: &str) -> Answer {
        self.send_to("GET", path, &[], "").await
    }

    /// Sends a request to the endpoint and reads the head of the answer.
    pub(super) async fn send(&self, method: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        self.send_to(method, "/mcp", headers, body).await
    }

    async fn send_to(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\nConnection: close\r\nHost: {}\r\nContent-Length: {}\r\n",
            self.address,
            body.len()
        );
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        request += "\r\n";
        request += body;
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        Answer::read_head(stream).await
    }

    /// Posts a message with the headers that its era requires, and further ones.
    pub(super) async fn post(&self, era: Era, message: &Value, more: &[(&str, &str)]) -> Answer {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let params = &message["params"];
        let method = text(&message["method"]);
        let name = text(if params["uri"].is_string() {
            &params["uri"]
        } else {
            &params["name"]
        });
        let mut headers = vec![
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", era.version()),
        ];
        if era == Era::Stateless {
            headers.push(("Mcp-Method", &method));
            if !name.is_empty() {
                headers.push(("Mcp-Name", &name));
            }
        }
        headers.extend(more);
        self.send("POST", &headers, &message.to_string()).await
    }

    /// Returns the whole body that answers a request, which always has the same id.
    pub(super) async fn line(&self, era: Era, method: &str, params: Value) -> String {
        let message = era.request(7, method, params);
        self.post(era, &message, &[]).await.text().await
    }

    pub(super) async fn ask(&self, era: Era, method: &str, params: Value) -> Value {
        let message = era.request(7, method, params);
        let answer = self.post(era, &message, &[]).await;
        assert_eq!(answer.status, 200, "{method}, {era:?}");
        answer.json().await
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Answer {
    async fn read_head(mut stream: TcpStream) -> Self {
        let mut raw = Vec::new();
        let end = loop {
            let found = raw.windows(4).position(|window| window == b"\r\n\r\n");
            if let Some(end) = found {
                break end;
            }
            let read = timeout(PATIENCE, stream.read_buf(&mut raw)).await;
            assert!(read.unwrap().unwrap() > 0, "no HTTP answer");
        };
        let body = raw.split_off(end + 4);
        let head = String::from_utf8(raw).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Self {
            status,
            head,
            stream,
            body: String::new(),
            raw: body,
        }
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    fn is_chunked(&self) -> bool {
        self.header("transfer-encoding") == Some("chunked")
    }

    /// Moves complete chunks into the body.
    fn dechunk(&mut self) {
        if !self.is_chunked() {
            self.body += &String::from_utf8(std::mem::take(&mut self.raw)).unwrap();
            return;
        }
        while let Some(line) = self.raw.windows(2).position(|window| window == b"\r\n") {
            let size = std::str::from_utf8(&self.raw[..line]).unwrap().trim();
            let size = usize::from_str_radix(size, 16).unwrap();
            let (start, end) = (line + 2, line + 2 + size);
            if self.raw.len() < end + 2 {
                return;
            }
            self.body += std::str::from_utf8(&self.raw[start..end]).unwrap();
            self.raw.drain(..end + 2);
        }
    }

    async fn read_more(&mut self) -> bool {
        let read = timeout(PATIENCE, self.stream.read_buf(&mut self.raw)).await;
        let more = read.expect("the answer goes on or ends").unwrap_or(0) > 0;
        self.dechunk();
        more
    }

    /// Returns the whole body.
    pub(super) async fn text(mut self) -> String {
        self.dechunk();
        while self.read_more().await {}
        self.body
    }

    pub(super) async fn json(self) -> Value {
        let text = self.text().await;
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("not JSON: {text}"))
    }

    /// Returns the next message of an event stream, or `None` at its end.
    pub(super) async fn event(&mut self) -> Option<Value> {
        self.dechunk();
        loop {
            while let Some((event, rest)) = self.body.split_once("\n\n") {
                let data: String = event
                    .lines()
                    .filter_map(|line| line.strip_prefix("data:"))
                    .map(str::trim)
                    .collect();
                let message = serde_json::from_str(&data).ok();
                self.body = rest.to_owned();
                if message.is_some() {
                    return message;
                }
            }
            if !self.read_more().await {
                return None;
            }
        }
    }
}
