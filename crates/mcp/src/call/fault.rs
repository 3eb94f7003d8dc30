//! Faults on demand, so that tests can see the real binary survive them. Not part of release builds.

use std::{sync::OnceLock, time::Duration};

/// An armed fault and its tool.
#[derive(Debug)]
pub struct Fault {
    tool: String,
    kind: FaultKind,
}

#[derive(Debug)]
enum FaultKind {
    Panic,
    Sleep(Duration),
}

static FAULT: OnceLock<Fault> = OnceLock::new();

/// Arms a fault: `panic:TOOL` or `sleep:TOOL:MILLISECONDS`. Anything else arms nothing.
pub fn arm(description: &str) {
    let parts: Vec<&str> = description.split(':').collect();
    let fault = match parts[..] {
        ["panic", tool] => Some((tool, FaultKind::Panic)),
        ["sleep", tool, millis] => millis
            .parse()
            .ok()
            .map(|millis| (tool, FaultKind::Sleep(Duration::from_millis(millis)))),
        _ => None,
    };
    if let Some((tool, kind)) = fault {
        FAULT.get_or_init(|| Fault {
            tool: tool.to_owned(),
            kind,
        });
    }
}

pub(crate) fn inject(tool: &str) {
    match FAULT
        .get()
        .filter(|fault| fault.tool == tool)
        .map(|fault| &fault.kind)
    {
        Some(FaultKind::Panic) => {
            panic!("SENTINEL-PANIC-MESSAGE that must reach neither client nor log")
        }
        Some(FaultKind::Sleep(duration)) => std::thread::sleep(*duration),
        None => {}
    }
}
