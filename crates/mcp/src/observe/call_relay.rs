//! Calls of other processes that serve the same desk, such as one that a client started for itself: they are passed on to
//! the console of the desk through a file, while somebody is looking there.
//!
//! The console touches a file as a sign that it is being looked at. A server looks for that sign now and then, and adds its
//! calls to another file only if the sign is fresh. Both files are in a folder that only this user can open, and what is in
//! them is checked like anything else that comes from outside.

#![expect(
    clippy::disallowed_methods,
    reason = "passing calls on is a matter of two files"
)]

use std::{
    fs,
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::call_log::{LoggedCall, WATCHED_FOR};

/// How often the sign is looked for. A call between two looks costs the comparison of two times.
const LOOK_AGAIN: Duration = Duration::from_secs(2);
/// Largest file of calls; a larger one is begun again.
const MAX_BYTES: u64 = 1 << 20;
/// Longest name of a tool, an outcome or a client that is taken from the file, in bytes.
const MAX_NAME_BYTES: usize = 200;

/// The way from servers of a desk to its console.
pub struct CallRelay {
    /// The calls, one on each line.
    calls: PathBuf,
    /// The sign that somebody is looking.
    sign: PathBuf,
    /// When the sign was last looked for, and whether it was fresh.
    looked: Mutex<Option<(Instant, bool)>>,
    /// How far the file of calls was read.
    read_to: Mutex<u64>,
}

/// A call as it is passed on.
#[derive(Debug, Serialize, Deserialize)]
struct PassedCall {
    /// Milliseconds since the epoch at which it ended.
    ended: u64,
    tool: String,
    outcome: String,
    micros: u64,
    bytes: usize,
    tokens: Option<usize>,
    client: Option<String>,
}

impl CallRelay {
    /// Makes the relay of the desk with this name, in a folder that is created when it is needed.
    #[must_use]
    pub fn new(folder: &Path, desk: &str) -> Self {
        Self {
            calls: folder.join(format!("{desk}.jsonl")),
            sign: folder.join(format!("{desk}.watched")),
            looked: Mutex::default(),
            read_to: Mutex::default(),
        }
    }

    /// Leaves the sign that somebody is looking.
    pub(super) fn watch(&self) -> io::Result<()> {
        if let Some(folder) = self.sign.parent() {
            let mut builder = fs::DirBuilder::new();
            builder.recursive(true);
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.create(folder)?;
        }
        let sign = private().write(true).truncate(true).open(&self.sign)?;
        sign.set_modified(SystemTime::now())
    }

    /// Returns whether somebody is looking.
    pub(super) fn is_watched(&self) -> bool {
        let mut looked = self.looked.lock();
        if let Some((at, is_watched)) = *looked
            && at.elapsed() < LOOK_AGAIN
        {
            return is_watched;
        }
        let modified = fs::metadata(&self.sign).and_then(|sign| sign.modified());
        let is_watched = modified.is_ok_and(|modified| {
            let age = modified.elapsed();
            age.is_ok_and(|age| age < WATCHED_FOR)
        });
        *looked = Some((Instant::now(), is_watched));
        is_watched
    }

    /// Passes a call on.
    pub(super) fn send(&self, call: &LoggedCall) -> io::Result<()> {
        let since = call.ended.duration_since(SystemTime::UNIX_EPOCH);
        let passed = PassedCall {
            ended: since.map_or(0, |since| {
                u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
            }),
            tool: call.tool.to_string(),
            outcome: call.outcome.to_string(),
            micros: u64::try_from(call.elapsed.as_micros()).unwrap_or(u64::MAX),
            bytes: call.bytes,
            tokens: call.tokens,
            client: call.client.clone(),
        };
        let mut line = serde_json::to_vec(&passed)?;
        line.push(b'\n');
        let mut file = private().append(true).open(&self.calls)?;
        if file.metadata()?.len() > MAX_BYTES {
            file.set_len(0)?;
        }
        // One write, so that lines of several servers do not mix.
        file.write_all(&line)
    }

    /// Returns the calls that were passed on since this was last asked for, oldest first. Whatever is not one is left out.
    pub(super) fn receive(&self, world: &'static str) -> Vec<LoggedCall> {
        let mut read_to = self.read_to.lock();
        let mut read = || -> io::Result<Vec<u8>> {
            let mut file = fs::File::open(&self.calls)?;
            let metadata = file.metadata()?;
            // Opening a pipe or a device was harmless; reading it might not end.
            if !metadata.is_file() {
                return Ok(Vec::new());
            }
            if metadata.len() < *read_to {
                *read_to = 0;
            }
            file.seek(SeekFrom::Start(*read_to))?;
            let mut bytes = Vec::new();
            file.take(2 * MAX_BYTES).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let bytes = read().unwrap_or_default();
        let whole = bytes
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |end| end + 1);
        *read_to += whole as u64;
        let lines = bytes[..whole].split(|byte| *byte == b'\n');
        let calls = lines.filter_map(|line| serde_json::from_slice::<PassedCall>(line).ok());
        calls.filter_map(|passed| logged(passed, world)).collect()
    }
}

/// Returns a call that was passed on as the log keeps it; `None` if it cannot be one.
fn logged(passed: PassedCall, world: &'static str) -> Option<LoggedCall> {
    let is_short = |name: &String| name.len() <= MAX_NAME_BYTES;
    let has_names = is_short(&passed.tool)
        && is_short(&passed.outcome)
        && passed.client.as_ref().is_none_or(is_short);
    let ended = SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(passed.ended))?;
    has_names.then_some(LoggedCall {
        number: 0,
        ended,
        world,
        tool: passed.tool.into(),
        outcome: passed.outcome.into(),
        elapsed: Duration::from_micros(passed.micros),
        bytes: passed.bytes,
        tokens: passed.tokens,
        client: passed.client,
        caller: None,
        group: None,
    })
}

/// Returns how a file is opened that only its owner can read.
fn private() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    options.create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(tool: &'static str) -> LoggedCall {
        LoggedCall {
            number: 7,
            ended: SystemTime::UNIX_EPOCH + Duration::from_millis(1_500),
            world: "desk",
            tool: tool.into(),
            outcome: "ok".into(),
            elapsed: Duration::from_micros(250),
            bytes: 12,
            tokens: Some(3),
            client: Some("agent 1".to_owned()),
            caller: Some("secret".to_owned()),
            group: Some("secret".to_owned()),
        }
    }

    #[test]
    fn calls_are_passed_on_only_while_somebody_looks() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("calls");
        let (server, console) = (CallRelay::new(&place, "a"), CallRelay::new(&place, "a"));
        assert!(!server.is_watched());
        console.watch().unwrap();
        // What was seen a moment ago still counts.
        assert!(!server.is_watched());
        assert!(CallRelay::new(&place, "a").is_watched());
        assert!(!CallRelay::new(&place, "b").is_watched());
        server.send(&call("search")).unwrap();
        server.send(&call("fetch")).unwrap();
        let received = console.receive("desk");
        assert_eq!(received.len(), 2);
        assert_eq!((&*received[0].tool, received[0].bytes), ("search", 12));
        assert_eq!(received[1].client.as_deref(), Some("agent 1"));
        assert_eq!(received[0].caller, None);
        assert!(console.receive("desk").is_empty());
        server.send(&call("edit")).unwrap();
        assert_eq!(console.receive("desk").len(), 1);
    }

    #[test]
    fn whatever_is_in_the_file_is_checked() {
        let folder = tempfile::tempdir().unwrap();
        let relay = CallRelay::new(folder.path(), "a");
        relay.send(&call("search")).unwrap();
        let long = "x".repeat(MAX_NAME_BYTES + 1);
        let mut text = fs::read_to_string(&relay.calls).unwrap();
        text += "not JSON\n{}\n\u{0}\n[1]\n";
        text += &format!(
            "{{\"ended\":1,\"tool\":\"{long}\",\"outcome\":\"ok\",\"micros\":1,\"bytes\":1,\"tokens\":null,\"client\":null}}\n"
        );
        text += &format!(
            "{{\"ended\":{},\"tool\":\"a\",\"outcome\":\"ok\",\"micros\":{0},\"bytes\":1,\"tokens\":null,\"client\":null}}\n",
            u64::MAX
        );
        text += "{\"ended\":1,\"half\":";
        fs::write(&relay.calls, &text).unwrap();
        let received = relay.receive("desk");
        assert!(
            received.len() <= 2 && &*received[0].tool == "search",
            "{received:?}"
        );
        // A file that was begun again is read from its start.
        fs::write(&relay.calls, "").unwrap();
        relay.send(&call("fetch")).unwrap();
        assert_eq!(relay.receive("desk").len(), 1);
    }

    #[test]
    fn the_file_does_not_grow_without_end() {
        let folder = tempfile::tempdir().unwrap();
        let relay = CallRelay::new(folder.path(), "a");
        fs::write(&relay.calls, vec![b'\n'; MAX_BYTES as usize + 1]).unwrap();
        relay.send(&call("search")).unwrap();
        assert!(fs::metadata(&relay.calls).unwrap().len() < 1_000);
    }
}
