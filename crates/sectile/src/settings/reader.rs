//! Resolves the paths, files, secrets and servers that settings name.

use std::path::{Path, PathBuf};

use sectile_client::BaseUrl;
use sectile_mcp::access::Secret;

use super::{ConfigError, ValueOrigin, ValueOrigins, env};
use crate::files;

/// The largest file with keys, certificates or a secret that is read.
const MAX_FILE_BYTES: u64 = 4 << 20;
/// The shortest secret accepted for signing or sealing.
pub(crate) const LEAST_SECRET_BYTES: usize = 32;

/// Checks and resolves the values of a section, given their origins and the folder that relative paths start from.
#[derive(Clone, Copy)]
pub(crate) struct SettingsReader<'a> {
    pub(crate) origins: &'a ValueOrigins,
    /// The folder of the settings file.
    pub(crate) base: &'a Path,
    /// `vault.max_note_bytes`, the one setting that applies to several worlds.
    pub(crate) max_note_bytes: u64,
}

impl SettingsReader<'_> {
    pub(crate) fn refuse(self, key: &str, expected: impl Into<String>) -> ConfigError {
        ConfigError::WrongValue {
            origin: self.origins.of(key),
            key: key.to_owned(),
            expected: expected.into(),
        }
    }

    /// Returns the path that a setting names, if any.
    pub(crate) fn place(self, key: &str, value: &str) -> Option<PathBuf> {
        (!value.is_empty()).then(|| self.place_from(self.base, key, value))
    }

    /// Returns the path that a setting names. A path in the settings file is relative to `base`.
    pub(crate) fn place_from(self, base: &Path, key: &str, value: &str) -> PathBuf {
        match self.origins.of(key) {
            ValueOrigin::File(_) => base.join(env::without_tilde(value.into())),
            _ => env::without_tilde(value.into()),
        }
    }

    /// Returns the text of the file that a setting names, if any.
    pub(crate) fn text(self, key: &str, value: &str) -> Result<Option<String>, ConfigError> {
        let Some(place) = self.place(key, value) else {
            return Ok(None);
        };
        let problem = match files::read_bytes(&place, MAX_FILE_BYTES) {
            Ok(Some(bytes)) => match String::from_utf8(bytes) {
                Ok(text) => return Ok(Some(text)),
                Err(_) => "it is not UTF-8".to_owned(),
            },
            Ok(None) => "it is too large".to_owned(),
            Err(error) => files::reason(error.kind()),
        };
        Err(self.refuse(key, format!("a readable file ({problem})")))
    }

    /// Returns a secret from a file or from the environment, trimmed of white space.
    pub(crate) fn secret(
        self,
        (file_key, file): (&str, &str),
        (variable_key, variable): (&str, &str),
    ) -> Result<Option<Secret>, ConfigError> {
        let text = match (self.text(file_key, file)?, variable) {
            (Some(_), name) if !name.is_empty() => {
                return Err(self.refuse(variable_key, format!("empty when {file_key} is set")));
            }
            (Some(text), _) => text,
            (None, "") => return Ok(None),
            (None, name) => env::secret(name).ok_or_else(|| {
                self.refuse(
                    variable_key,
                    "the name of an environment variable that is set",
                )
            })?,
        };
        let text = text.trim();
        if text.is_empty() {
            let key = if file.is_empty() {
                variable_key
            } else {
                file_key
            };
            return Err(self.refuse(key, "the source of a secret, but it is empty"));
        }
        Ok(Some(Secret::new(text)))
    }

    /// Returns the proxy that a setting names, if any.
    pub(crate) fn proxy(self, key: &str, value: &str) -> Result<Option<http::Uri>, ConfigError> {
        if value.is_empty() {
            return Ok(None);
        }
        let proxy = value.parse::<http::Uri>().ok();
        let proxy = proxy.filter(|proxy| proxy.authority().is_some());
        let expected = "an http URL, such as http://proxy.example:3128";
        proxy.map(Some).ok_or_else(|| self.refuse(key, expected))
    }

    /// Returns the server that a setting names, if any.
    pub(crate) fn target(self, key: &str, value: &str) -> Result<Option<BaseUrl>, ConfigError> {
        if value.is_empty() {
            return Ok(None);
        }
        let target = BaseUrl::parse(value);
        target
            .map(Some)
            .map_err(|problem| self.refuse(key, format!("an http or https URL ({problem})")))
    }
}
