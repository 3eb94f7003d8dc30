//! Logging: structured lines on standard error, without any content of notes.

use std::{
    fs::File,
    io::{self, Write},
    panic,
    sync::Arc,
};

use tracing_subscriber::{
    Layer as _, filter::Targets, fmt::MakeWriter, layer::SubscriberExt as _,
    util::SubscriberInitExt as _,
};

use crate::{
    config::{LogFormat, LogLevel, LogSettings},
    files,
};

/// Starts logging. Only our own events pass: rmcp's carry whole messages, with arguments.
pub(crate) fn start(settings: LogSettings) {
    let filter = Targets::new().with_target("sectile", level(settings.level));
    let writer = StderrWriter(files::stderr_without_waiting().map(Arc::new));
    let layer = match settings.format {
        LogFormat::Json => tracing_subscriber::fmt::layer()
            .with_writer(writer)
            .json()
            .flatten_event(true)
            .boxed(),
        LogFormat::Text => tracing_subscriber::fmt::layer()
            .with_writer(writer)
            .with_ansi(io::IsTerminal::is_terminal(&io::stderr()))
            .boxed(),
    };
    if tracing_subscriber::registry()
        .with(layer.with_filter(filter))
        .try_init()
        .is_err()
    {
        tracing::debug!("logging was started before");
    }
    panic::set_hook(Box::new(|info| {
        // A panic message may quote note content, so only its location is logged.
        let place = info
            .location()
            .map_or("unknown", |location| place(location.file()));
        let line = info.location().map_or(0, panic::Location::line);
        tracing::error!(target: "sectile::panic", place, line, "a handler panicked");
    }));
}

/// Returns the source file of a panic without the folders of the build machine, which dependencies carry in full.
fn place(file: &str) -> &str {
    match file.rfind(['/', '\\']) {
        Some(end) if file.starts_with('/') || file.contains(':') => &file[end + 1..],
        _ => file,
    }
}

/// Standard error. A line that a full pipe cannot take is dropped: answering matters more than logging.
#[derive(Clone)]
struct StderrWriter(Option<Arc<File>>);

impl<'a> MakeWriter<'a> for StderrWriter {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Write for StderrWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.as_deref() {
            Some(mut pipe) => match pipe.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(bytes.len()),
                result => result,
            },
            None => io::stderr().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn level(level: LogLevel) -> tracing::level_filters::LevelFilter {
    use tracing::level_filters::LevelFilter;
    match level {
        LogLevel::Off => LevelFilter::OFF,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_panic_names_no_folder_of_the_build_machine() {
        assert_eq!(
            place("/srv/build/registry/parser-1.0/src/parse.rs"),
            "parse.rs"
        );
        assert_eq!(place("C:\\build\\parser\\src\\parse.rs"), "parse.rs");
        assert_eq!(place("crates/mcp/src/fault.rs"), "crates/mcp/src/fault.rs");
    }
}
