//! Instructions for a client that connects: the world's own text, and a description of what it holds at the moment.

use std::{borrow::Cow, sync::Arc, time::Duration};

use tokio::time::timeout;

use crate::{
    Pace, Surface,
    call::{
        caller::{Caller, ElicitationMode},
        caller_slots::CallerSlotBounds,
    },
};

/// Longest instructions that contain a description, in bytes. Clients cut off what is longer.
const MAX_BYTES: usize = 2000;
/// The longest time that a client waits for a description, waiting for a free slot included.
const PATIENCE: Duration = Duration::from_secs(1);

/// Number of descriptions that are made at the same time, in all and for one signed-in caller, and of those that wait.
pub(crate) const DESCRIBERS: CallerSlotBounds = CallerSlotBounds {
    max: 4,
    per_caller: 2,
    waiting: 64,
    waiting_per_caller: 8,
};

impl Surface {
    /// Returns the instructions for the sender of a request. If no description can be made in time, they are without
    /// one.
    pub(crate) async fn instructions_for(self: &Arc<Self>, caller: Caller) -> Option<String> {
        let naming = self.naming(caller.caller_role());
        let text = naming.text(self.instructions);
        let text = match self.description(caller).await {
            Some(description) => Cow::Owned(joined(&text, &description)),
            None => text,
        };
        (!text.is_empty()).then(|| text.into_owned())
    }

    /// Describes the world to a caller. Has slots of its own: however long it takes, calls do not wait for it.
    async fn description(self: &Arc<Self>, mut caller: Caller) -> Option<String> {
        self.describe.as_ref()?;
        let key = caller.identity().map(|identity| identity.key.clone());
        // Giving up on the description must not give up on the request.
        caller.request.ct = caller.request.ct.child_token();
        let _stop = caller.cancelled().drop_guard();
        // Nothing is asked or reported before a client has connected.
        let (context, _) = caller.into_parts(self, Pace::Slow, ElicitationMode::Never);
        let described = timeout(PATIENCE, async {
            let slot = self.describers.take(key).await.ok()?;
            let surface = Arc::clone(self);
            let work = move || {
                let description = surface.describe.as_ref()?(&context);
                drop(slot);
                Some(description)
            };
            tokio::task::spawn_blocking(work).await.ok().flatten()
        });
        let description = described.await.ok().flatten();
        if description.is_none() {
            tracing::warn!(
                world = self.world,
                "the instructions are sent without a description"
            );
        }
        description
    }
}

/// Returns `text`, and as many whole lines of `description` after it as there is room for.
fn joined(text: &str, description: &str) -> String {
    let mut all = text.trim_end().to_owned();
    if !all.is_empty() {
        all.push('\n');
    }
    for line in description.trim_end().lines() {
        if all.len() + 1 + line.len() > MAX_BYTES {
            break;
        }
        all.push('\n');
        all.push_str(line);
    }
    all.trim_matches('\n').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_end_with_the_last_line_that_fits() {
        assert_eq!(joined("Say.", "a\nb\n"), "Say.\n\na\nb");
        assert_eq!(joined("Say.\n", ""), "Say.");
        assert_eq!(joined("", "a\n\nb"), "a\n\nb");
        let line = "é".repeat(100);
        let long = joined("Say.", &format!("{line}\n").repeat(50));
        assert!(long.len() <= MAX_BYTES && long.len() > MAX_BYTES - 202);
        assert!(long.ends_with(&format!("\n{line}")));
        assert_eq!(joined("Say.", &"x".repeat(MAX_BYTES)), "Say.");
    }
}
