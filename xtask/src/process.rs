//! The repository's folders, and child processes that always end.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{env, thread};

use anyhow::{Context, Result, bail};

const POLL: Duration = Duration::from_millis(20);

/// The folders that tasks work with.
#[derive(Debug)]
pub(crate) struct Repo {
    pub(crate) root: PathBuf,
    pub(crate) target: PathBuf,
    /// Third-party data for evaluations; may not exist.
    pub(crate) data: PathBuf,
}

impl Repo {
    pub(crate) fn find() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = root.parent().unwrap_or(root).to_owned();
        let target = root.join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()));
        let data = root.join(env::var_os("XTASK_DATA").unwrap_or_else(|| "../shared".into()));
        Self { root, target, data }
    }

    /// Returns the cargo that runs us, in the repository root.
    pub(crate) fn cargo<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(args).current_dir(&self.root);
        // Set for this program by the cargo that runs us. A build script that watches them, such as that of `ring`, would
        // run again, and everything above it would be compiled again.
        for (name, _) in env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
                command.env_remove(name);
            }
        }
        command
    }

    /// Returns the path of the program in its debug build, which may not exist yet.
    pub(crate) fn binary(&self) -> PathBuf {
        let name = format!("sectile{}", env::consts::EXE_SUFFIX);
        self.target.join("debug").join(name)
    }

    /// Runs that cargo with the words of a command line. Returns no remark.
    pub(crate) fn run_cargo(&self, words: &str) -> Result<Option<String>> {
        run(&mut self.cargo(words.split(' '))).map(|()| None)
    }
}

/// Returns a command that can neither see nor change the user's own settings. It runs in `folder`.
pub(crate) fn isolated(program: &Path, folder: &Path) -> Command {
    let home = folder.join("home");
    let mut command = Command::new(program);
    for (name, _) in
        env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("SECTILE_"))
    {
        command.env_remove(name);
    }
    command
        .env("HOME", &home)
        .env("XDG_CONFIG_HOME", home.join(".config"))
        .current_dir(folder);
    command
}

/// Returns whether this is a run on a machine for such runs, not on somebody's own.
pub(crate) fn is_ci() -> bool {
    env::var_os("CI").is_some_and(|value| value == "true")
}

/// Returns the remark of a step that could not check something. Where nobody reads remarks, this is a failure.
pub(crate) fn not_checked(what: &str) -> Result<Option<String>> {
    let remark = format!("NOT CHECKED: {what}");
    if is_ci() {
        bail!("{remark}");
    }
    Ok(Some(remark))
}

/// Returns the command line as a person would type it, without quoting.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    let words = std::iter::once(name).chain(command.get_args());
    words
        .map(OsStr::to_string_lossy)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Runs `command` with inherited output, and fails if it does.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let shown = shown(command);
    println!("$ {shown}");
    let status = command
        .status()
        .with_context(|| format!("cannot start `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` failed: {status}");
    }
    Ok(())
}

/// Returns the output of `command`, or an error with its standard error.
pub(crate) fn stdout_of(command: &mut Command) -> Result<String> {
    let shown = shown(command);
    let output = command
        .output()
        .with_context(|| format!("cannot start `{shown}`"))?;
    if !output.status.success() {
        bail!(
            "`{shown}` failed: {}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
    }
    String::from_utf8(output.stdout)
        .with_context(|| format!("`{shown}` printed output that is not UTF-8"))
}

/// Does `work` with each of `items`, on all cores. After the first error, no more are begun.
pub(crate) fn on_all_cores<'a, T: Sync>(
    items: &'a [T],
    work: impl Fn(&'a T) -> Result<()> + Sync,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<()> {
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            work(item).inspect_err(|_| next.store(items.len(), Ordering::Relaxed))?;
        }
        Ok(())
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().expect("a thread panicked"))
    })
}

/// Returns whether `program` can be started.
pub(crate) fn is_present(program: &str, args: &[&str]) -> bool {
    let quiet = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .output();
    quiet.is_ok_and(|output| output.status.success())
}

/// A child that is killed when it goes out of scope.
pub(crate) struct RunningProcess {
    child: Child,
    shown: String,
}

impl RunningProcess {
    /// Starts `command` with its output in `log`.out and `log`.err.
    ///
    /// Files rather than pipes: they need not be drained, and they are still there for debugging.
    pub(crate) fn start(command: &mut Command, log: &Path) -> Result<Self> {
        let shown = shown(command);
        if let Some(folder) = log.parent() {
            fs::create_dir_all(folder)?;
        }
        let child = command
            .stdin(Stdio::null())
            .stdout(File::create(log.with_extension("out"))?)
            .stderr(File::create(log.with_extension("err"))?)
            .spawn()
            .with_context(|| format!("cannot start `{shown}`"))?;
        Ok(Self { child, shown })
    }

    /// Returns the exit status, if there is one yet.
    pub(crate) fn try_wait(&mut self) -> Result<Option<ExitStatus>> {
        self.child
            .try_wait()
            .with_context(|| format!("cannot wait for `{}`", self.shown))
    }

    /// Waits until `ready` returns a value, the child ends, or `limit` has passed.
    pub(crate) fn wait_until<T>(
        &mut self,
        limit: Duration,
        mut ready: impl FnMut() -> Result<Option<T>>,
    ) -> Result<T> {
        let start = Instant::now();
        loop {
            if let Some(value) = ready()? {
                return Ok(value);
            }
            if let Some(status) = self.try_wait()? {
                bail!("`{}` ended early: {status}", self.shown);
            }
            if start.elapsed() > limit {
                bail!("`{}` was not ready after {} s", self.shown, limit.as_secs());
            }
            thread::sleep(POLL);
        }
    }
}

impl Drop for RunningProcess {
    fn drop(&mut self) {
        // Both fail only if the child has already ended, which is the goal.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The output and exit status of a bounded process.
#[derive(Debug)]
pub(crate) struct ProcessOutput {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl ProcessOutput {
    /// Returns the end of both outputs, for an error message.
    pub(crate) fn tail(&self) -> String {
        let lines = |text: &str| {
            let all: Vec<&str> = text.lines().collect();
            all[all.len().saturating_sub(40)..].join("\n")
        };
        format!(
            "{}\n{}\n{}",
            self.status,
            lines(&self.stdout),
            lines(&self.stderr)
        )
        .trim_end()
        .to_owned()
    }
}

/// Runs `command` to its end, or kills it after `limit`.
pub(crate) fn bounded(command: &mut Command, log: &Path, limit: Duration) -> Result<ProcessOutput> {
    let mut running = RunningProcess::start(command, log)?;
    let start = Instant::now();
    let status = loop {
        if let Some(status) = running.try_wait()? {
            break status;
        }
        if start.elapsed() > limit {
            bail!("`{}` was killed after {} s", running.shown, limit.as_secs());
        }
        thread::sleep(POLL);
    };
    let text = |extension: &str| -> Result<String> {
        Ok(String::from_utf8_lossy(&fs::read(log.with_extension(extension))?).into_owned())
    };
    Ok(ProcessOutput {
        status,
        stdout: text("out")?,
        stderr: text("err")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_without_its_folder() {
        let mut command = Command::new("some/where/tool");
        command.args(["--flag", "value"]);
        assert_eq!(shown(&command), "tool --flag value");
    }

    #[test]
    fn a_process_that_hangs_is_killed() {
        let log = env::temp_dir().join(format!("xtask-hang-{}", std::process::id()));
        let start = Instant::now();
        let result = bounded(
            Command::new("sleep").arg("60"),
            &log,
            Duration::from_millis(100),
        );
        assert!(result.unwrap_err().to_string().contains("was killed"));
        assert!(start.elapsed() < Duration::from_secs(30));
        fs::remove_file(log.with_extension("out")).unwrap();
        fs::remove_file(log.with_extension("err")).unwrap();
    }
}
