//! Changes that the system reports.
//!
//! On Linux every folder has a watch. The kernel queues an event before the call that caused it returns, so reading
//! all queued events at the start of a call finds every edit that another program completed before. Events are hints:
//! what they name is compared with the disk. Elsewhere there is no watcher, and the folder is listed instead.

use std::collections::BTreeSet;

use sectile_markdown::NotePath;

/// The paths that may have changed.
#[derive(Debug, Default)]
pub(super) struct Hints {
    /// Files and folders, by path.
    pub(super) paths: BTreeSet<NotePath>,
    /// Whether anything else may have changed too, so that the folder must be listed.
    pub(super) is_everything: bool,
}

/// Files whose contents decide which others count.
#[cfg(target_os = "linux")]
const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];

#[cfg(target_os = "linux")]
impl Hints {
    /// Adds an entry of a folder.
    fn add(&mut self, folder: &str, name: Option<&str>) {
        let Some(name) = name else {
            // Names that are not UTF-8 are never listed.
            return;
        };
        if IGNORE_FILES.contains(&name) {
            self.is_everything = true;
        }
        let path = match folder {
            "" => name.to_owned(),
            folder => format!("{folder}/{name}"),
        };
        let is_hidden = name.starts_with('.');
        let parsed = NotePath::parse_vault(&path);
        // A name with a backslash would be read as a different path.
        if let Ok(parsed) = parsed
            && !is_hidden
            && parsed.as_str() == path
        {
            self.paths.insert(parsed);
        }
    }
}

#[cfg(target_os = "linux")]
pub(super) use self::linux::Watcher;
#[cfg(not(target_os = "linux"))]
pub(super) use self::none::NoWatcher as Watcher;

#[cfg(target_os = "linux")]
mod linux {
    use std::{
        collections::{BTreeMap, HashMap},
        mem::MaybeUninit,
        os::fd::OwnedFd,
        path::{Path, PathBuf},
    };

    use rustix::{
        fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags},
        io::Errno,
    };

    use super::Hints;

    /// The watches of a folder and of all folders below it.
    pub(in super::super) struct Watcher {
        queue: OwnedFd,
        location: PathBuf,
        most: usize,
        folders: HashMap<i32, String>,
        /// The watch of each folder, by path; the top is the empty path.
        watches: BTreeMap<String, i32>,
    }

    impl Watcher {
        /// Creates a watcher without any watch, of at most so many folders.
        pub(in super::super) fn new(location: &Path, most: usize) -> Option<Self> {
            let queue = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()?;
            Some(Self {
                queue,
                location: location.to_owned(),
                most,
                folders: HashMap::new(),
                watches: BTreeMap::new(),
            })
        }

        /// Watches a folder; returns `false` if the system has no more watches. A folder that is not there is not
        /// watched, and its parent reports it when it appears.
        pub(in super::super) fn watch(&mut self, folder: &str) -> bool {
            let flags = WatchFlags::MODIFY
                | WatchFlags::CLOSE_WRITE
                | WatchFlags::ATTRIB
                | WatchFlags::CREATE
                | WatchFlags::DELETE
                | WatchFlags::MOVED_FROM
                | WatchFlags::MOVED_TO
                | WatchFlags::DELETE_SELF
                | WatchFlags::MOVE_SELF
                | WatchFlags::ONLYDIR
                | WatchFlags::DONT_FOLLOW;
            if self.watches.len() >= self.most && !self.watches.contains_key(folder) {
                return false;
            }
            let added = inotify::add_watch(&self.queue, self.location.join(folder), flags);
            match added {
                Ok(watch) => {
                    self.forget_watch_of(folder, Some(watch));
                    if let Some(before) = self.folders.insert(watch, folder.to_owned())
                        && before != folder
                    {
                        self.watches.remove(&before);
                    }
                    self.watches.insert(folder.to_owned(), watch);
                    true
                }
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => true,
                Err(_) => false,
            }
        }

        /// Removes the watch of a folder, unless it is `except`.
        fn forget_watch_of(&mut self, folder: &str, except: Option<i32>) {
            let watch = self.watches.get(folder).copied();
            if let Some(watch) = watch.filter(|watch| Some(*watch) != except) {
                self.watches.remove(folder);
                self.folders.remove(&watch);
                // The folder may be gone, and its watch with it.
                if inotify::remove_watch(&self.queue, watch).is_err() {
                    tracing::trace!("a watch was already gone");
                }
            }
        }

        /// Removes the watches of the folders that are not `wanted`.
        pub(in super::super) fn retain(&mut self, wanted: impl Fn(&str) -> bool) {
            let unwanted = self.watches.keys().filter(|folder| !wanted(folder));
            for folder in unwanted.cloned().collect::<Vec<_>>() {
                self.forget_watch_of(&folder, None);
            }
        }

        /// Removes the watches of a folder and of those below it.
        pub(in super::super) fn forget(&mut self, folder: &str) {
            let below = format!("{folder}/");
            let gone: Vec<String> = self
                .watches
                .range(folder.to_owned()..)
                .take_while(|(path, _)| path.starts_with(folder))
                .filter(|(path, _)| *path == folder || path.starts_with(&below))
                .map(|(path, _)| path.clone())
                .collect();
            for folder in gone {
                self.forget_watch_of(&folder, None);
            }
        }

        /// Adds everything that was reported since the last time.
        pub(in super::super) fn drain(&mut self, hints: &mut Hints) {
            let mut buffer = [MaybeUninit::uninit(); 16 << 10];
            let mut gone = Vec::new();
            let mut reader = Reader::new(&self.queue, &mut buffer);
            loop {
                let event = match reader.next() {
                    Ok(event) => event,
                    Err(Errno::AGAIN) => break,
                    Err(Errno::INTR) => continue,
                    Err(_) => {
                        hints.is_everything = true;
                        break;
                    }
                };
                let flags = event.events();
                if flags.intersects(ReadFlags::QUEUE_OVERFLOW | ReadFlags::UNMOUNT) {
                    hints.is_everything = true;
                }
                let Some(folder) = self.folders.get(&event.wd()) else {
                    continue;
                };
                if flags.contains(ReadFlags::IGNORED) {
                    gone.push(event.wd());
                    continue;
                }
                if flags.intersects(ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF) {
                    // The parent reports it too, except for the top, which is compared with every call.
                    continue;
                }
                let name = event.file_name().map(|name| name.to_str());
                hints.add(folder, name.and_then(Result::ok));
            }
            for watch in gone {
                if let Some(folder) = self.folders.remove(&watch)
                    && self.watches.get(&folder) == Some(&watch)
                {
                    self.watches.remove(&folder);
                }
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod none {
    use std::path::Path;

    use super::Hints;

    /// There is no watcher on this system.
    pub(in super::super) enum NoWatcher {}

    impl NoWatcher {
        pub(in super::super) fn new(_: &Path, _: usize) -> Option<Self> {
            None
        }

        pub(in super::super) fn watch(&mut self, _: &str) -> bool {
            match *self {}
        }

        pub(in super::super) fn retain(&mut self, _: impl Fn(&str) -> bool) {
            match *self {}
        }

        pub(in super::super) fn forget(&mut self, _: &str) {
            match *self {}
        }

        pub(in super::super) fn drain(&mut self, _: &mut Hints) {
            match *self {}
        }
    }
}
