//! A reference note store: the upstream of the hosted world, for tests and demos. It is not part of the product.
//!
//! [`NoteStore::start`] serves a folder on a loopback port, records every request as it arrived, and can be told to
//! misbehave. It speaks HTTP on bare connections, because faults need those, and tests want to see the bytes.

#![expect(
    clippy::disallowed_methods,
    reason = "a folder of notes is served, and this is not the product"
)]

mod answer;
mod connection;
mod fault;
mod notes;

use std::{
    collections::HashMap, io, net::SocketAddr, path::PathBuf, sync::Arc, thread::JoinHandle,
};

use parking_lot::{Mutex, MutexGuard};
use tokio::{net::TcpListener, runtime, sync::watch};

pub use self::{
    answer::SENTINEL,
    fault::{Fault, KINDS},
    notes::{Context, FrontMatterForm},
};

/// The settings of a store.
#[derive(Clone, Debug, Default)]
pub struct StoreSettings {
    /// The folder of the notes: `<vault>/<user>/<path>`.
    pub root: PathBuf,
    /// The secret that a gateway must send as `X-Gateway-Auth`, if any.
    pub gateway_secret: Option<String>,
    /// The form in which front matter is sent.
    pub front_matter: FrontMatterForm,
    /// Roles and effective users, by user and vault.
    pub contexts: Vec<Context>,
    /// The address to listen on; by default, a free port of the loopback interface.
    pub listen: Option<SocketAddr>,
    /// Whether requests are discarded instead of recorded.
    pub forgets: bool,
}

/// A request as it arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The number of its connection, from 0.
    pub connection: usize,
    /// The method.
    pub method: String,
    /// The target, exactly as sent.
    pub target: String,
    /// The headers, with names in lower case, in the order sent.
    pub headers: Vec<(String, String)>,
}

impl Request {
    /// Returns the value of a header that occurs exactly once.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        match (found.next(), found.next()) {
            (Some((_, value)), None) => Some(value),
            _ => None,
        }
    }
}

/// A running store. It ends when dropped.
pub struct NoteStore {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

/// The state shared by the connections and the owner of the store.
struct Shared {
    settings: StoreSettings,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    requests: Vec<Request>,
    connections: usize,
    fault: Option<Fault>,
    faults: HashMap<String, Fault>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Returns the fault for the note at `path`, or for anything else.
    fn fault(&self, path: Option<&str>) -> Option<Fault> {
        let state = self.state();
        let own = path.and_then(|path| state.faults.get(path));
        own.or(state.fault.as_ref()).cloned()
    }
}

impl NoteStore {
    /// Starts a store on a thread of its own.
    ///
    /// # Errors
    /// Returns an error if it cannot listen.
    pub fn start(settings: StoreSettings) -> io::Result<Self> {
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let address = settings
            .listen
            .unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 0)));
        let listener = runtime.block_on(TcpListener::bind(address))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            settings,
            state: Mutex::default(),
        });
        let (stop, stopped) = watch::channel(false);
        let for_thread = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            runtime.block_on(connection::accept(listener, for_thread, stopped));
        });
        Ok(Self {
            address,
            shared,
            stop,
            thread: Some(thread),
        })
    }

    /// Returns the address it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL for the settings of the hosted world.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns every request since the start, or since they were last taken.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.shared.state().requests.clone()
    }

    /// Takes the requests: returns and forgets them.
    #[must_use]
    pub fn take_requests(&self) -> Vec<Request> {
        std::mem::take(&mut self.shared.state().requests)
    }

    /// Returns the number of connections opened since the start.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.state().connections
    }

    /// Sets a fault for every answer, or clears it.
    pub fn set_fault(&self, fault: impl Into<Option<Fault>>) {
        self.shared.state().fault = fault.into();
    }

    /// Sets a fault for the answer for one note. The path is compared in decoded form.
    pub fn set_fault_for(&self, path: &str, fault: Fault) {
        self.shared.state().faults.insert(path.to_owned(), fault);
    }

    /// Clears all faults.
    pub fn clear_faults(&self) {
        let mut state = self.shared.state();
        state.fault = None;
        state.faults.clear();
    }

    /// Waits until the store ends, which it does only when dropped or killed.
    pub fn wait(mut self) {
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has ended as well.
            drop(thread.join());
        }
    }
}

impl Drop for NoteStore {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

#[cfg(test)]
mod tests;
