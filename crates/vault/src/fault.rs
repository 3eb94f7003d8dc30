//! Named steps of a commit, so that tests can make any of them fail or be the last thing a process does.
//!
//! In release builds a step only does its work.

use std::io;

/// Does the work of a named step.
#[cfg(not(debug_assertions))]
pub(crate) fn step<T>(_: &'static str, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    work()
}

/// Does the work of a named step, unless a fault was armed for it.
#[cfg(debug_assertions)]
pub(crate) fn step<T>(name: &'static str, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    armed::strike(name)?;
    #[cfg(test)]
    hook::meet(name);
    work()
}

/// Returns how much of a write reaches the disk: all of it, unless a fault tears it.
#[cfg(debug_assertions)]
pub(crate) fn torn(name: &'static str, bytes: &[u8]) -> Option<usize> {
    armed::tears(name).then_some(bytes.len() / 2)
}

#[cfg(debug_assertions)]
pub use self::armed::{NO_EXCHANGE, OTHER_FILE_SYSTEM, arm, steps_taken};

#[cfg(test)]
pub(crate) use self::hook::before_step;

/// A callback just before a step of the same thread, for what another program does at that moment.
#[cfg(test)]
mod hook {
    use std::cell::RefCell;

    type Hook = (&'static str, Box<dyn FnOnce()>);

    thread_local! {
        static HOOK: RefCell<Option<Hook>> = const { RefCell::new(None) };
    }

    pub(crate) fn before_step(step: &'static str, action: impl FnOnce() + 'static) {
        HOOK.with_borrow_mut(|hook| *hook = Some((step, Box::new(action))));
    }

    pub(super) fn meet(step: &str) {
        let due = HOOK.with_borrow_mut(|hook| hook.take_if(|(wanted, _)| *wanted == step));
        if let Some((_, action)) = due {
            action();
        }
    }
}

#[cfg(debug_assertions)]
mod armed {
    use std::io;

    use parking_lot::Mutex;

    struct Fault {
        kind: FaultKind,
        /// The step to wait for, or any.
        step: String,
        /// Number of passes before the fault strikes.
        passes: usize,
        lasting: bool,
    }

    #[derive(Clone, Copy, PartialEq, Eq)]
    enum FaultKind {
        Kill,
        Tear,
        Fail(i32),
    }

    static FAULTS: Mutex<Vec<Fault>> = Mutex::new(Vec::new());
    static STEPS: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());

    /// Arms faults, separated by commas: `kill:STEP:N` ends the process before the step is taken for the Nth time (from
    /// 0), `tear:STEP:N` writes half of what the step writes and ends the process, `errno:NUMBER:STEP:N` makes that
    /// step and all later ones of the name fail, `once:NUMBER:STEP:N` just that one. `*` stands for any step. Anything
    /// else disarms.
    ///
    /// A missing feature of the system is a lasting fault: [`NO_EXCHANGE`], [`OTHER_FILE_SYSTEM`].
    pub fn arm(description: &str) {
        *FAULTS.lock() = description.split(',').filter_map(fault).collect();
        STEPS.lock().clear();
    }

    /// Two names cannot be exchanged, and no file can be moved to a free name in one step, as on NFS.
    pub const NO_EXCHANGE: &str = "errno:22:exchange:0,errno:22:rename_exclusively:0";
    /// Documents are on another file system than the private folder.
    pub const OTHER_FILE_SYSTEM: &str = "errno:18:compare_mounts:0";

    fn fault(description: &str) -> Option<Fault> {
        let parts: Vec<&str> = description.split(':').collect();
        let (kind, step, passes, lasting) = match parts[..] {
            ["kill", step, passes] => (FaultKind::Kill, step, passes, false),
            ["tear", step, passes] => (FaultKind::Tear, step, passes, false),
            [often @ ("errno" | "once"), number, step, passes] => (
                FaultKind::Fail(number.parse().ok()?),
                step,
                passes,
                often == "errno",
            ),
            _ => return None,
        };
        Some(Fault {
            kind,
            step: step.to_owned(),
            passes: passes.parse().unwrap_or(0),
            lasting,
        })
    }

    /// Returns the steps taken since a fault was last armed or disarmed.
    pub fn steps_taken() -> Vec<&'static str> {
        STEPS.lock().clone()
    }

    pub(super) fn strike(name: &'static str) -> io::Result<()> {
        STEPS.lock().push(name);
        match due(name, |kind| kind != FaultKind::Tear) {
            Some(FaultKind::Kill) => std::process::abort(),
            Some(FaultKind::Fail(number)) => Err(io::Error::from_raw_os_error(number)),
            _ => Ok(()),
        }
    }

    pub(super) fn tears(name: &'static str) -> bool {
        due(name, |kind| kind == FaultKind::Tear).is_some()
    }

    /// Returns the fault that strikes now, and counts the pass for each fault that waits for the step.
    fn due(name: &str, wanted: impl Fn(FaultKind) -> bool) -> Option<FaultKind> {
        let mut armed = FAULTS.lock();
        let mut struck = None;
        for (at, fault) in armed.iter_mut().enumerate() {
            if !wanted(fault.kind) || (fault.step != "*" && fault.step != name) {
                continue;
            }
            if fault.passes > 0 {
                fault.passes -= 1;
            } else if struck.is_none() {
                struck = Some((at, fault.kind, fault.lasting));
            }
        }
        let (at, kind, lasting) = struck?;
        if !lasting {
            armed.remove(at);
        }
        Some(kind)
    }
}
