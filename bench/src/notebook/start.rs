//! Time from the start of a server to its first answer, and to the results of its first search.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::{
    asked, enter,
    library::{LIBRARY, NotebookLibrary},
};
use crate::{
    Bench,
    measure::middle,
    report::{Report, Verdict},
    server::Server,
};

const TARGET: Duration = Duration::from_millis(20);

pub(super) fn run(
    report: &mut Report,
    bench: &Bench,
    library: &NotebookLibrary,
    questions: &[String],
) -> Result<()> {
    let (mut first, mut entered, mut found) = (Vec::new(), Vec::new(), Vec::new());
    for question in questions.iter().take(bench.size(31, 11)) {
        let started = Instant::now();
        let mut server = Server::start(&mut library.serve_command(bench))?;
        server.initialize()?;
        first.push(started.elapsed());
        enter(&mut server, LIBRARY)?;
        entered.push(started.elapsed());
        let (_, said) = server.call("semantic_search", &asked(question))?;
        found.push(started.elapsed());
        ensure!(said["metadata"]["index_location"] == "disk", "found {said}");
        server.stop()?;
    }
    let (first, entered, found) = (middle(first), middle(entered), middle(found));
    let what = format!("start on {} notes to first answer", library.count);
    let figures = format!(
        "{first:.1?} (target {TARGET:.0?}; a collection entered {entered:.1?}, first search answered {found:.1?})"
    );
    report.line(&what, &figures, Verdict::at_most(first, TARGET));
    Ok(())
}
