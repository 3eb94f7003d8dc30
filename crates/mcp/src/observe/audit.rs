//! The audit log: one JSON line per call, appended to a file that is rotated when it gets long.
//!
//! A dedicated thread writes, so that a slow disk does not hold up calls until the queue to it is full; then calls
//! wait, because no line is left out. Callers appear as keyed hashes, which tell callers apart and reveal nothing else.

#[cfg(test)]
mod tests;

use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
};

use jiff::Timestamp;
use prometheus_client::metrics::counter::Counter;
use ring::hmac;
use serde::Serialize;

use crate::{CallRecord, access::Secret, observe::append::AppendFile};

/// Number of calls that may wait to be written. It absorbs short stalls of the disk; when it is full, calls wait.
const QUEUE: usize = 4096;
/// Number of bytes that are written at once, if that much is waiting.
const BATCH_BYTES: usize = 64 << 10;
/// Number of bytes of a hash that are shown, as two digits each.
const HASH_BYTES: usize = 8;
const KEY_BYTES: usize = 32;

/// The audit log.
pub struct AuditLog {
    /// `None` only while it is being dropped.
    queue: Option<SyncSender<Message>>,
    writer: Option<JoinHandle<()>>,
    lost: Counter,
    count: AtomicU64,
    clock: fn() -> Timestamp,
}

enum Message {
    Ended(Box<AuditedCall>),
    /// Answered when everything before it is written.
    Flush(SyncSender<()>),
}

/// A call on its way to the file.
struct AuditedCall {
    time: Timestamp,
    number: u64,
    caller: Option<String>,
    world: &'static str,
    tool: String,
    outcome: &'static str,
    elapsed_us: u64,
}

/// A line of the file.
#[derive(Serialize)]
struct AuditLine<'a> {
    time: String,
    request: String,
    caller: Option<String>,
    world: &'a str,
    tool: &'a str,
    outcome: &'a str,
    elapsed_us: u64,
}

impl AuditLog {
    /// Opens `file` for appending. Callers are hashed with `key`, or with one that lasts as long as the process.
    pub fn open(
        file: &Path,
        key: Option<&Secret>,
        max_bytes: u64,
        keep: usize,
    ) -> io::Result<Self> {
        Self::open_with(file, key, (max_bytes, keep), Timestamp::now)
    }

    fn open_with(
        path: &Path,
        key: Option<&Secret>,
        (max_bytes, keep): (u64, usize),
        clock: fn() -> Timestamp,
    ) -> io::Result<Self> {
        let mut process = [0; size_of::<u32>()];
        fill(&mut process)?;
        let process = u32::from_ne_bytes(process);
        let key = match key {
            Some(key) => hmac::Key::new(hmac::HMAC_SHA256, key.reveal().as_bytes()),
            None => {
                let mut bytes = [0; KEY_BYTES];
                fill(&mut bytes)?;
                hmac::Key::new(hmac::HMAC_SHA256, &bytes)
            }
        };
        let lost = Counter::default();
        let record = AuditFile {
            file: Some(AppendFile::open(path)?),
            path: path.to_path_buf(),
            max_bytes,
            keep,
            is_torn: false,
            failure: None,
            stuck: None,
            lost: lost.clone(),
        };
        let (queue, waiting) = sync_channel(QUEUE);
        let writer = Writer {
            record,
            key,
            process,
            lines: Vec::new(),
        };
        let writer = thread::Builder::new()
            .name("audit".to_owned())
            .spawn(move || writer.run(&waiting))?;
        Ok(Self {
            queue: Some(queue),
            writer: Some(writer),
            lost,
            count: AtomicU64::new(0),
            clock,
        })
    }

    /// Records one call. Blocks while too many others wait to be written.
    pub fn record(&self, call: &CallRecord<'_>) {
        let (tool, outcome) = call.truth;
        let ended = Box::new(AuditedCall {
            time: (self.clock)(),
            number: self.count.fetch_add(1, Ordering::Relaxed) + 1,
            caller: call.caller.map(str::to_owned),
            world: call.world,
            tool: tool.to_owned(),
            outcome,
            elapsed_us: u64::try_from(call.elapsed.as_micros()).unwrap_or(u64::MAX),
        });
        if !self.send(Message::Ended(ended)) {
            self.lost.inc();
        }
    }

    /// Waits until everything that was recorded before is written.
    pub(super) fn flush(&self) {
        let (done, written) = sync_channel(1);
        if !self.send(Message::Flush(done)) || written.recv().is_err() {
            tracing::error!("the audit log has stopped early");
        }
    }

    /// Returns the counter of calls that could not be written.
    pub(super) fn lost(&self) -> Counter {
        self.lost.clone()
    }

    /// Sends `message` to the writer, and returns whether there still is one.
    fn send(&self, message: Message) -> bool {
        let queue = self.queue.as_ref();
        queue.is_some_and(|queue| queue.send(message).is_ok())
    }
}

impl Drop for AuditLog {
    /// Writes what is still waiting.
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(Err(_)) = self.writer.take().map(JoinHandle::join) {
            tracing::error!("the end of the audit log is missing");
        }
    }
}

fn fill(bytes: &mut [u8]) -> io::Result<()> {
    getrandom::fill(bytes).map_err(|_| io::Error::other("no random bytes"))
}

/// Turns calls into lines.
struct Writer {
    record: AuditFile,
    key: hmac::Key,
    /// Distinguishes the ids of this process from those of others.
    process: u32,
    /// Lines that are written together.
    lines: Vec<u8>,
}

impl Writer {
    fn run(mut self, waiting: &Receiver<Message>) {
        while let Ok(first) = waiting.recv() {
            let mut flushed = Vec::new();
            let mut next = Some(first);
            while let Some(message) = next {
                match message {
                    Message::Ended(call) => self.add(&call),
                    Message::Flush(done) => flushed.push(done),
                }
                next = match self.lines.len() < BATCH_BYTES {
                    true => waiting.try_recv().ok(),
                    false => None,
                };
            }
            self.write();
            for done in flushed {
                if done.send(()).is_err() {
                    tracing::debug!("the flush of the audit log is no longer awaited");
                }
            }
        }
        self.record.close();
    }

    /// Adds the line of `call` to the batch. A line that would make the file too long starts the next file.
    fn add(&mut self, call: &AuditedCall) {
        let line = AuditLine {
            time: format!("{:.3}", call.time),
            request: format!("{:08x}-{}", self.process, call.number),
            caller: call.caller.as_deref().map(|caller| self.hash(caller)),
            world: call.world,
            tool: &call.tool,
            outcome: call.outcome,
            elapsed_us: call.elapsed_us,
        };
        let mut line = serde_json::to_vec(&line).unwrap_or_default();
        line.push(b'\n');
        if !self.record.has_room(self.lines.len(), line.len()) {
            self.write();
            self.record.begin_anew();
        }
        self.lines.append(&mut line);
    }

    fn hash(&self, caller: &str) -> String {
        let tag = hmac::sign(&self.key, caller.as_bytes());
        let shown = tag.as_ref().iter().take(HASH_BYTES);
        shown.map(|byte| format!("{byte:02x}")).collect()
    }

    fn write(&mut self) {
        if !self.lines.is_empty() {
            self.record.append(&self.lines);
            self.lines.clear();
        }
    }
}

/// The file and its state.
struct AuditFile {
    path: PathBuf,
    /// `None` after an error.
    file: Option<AppendFile>,
    max_bytes: u64,
    keep: usize,
    /// Whether the file ends in the middle of a line.
    is_torn: bool,
    /// The error, while writing fails.
    failure: Option<io::ErrorKind>,
    /// The error, while the file cannot be rotated.
    stuck: Option<io::ErrorKind>,
    lost: Counter,
}

impl AuditFile {
    /// Returns whether a line can be added before the file has to be rotated, with `pending` bytes still to be written.
    /// Any line fits into an empty file.
    fn has_room(&self, pending: usize, line: usize) -> bool {
        let length = self.file.as_ref().map(AppendFile::length);
        // A file that is not open will be opened as a new one.
        let length = length.and_then(Result::ok).unwrap_or_default();
        let before = length + pending as u64;
        before == 0 || before + line as u64 <= self.max_bytes
    }

    fn begin_anew(&mut self) {
        let Some(file) = self.file.take() else {
            return;
        };
        // If that fails, the file is opened again and grows, which is better than a gap.
        let failure = file.put_aside(&self.path, self.keep).err();
        let failure = failure.map(|error| error.kind());
        if self.stuck == failure {
            return;
        }
        if let Some(kind) = failure {
            tracing::error!(?kind, "cannot rotate the audit log");
        }
        self.stuck = failure;
    }

    /// Appends whole lines.
    fn append(&mut self, lines: &[u8]) {
        let result = match self.current() {
            Ok(file) => file.append(lines),
            Err(error) => Err((0, error)),
        };
        match result {
            Ok(()) => {
                if self.failure.take().is_some() {
                    let lost = self.lost.get();
                    tracing::warn!(lost, "the audit log can be written again");
                }
            }
            Err((written, error)) => self.fail(lines, written, error.kind()),
        }
    }

    /// Returns the file that `path` names now, at the start of a line.
    fn current(&mut self) -> io::Result<&mut AppendFile> {
        if self
            .file
            .as_ref()
            .is_some_and(|file| !file.is_at(&self.path))
        {
            self.file = None;
            self.is_torn = false;
        }
        let file = match self.file.take() {
            Some(file) => file,
            None => AppendFile::open(&self.path)?,
        };
        let file = self.file.insert(file);
        if self.is_torn && file.length()? > 0 {
            file.append(b"\n").map_err(|(_, error)| error)?;
        }
        self.is_torn = false;
        Ok(file)
    }

    fn fail(&mut self, lines: &[u8], written: usize, kind: io::ErrorKind) {
        let (done, missing) = lines.split_at(written);
        self.is_torn |= done.last().is_some_and(|&last| last != b'\n');
        let missing = missing.iter().filter(|&&byte| byte == b'\n').count();
        self.lost.inc_by(missing as u64);
        if self.failure.replace(kind) != Some(kind) {
            tracing::error!(?kind, "cannot write the audit log");
        }
    }

    fn close(self) {
        if let Some(Err(error)) = self.file.as_ref().map(AppendFile::sync) {
            tracing::error!(kind = ?error.kind(), "cannot flush the audit log to the disk");
        }
    }
}
