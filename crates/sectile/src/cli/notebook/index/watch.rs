//! `sectile notebook index --watch`: the index follows the notebooks until it is stopped.

use std::{
    any::Any,
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use super::{IndexRow, IndexRun, told};
use crate::cli::{
    interrupt::Interrupt,
    ui::{CliError, tell, visible},
};

/// The polling interval for a storage that does not report changes.
const PAUSE: Duration = Duration::from_secs(30);
/// Programs write in several steps, which should cause only one round.
const QUIET: Duration = Duration::from_millis(50);
/// The longest delay of a round, even if something is written all the time.
const LONGEST_WAIT: Duration = Duration::from_secs(1);
/// Changes are indexed before the second tier is filled further, but filling must make progress too.
const SHORTEST_FILLING: Duration = Duration::from_secs(5);

/// Events from outside.
struct ChangeSignal {
    /// Whether something changed since the last round began.
    changed: AtomicBool,
    wake: mpsc::Sender<()>,
}

impl ChangeSignal {
    fn changed(&self) {
        self.changed.store(true, Ordering::Relaxed);
        self.wake();
    }

    fn wake(&self) {
        // At the very end, nobody receives it any more.
        self.wake.send(()).unwrap_or_default();
    }
}

/// Indexes until it is stopped.
pub(super) fn watch(mut indexing: IndexRun<'_>, as_json: bool) -> Result<(), CliError> {
    let (wake, woken) = mpsc::channel();
    let news = Arc::new(ChangeSignal {
        changed: AtomicBool::new(false),
        wake,
    });
    let stopped = Arc::clone(&news);
    let interrupt = Interrupt::listen(move || stopped.wake())?;
    indexing.interrupt = Some(interrupt.clone());
    let mut watches = HashMap::new();
    let mut is_first = true;
    while !interrupt.is_wanted() {
        news.changed.store(false, Ordering::Relaxed);
        let rows = round(&indexing, &news, &mut watches, is_first)?;
        if is_first || !rows.is_empty() {
            told(&rows, as_json)?;
        }
        is_first = false;
        wait(&woken, &news);
    }
    Ok(())
}

/// Waits for a change, a request to stop, or a timeout.
fn wait(woken: &mpsc::Receiver<()>, news: &ChangeSignal) {
    if !news.changed.load(Ordering::Relaxed) && woken.recv_timeout(PAUSE).is_err() {
        return;
    }
    let since = Instant::now();
    while since.elapsed() < LONGEST_WAIT && woken.recv_timeout(QUIET).is_ok() {}
}

/// Updates all collections. Returns those that changed; all of them, the first time.
fn round(
    indexing: &IndexRun<'_>,
    news: &Arc<ChangeSignal>,
    watches: &mut HashMap<String, Option<Box<dyn Any + Send + Sync>>>,
    is_first: bool,
) -> Result<Vec<IndexRow>, CliError> {
    let collections = match indexing.collections() {
        Ok(collections) => collections,
        Err(error) if is_first => return Err(error),
        Err(error) => {
            tell(format_args!("{}\n", error.message()));
            return Ok(Vec::new());
        }
    };
    watches.retain(|collection, _| collections.contains(collection));
    let mut rows = Vec::new();
    for collection in collections {
        watches.entry(collection.clone()).or_insert_with(|| {
            let news = Arc::clone(news);
            let changed = Box::new(move || news.changed());
            indexing
                .library
                .notebook_storage()
                .watch(&collection, changed)
        });
        let since = Instant::now();
        let is_behind =
            || since.elapsed() > SHORTEST_FILLING && news.changed.load(Ordering::Relaxed);
        match indexing.one(&collection, &is_behind) {
            Ok(row) if is_first || row.did_something() => rows.push(row),
            Ok(_) => {}
            Err(_) if indexing.is_stopped() => return Ok(rows),
            Err(error) if is_first => return Err(error),
            Err(error) => tell(format_args!(
                "{}  {}\n",
                visible(&collection),
                error.message()
            )),
        }
    }
    Ok(rows)
}
