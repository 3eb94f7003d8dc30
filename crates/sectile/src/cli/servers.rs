//! The servers of this user that run on this machine, so that `sectile open` finds one instead of starting another.
//!
//! Each has a file in the user's state folder, which only this user can read. What it says is checked before it is used:
//! a process that was killed leaves its file behind.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    time::Duration,
};

use sectile_markdown::Digest;
use sectile_mcp::{access::Secret, http::LinkKey, observe::CallRelay};
use serde::{Deserialize, Serialize};

use crate::{config, files};

/// The folder of the files in this program's part of the state folder.
const FOLDER: &str = "sectile/servers";
/// The secret that links to a console are made with.
const KEY_FILE: &str = "sectile/console.key";
/// The folder of calls that are passed on.
const CALLS: &str = "sectile/calls";
/// Number of digits in the name of a desk there.
const NAME_DIGITS: usize = 32;
/// Number of bytes of that secret.
const KEY_BYTES: usize = 32;
/// How long a server that is asked whether it is there may take. On a busy machine it may be slow; if nobody listens, the
/// system says so at once.
const PATIENCE: Duration = Duration::from_secs(5);
/// Largest file that is read.
const MAX_FILE_BYTES: u64 = 64 << 10;

/// A server that runs on this machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RunningServer {
    /// The address that it listens on.
    pub(super) address: SocketAddr,
    /// The URL of its console, without a final slash.
    pub(super) url: String,
    /// Whether people sign in, so that a link lets nobody in.
    pub(super) signs_in: bool,
    /// The folders of its desk.
    pub(super) roots: Vec<PathBuf>,
}

/// A file that says that this process serves a desk. It is removed when this is dropped.
pub(super) struct Announcement(PathBuf);

impl Drop for Announcement {
    fn drop(&mut self) {
        if let Err(error) = files::remove(&self.0) {
            tracing::debug!(kind = ?error.kind(), "the file about this server stays behind");
        }
    }
}

impl RunningServer {
    /// Lets `sectile open` find this server. Without a folder for that it is not found.
    pub(super) fn announce(&self) -> Option<Announcement> {
        let folder = config::state_folder()?.join(FOLDER);
        let path = folder.join(format!("{}.json", std::process::id()));
        let text = serde_json::to_string(self).ok()?;
        match files::replace_private(&path, &text) {
            Ok(()) => Some(Announcement(path)),
            Err(error) => {
                tracing::debug!(kind = ?error.kind(), "`sectile open` will not find this server");
                None
            }
        }
    }

    /// Returns the server of a desk that has `folder` in one of its roots, and that root.
    pub(super) fn of(folder: &Path) -> Option<(Self, PathBuf)> {
        let all = config::state_folder()?.join(FOLDER);
        let mut files = files::list(&all).unwrap_or_default();
        files.sort();
        files.into_iter().find_map(|path| {
            let bytes = files::read_bytes(&path, MAX_FILE_BYTES).ok()??;
            let server: Self = serde_json::from_slice(&bytes).ok()?;
            let root = server.roots.iter().find(|root| folder.starts_with(root));
            let stream = match TcpStream::connect_timeout(&server.address, PATIENCE) {
                Ok(stream) => stream,
                // Nobody listens there any more.
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                    drop(Announcement(path));
                    return None;
                }
                Err(_) => return None,
            };
            let root = root?.clone();
            let is_ours = server.greet(stream).unwrap_or(false);
            is_ours.then_some((server, root))
        })
    }

    /// Returns whether it is a server of ours at the other end.
    fn greet(&self, mut stream: TcpStream) -> std::io::Result<bool> {
        if self.url.starts_with("https:") {
            // It would not understand the question, but somebody is there.
            return Ok(true);
        }
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let head = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        stream.write_all(head.as_bytes())?;
        let mut answer = Vec::new();
        stream.take(MAX_FILE_BYTES).read_to_end(&mut answer)?;
        Ok(answer.ends_with(b"ok\n"))
    }
}

/// Returns the way by which servers of a desk with these roots pass their calls on to its console; `None` if there is no
/// folder for it.
pub(super) fn call_relay(roots: &[PathBuf]) -> Option<CallRelay> {
    let first = roots.iter().min()?;
    let mut desk = Digest::of(first.as_os_str().as_encoded_bytes()).to_string();
    desk.truncate(NAME_DIGITS);
    Some(CallRelay::new(&config::state_folder()?.join(CALLS), &desk))
}

/// Returns the key of links to the consoles of this user's servers. If there is no folder for it, nobody else has it.
pub(super) fn link_key(address: SocketAddr) -> std::io::Result<Option<LinkKey>> {
    let bytes: [u8; KEY_BYTES] = match config::state_folder() {
        Some(folder) => match files::secret_bytes(&folder.join(KEY_FILE), true) {
            Ok(Some(bytes)) => bytes,
            Ok(None) | Err(_) => sectile_mcp::access::random_bytes()?,
        },
        None => sectile_mcp::access::random_bytes()?,
    };
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    // A link is for one server only.
    Ok(LinkKey::derive(&Secret::new(format!("{digits} {address}"))))
}
