//! The file of a client: where it is, what is in it, and how it is changed.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use super::{
    clients::{ClientFormat, ClientRow, ClientScope},
    entry::EntryTarget,
    formats::ClientFileError,
};
use crate::{cli::ui::CliError, files};

/// Appended to the name of a client's file for the copy that is made before each change.
const BACKUP_ENDING: &str = ".sectile-backup";

/// The largest client's file that is edited. Claude Code keeps its history beside its servers, a few megabytes of it.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// The place where a client keeps its servers.
#[derive(Debug)]
pub(super) struct ClientLocation {
    client: &'static ClientRow,
    /// A file, or for Continue a folder of files; `None` if the home folder is unknown.
    path: Option<PathBuf>,
    is_folder: bool,
    /// Whether it belongs to a project, and so perhaps to other people too.
    pub(super) is_shared: bool,
}

impl ClientLocation {
    pub(super) fn of(
        client: &'static ClientRow,
        scope: Option<ClientScope>,
        file: Option<&Path>,
    ) -> Result<Self, CliError> {
        if let Some(file) = file {
            return Ok(Self {
                client,
                path: Some(file.to_path_buf()),
                is_folder: false,
                is_shared: false,
            });
        }
        let scope = scope.unwrap_or_else(|| client.usual_scope());
        if !client.has(scope) {
            let other = match scope {
                ClientScope::Project => "project; leave out --scope for the user's own file",
                ClientScope::User => "user; leave out --scope for the one in the current folder",
            };
            return Err(CliError::usage(format_args!(
                "{} has no file of the scope {other}.",
                client.name
            )));
        }
        Ok(Self {
            client,
            path: client.location(scope),
            is_folder: client.format == ClientFormat::Continue,
            is_shared: scope == ClientScope::Project,
        })
    }

    fn path(&self) -> Result<&Path, CliError> {
        self.path.as_deref().ok_or_else(|| {
            CliError::failed("the home folder is unknown, so the client's file is too.")
                .next("name it with --file FILE")
        })
    }

    /// Returns the file that holds, or will hold, the entry.
    pub(super) fn file(&self, name: &str) -> Result<PathBuf, CliError> {
        let path = self.path()?;
        if !self.is_folder {
            return Ok(path.to_path_buf());
        }
        let is_file_name = !name.is_empty()
            && !name.starts_with('.')
            && !name.contains(['/', '\\', ':'])
            && !name.contains(char::is_control);
        match is_file_name {
            true => Ok(path.join(format!("{name}.yaml"))),
            false => Err(
                CliError::usage("the name of the server cannot be the name of a file.")
                    .next("give another one with --name NAME"),
            ),
        }
    }

    /// Returns the file as people read it.
    pub(super) fn shown(&self, name: &str) -> String {
        match self.file(name) {
            Ok(file) => file.display().to_string(),
            Err(_) => "its settings file".to_owned(),
        }
    }

    /// Returns the servers that the client has.
    pub(super) fn entries(&self) -> Result<Vec<(String, EntryTarget)>, CliError> {
        let path = self.path()?;
        let mut entries = Vec::new();
        for file in self.files(path)? {
            let text = read(&file)?.unwrap_or_default();
            let found = self.client.format.entries(&text);
            if !self.is_folder {
                return found.map_err(|what| refused(&file, &what));
            }
            // Files of other servers are not ours to understand. The name of the file is the one that counts.
            let name = file.file_stem().and_then(|name| name.to_str());
            match (name, found) {
                (Some(name), Ok(found)) => {
                    let target = found.into_iter().next();
                    entries.extend(target.map(|(_, target)| (name.to_owned(), target)));
                }
                (Some(name), Err(what)) if name.starts_with("sectile") => {
                    return Err(refused(&file, &what));
                }
                _ => {}
            }
        }
        Ok(entries)
    }

    /// Describes the first problem with the client's files, without a path.
    pub(super) fn problem(&self) -> Option<String> {
        let path = self.path.as_deref()?;
        let files = self.files(path).ok()?;
        let is_ours = |file: &&PathBuf| {
            let name = file.file_name().and_then(|name| name.to_str());
            !self.is_folder || name.is_some_and(|name| name.starts_with("sectile"))
        };
        let mut files = files.iter().filter(is_ours);
        files.find_map(|file| match text_of(file) {
            Ok(text) => {
                let text = text.unwrap_or_default();
                let entries = self.client.format.entries(&text);
                entries.err().map(|what| what.to_string())
            }
            Err(reason) => Some(format!("its file cannot be read ({reason})")),
        })
    }

    fn files(&self, path: &Path) -> Result<Vec<PathBuf>, CliError> {
        if !self.is_folder {
            return Ok(vec![path.to_path_buf()]);
        }
        let listed = files::list(path);
        let mut files =
            listed.map_err(|error| cannot_be("read", path, &files::reason(error.kind())))?;
        files.retain(|file| file.extension().is_some_and(|ending| ending == "yaml"));
        files.sort();
        Ok(files)
    }
}

/// Returns the text of a client's file, if there is one.
pub(super) fn read(file: &Path) -> Result<Option<String>, CliError> {
    text_of(file).map_err(|reason| cannot_be("read", file, &reason))
}

fn text_of(file: &Path) -> Result<Option<String>, String> {
    if files::is_dangling_link(file) {
        return Err("it is a link to a file that does not exist".to_owned());
    }
    if files::is_folder(file) {
        return Err(files::reason(ErrorKind::IsADirectory));
    }
    match files::read_bytes(file, MAX_FILE_BYTES) {
        Ok(Some(bytes)) => match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(files::reason(ErrorKind::InvalidData)),
        },
        Ok(None) => Err(format!("it is larger than {} MiB", MAX_FILE_BYTES >> 20)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == ErrorKind::InvalidInput => {
            Err("it is not a regular file".to_owned())
        }
        Err(error) => Err(files::reason(error.kind())),
    }
}

/// Replaces or, without a text, removes a client's file, after a copy of it was made. Returns the path of the copy.
pub(super) fn change(
    file: &Path,
    before: Option<&str>,
    after: Option<&str>,
) -> Result<Option<PathBuf>, CliError> {
    let backup = before.map(|before| {
        let mut name = file.as_os_str().to_owned();
        name.push(BACKUP_ENDING);
        (PathBuf::from(name), before)
    });
    let failed = |error: std::io::Error| {
        let next = "nothing was changed; check the permissions of the folder, or name a file with --file FILE";
        cannot_be("written", file, &files::reason(error.kind())).next(next)
    };
    // Clients write their files too.
    if read(file)?.as_deref() != before {
        return Err(CliError::failed(format_args!(
            "another program has just written the client's file {}, so nothing was changed.",
            file.display()
        ))
        .next("run the command again"));
    }
    if let Some((path, before)) = &backup {
        // A link that came with a project must not decide where the copy goes.
        files::replace_here(path, before).map_err(failed)?;
    }
    match after {
        Some(after) => files::replace(file, after).map_err(failed)?,
        None => files::remove(file).map_err(failed)?,
    }
    Ok(backup.map(|(path, _)| path))
}

/// The refusal to change a file that cannot be understood.
pub(super) fn refused(file: &Path, what: &ClientFileError) -> CliError {
    CliError::failed(format_args!(
        "{}: {what}; nothing was changed.",
        file.display()
    ))
    .next("fix the file, or change it by hand: run `sectile connect` without --write for the entry")
}

fn cannot_be(done: &str, file: &Path, reason: &str) -> CliError {
    CliError::failed(format_args!(
        "the client's file {} cannot be {done} ({reason}).",
        file.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_program_has_written_meanwhile_is_not_lost() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mcp.json");
        files::replace(&file, "theirs").unwrap();
        for before in [Some("before"), None] {
            let error = change(&file, before, Some("ours")).unwrap_err();
            assert!(error.message().contains("another program"), "{error:?}");
        }
        assert_eq!(read(&file).unwrap().as_deref(), Some("theirs"));
        let left = files::list(folder.path()).unwrap();
        assert_eq!(left.len(), 1, "{left:?}");
        change(&file, Some("theirs"), Some("ours")).unwrap();
        assert_eq!(read(&file).unwrap().as_deref(), Some("ours"));
    }
}
