//! A proxy in front of a server, for either protocol, with faults that can be switched while it runs.

mod connection;
mod requests;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

use crate::background::{Background, adopt, listen, loopback};
use crate::must;
use crate::process::free_port;

const ATTEMPTS: usize = 5;
const SWITCH_LIMIT: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(1);

/// A fault of the proxy. Only [`Fault::Answer`] requires HTTP.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Fault {
    /// No fault.
    #[default]
    Pass,
    /// Nothing listens, and connections are closed.
    Refuse,
    /// Connections are accepted, but no data moves on old or new ones until the fault is switched off.
    Hang,
    /// Each connection is closed after `after` bytes from the server, counted from the switch on. After `times`
    /// connections, nothing goes wrong any more.
    Cut {
        /// The number of bytes that get through.
        after: usize,
        /// The number of connections that are cut.
        times: usize,
    },
    /// The proxy itself answers `times` requests; then nothing goes wrong any more.
    Answer {
        /// The status, such as 503 or 429.
        status: u16,
        /// `Retry-After`, in seconds.
        retry_after: Option<u64>,
        /// The number of requests answered in this way.
        times: usize,
    },
}

/// A request as it arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The method.
    pub method: String,
    /// The target, exactly as sent: path and query.
    pub path: String,
    /// The `Range` header, if there is one.
    pub range: Option<String>,
}

/// A running proxy. It ends when dropped, and its connections are closed.
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    _background: Background,
}

struct Shared {
    server: SocketAddr,
    fault: watch::Sender<Fault>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    requests: Vec<Request>,
    connections: usize,
    is_listening: bool,
}

impl Proxy {
    /// Starts a proxy on a free port of the loopback interface. It forwards everything to `server`.
    ///
    /// # Panics
    /// Panics if it cannot listen.
    #[must_use]
    #[track_caller]
    pub fn to(server: SocketAddr) -> Self {
        must(Self::new(server))
    }

    /// Returns the address that clients connect to instead.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the same as a URL for clients that speak HTTP.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Switches a fault on, or off with [`Fault::Pass`]. Counting starts here.
    ///
    /// # Panics
    /// Panics if the port was taken while nothing listened.
    #[track_caller]
    pub fn set(&self, fault: Fault) {
        let listens = fault != Fault::Refuse;
        self.shared.fault.send_replace(fault);
        let start = Instant::now();
        while self.shared.state().is_listening != listens {
            assert!(start.elapsed() < SWITCH_LIMIT, "the proxy did not switch");
            thread::sleep(POLL);
        }
    }

    /// Returns every HTTP request since the start, or since they were last taken. A chunked request ends the counting on
    /// its connection.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.shared.state().requests.clone()
    }

    /// Takes the requests: returns and forgets them.
    #[must_use]
    pub fn take_requests(&self) -> Vec<Request> {
        std::mem::take(&mut self.shared.state().requests)
    }

    /// Returns the number of connections accepted since the start.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.state().connections
    }

    fn new(server: SocketAddr) -> Result<Self> {
        let shared = Arc::new(Shared {
            server,
            fault: watch::Sender::default(),
            state: Mutex::default(),
        });
        for _ in 0..ATTEMPTS {
            let port = free_port()?;
            // Somebody else may have taken it in between.
            let Ok(listener) = listen(port) else {
                continue;
            };
            shared.state().is_listening = true;
            let background = Background::start(accept(listener, port, Arc::clone(&shared)))?;
            return Ok(Self {
                address: loopback(port),
                shared,
                _background: background,
            });
        }
        bail!("the proxy finds no port")
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Uses up one occurrence of a fault, and returns what `wanted` makes of it.
    fn spend<T>(&self, wanted: impl Fn(&Fault) -> Option<T>) -> Option<T> {
        let mut found = None;
        self.fault.send_if_modified(|fault| {
            found = wanted(fault);
            let (Fault::Cut { times, .. } | Fault::Answer { times, .. }) = fault else {
                return false;
            };
            if *times == 0 {
                found = None;
            } else if found.is_some() {
                *times -= 1;
            }
            // Connections keep counting from where they were.
            false
        });
        found
    }
}

/// Accepts connections, except while the fault is to refuse them.
async fn accept(listener: std::net::TcpListener, port: u16, shared: Arc<Shared>) {
    let mut fault = shared.fault.subscribe();
    let mut first = Some(listener);
    loop {
        let Ok(listener) = first
            .take()
            .map_or_else(|| listen(port), Ok)
            .and_then(adopt)
        else {
            tokio::time::sleep(POLL).await;
            continue;
        };
        shared.state().is_listening = true;
        loop {
            tokio::select! {
                _ = fault.wait_for(|fault| *fault == Fault::Refuse) => break,
                accepted = listener.accept() => {
                    let Ok((client, _)) = accepted else { continue };
                    shared.state().connections += 1;
                    let shared = Arc::clone(&shared);
                    tokio::spawn(async move {
                        // The client notices a broken connection.
                        let served: io::Result<()> = connection::serve(client, &shared).await;
                        drop(served);
                    });
                }
            }
        }
        drop(listener);
        shared.state().is_listening = false;
        if fault
            .wait_for(|fault| *fault != Fault::Refuse)
            .await
            .is_err()
        {
            return;
        }
    }
}
