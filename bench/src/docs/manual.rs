//! A manual of thousands of pages: from the start of a server to its first answer, its answers through stdio, and a page that
//! changes, compared with a manual of a tenth of its size.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use sectile_markdown::Digest;
use serde_json::{Value, json};

use crate::{
    Bench,
    desk::start::files_below,
    measure::{middle, per_mille},
    notebook::{
        indexing::megabytes,
        prose::{self, Note},
        words::Words,
    },
    processes::{finish, memory, on_all_cores, processor_time},
    report::{Report, Verdict},
    server::Server,
};

/// To be increased when the generated pages change.
const VERSION: usize = 1;
const PAGES: usize = 10_000;
const FEW_PAGES: usize = 1_000;
const PAGE_BYTES: usize = 10_000;
const QUESTIONS: usize = 400;
const CHANGES: usize = 15;
const TOOL: &str = "sectile_docs_search";
const MOST_READINGS: f64 = 5.0;
const AGAIN: Duration = Duration::from_millis(150);
const SEARCH: Duration = Duration::from_millis(3);
/// How many times as much a change may cost with ten times the pages. If the cost grew with the pages it would be ten.
const MOST_GROWTH: f64 = 2.0;
const LONGEST: Duration = Duration::from_secs(120);

/// A generated manual, kept between runs.
struct Manual {
    words: Words,
    count: usize,
    home: PathBuf,
}

pub(super) fn run(report: &mut Report, bench: &Bench) -> Result<()> {
    let few = Manual::prepare(&bench.target, FEW_PAGES)?;
    let manual = Manual::prepare(&bench.target, bench.size(PAGES, 2 * FEW_PAGES))?;
    let questions = prose::questions(&manual.words, manual.count, QUESTIONS);
    from_nothing(report, bench, &manual)?;
    again(report, bench, &manual, &questions)?;
    searching(report, bench, &manual, &questions)?;
    few.index(bench)?;
    let (small, large) = (changing(bench, &few)?, changing(bench, &manual)?);
    let growth = large.1.as_secs_f64() / small.1.as_secs_f64().max(1e-4);
    let figures = format!(
        "{growth:.1} times (target {MOST_GROWTH}; {:.1?} / {:.1?} of processor time beyond the search; answered in {:.1?} / {:.1?})",
        large.1, small.1, large.0, small.0
    );
    let what = format!(
        "a changed page at the next call, {} pages / {}",
        manual.count, few.count
    );
    report.line(&what, &figures, Verdict::at_most(growth, MOST_GROWTH));
    Ok(())
}

impl Manual {
    /// Returns a manual of `count` pages, generating it if it is missing.
    fn prepare(target: &Path, count: usize) -> Result<Self> {
        let words = Words::new()?;
        let digest = Digest::of(words.all().as_bytes()).to_string();
        let home = target.join(format!("manual-{VERSION}-{count}-{}", &digest[..8]));
        let manual = Self { words, count, home };
        let stamp = manual.home.join("made");
        if !stamp.is_file() {
            println!(
                "       generating {count} pages, kept in {}",
                manual.home.display()
            );
            for number in 0..count {
                let page = manual.root().join(manual.path(number));
                fs::create_dir_all(page.parent().context("a page in a folder")?)?;
                fs::write(page, manual.text(number))?;
            }
            fs::write(stamp, "")?;
        }
        Ok(manual)
    }

    fn note(&self, number: usize) -> Note<'_> {
        Note::new(&self.words, number, self.count)
    }

    fn path(&self, number: usize) -> String {
        self.note(number).path()
    }

    fn text(&self, number: usize) -> String {
        self.note(number).long(PAGE_BYTES)
    }

    fn root(&self) -> PathBuf {
        self.home.join("pages")
    }

    fn cache(&self) -> PathBuf {
        self.home.join("cache")
    }

    fn forget_cache(&self) -> Result<()> {
        if self.cache().is_dir() {
            fs::remove_dir_all(self.cache())?;
        }
        Ok(())
    }

    fn serve(&self, bench: &Bench) -> Result<Server> {
        let mut command = Command::new(bench.binaries.join("sectile"));
        command.args(["serve", "docs"]).arg(self.root());
        command.env("XDG_CACHE_HOME", self.cache());
        // The second tier would be filled beside the measurements.
        command.env("SECTILE_DOCS__RANKING", "static");
        let mut server = Server::start(&mut on_all_cores(&command))?;
        server.initialize()?;
        Ok(server)
    }

    /// Fills the cache, unless it is filled.
    fn index(&self, bench: &Bench) -> Result<()> {
        let mut server = self.serve(bench)?;
        search(&mut server, "harbour")?;
        let started = Instant::now();
        while !files_below(&self.cache())?
            .iter()
            .any(|(name, _)| name == "manifest")
        {
            ensure!(started.elapsed() < LONGEST, "the cache is never written");
            std::thread::sleep(Duration::from_millis(2));
        }
        server.stop()
    }
}

fn search(server: &mut Server, question: &str) -> Result<(Duration, Value)> {
    server.call(TOOL, &json!({ "query": question }))
}

fn from_nothing(report: &mut Report, bench: &Bench, manual: &Manual) -> Result<()> {
    let mut read = Command::new(bench.binaries.join("read_folder"));
    read.arg(manual.root());
    let bytes: u64 = finish(&mut on_all_cores(&read))?.output.trim().parse()?;
    let (mut reads, mut firsts, mut peaks) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..bench.size(3, 1) {
        reads.push(finish(&mut on_all_cores(&read))?.elapsed);
        manual.forget_cache()?;
        let started = Instant::now();
        let mut server = manual.serve(bench)?;
        search(&mut server, "harbour")?;
        firsts.push(started.elapsed());
        peaks.extend(memory(server.process(), "VmHWM"));
        server.stop()?;
    }
    let read = reads.into_iter().min().unwrap_or_default();
    let first = firsts.into_iter().min().unwrap_or_default();
    let what = format!(
        "first answer about {} pages, {}, from nothing / reading them with all cores",
        manual.count,
        megabytes(bytes)
    );
    report.ratio(&what, first, read, MOST_READINGS);
    let peak = peaks.into_iter().max().unwrap_or_default();
    report.seen("most memory until then", &megabytes(peak));
    manual.index(bench)?;
    let cache = files_below(&manual.cache())?;
    let cache: u64 = cache.iter().map(|(_, length)| length).sum();
    report.seen("cache on disk", &megabytes(cache));
    Ok(())
}

fn again(report: &mut Report, bench: &Bench, manual: &Manual, questions: &[String]) -> Result<()> {
    let (mut found, mut taken) = (Vec::new(), Vec::new());
    for question in questions.iter().take(bench.size(15, 5)) {
        let started = Instant::now();
        let mut server = manual.serve(bench)?;
        search(&mut server, question)?;
        found.push(started.elapsed());
        taken.push(processor_time(&server));
        server.stop()?;
    }
    let usual = middle(found);
    let figures = format!(
        "{usual:.1?} (target {AGAIN:.0?}; {:.0?} of processor time)",
        middle(taken)
    );
    let what = format!(
        "start on {} pages with a filled cache to first answer",
        manual.count
    );
    report.line(&what, &figures, Verdict::at_most(usual, AGAIN));
    Ok(())
}

fn searching(
    report: &mut Report,
    bench: &Bench,
    manual: &Manual,
    questions: &[String],
) -> Result<()> {
    let mut server = manual.serve(bench)?;
    for question in questions.iter().take(30) {
        search(&mut server, question)?;
    }
    let before = processor_time(&server);
    let times = questions
        .iter()
        .map(|question| Ok(search(&mut server, question)?.0));
    let mut times = times.collect::<Result<Vec<Duration>>>()?;
    let count = u32::try_from(times.len())?;
    let taken = (processor_time(&server) - before) / count;
    let (half, nearly_all) = (per_mille(&mut times, 500), per_mille(&mut times, 990));
    let figures = format!(
        "p50 {half:.2?} (target {SEARCH:.0?}), p99 {nearly_all:.2?}; {taken:.2?} of processor time each"
    );
    let what = format!(
        "search among {} pages, {count} questions, stdio",
        manual.count
    );
    report.line(&what, &figures, Verdict::at_most(half, SEARCH));
    server.stop()
}

/// Returns how long the call after a change takes, and its processor time beyond that of the same call without a change: any
/// search takes longer among more pages.
fn changing(bench: &Bench, manual: &Manual) -> Result<(Duration, Duration)> {
    let mut server = manual.serve(bench)?;
    search(&mut server, "harbour")?;
    let mut times = Vec::new();
    let (mut taken, mut unchanged) = (Duration::ZERO, Duration::ZERO);
    for number in 0..CHANGES {
        let page = manual.root().join(manual.path(number));
        let word = format!("xylo{number}phone");
        fs::write(
            &page,
            manual.text(number) + &format!("\n## Added\n\nThe {word}.\n"),
        )?;
        let before = processor_time(&server);
        let (time, said) = search(&mut server, &word)?;
        let after = processor_time(&server);
        search(&mut server, &word)?;
        taken += after - before;
        unchanged += processor_time(&server) - after;
        times.push(time);
        fs::write(&page, manual.text(number))?;
        ensure!(said["total_matches"] != 0, "a change is not seen: {said}");
        search(&mut server, "harbour")?;
    }
    server.stop()?;
    let taken = taken.saturating_sub(unchanged);
    Ok((middle(times), taken / u32::try_from(CHANGES)?))
}
