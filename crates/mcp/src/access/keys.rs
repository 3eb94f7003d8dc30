//! API keys: a file of salted hashes.
//!
//! A key is `sectile_<id>_<secret>`. The id finds its entry; the secret is only ever compared as a hash.

#[cfg(test)]
mod tests;

use std::{collections::HashMap, fmt};

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use super::{Role, Secret, authenticator::DEFAULT_VAULT, random_bytes};

/// The prefix of every key.
pub(super) const PREFIX: &str = "sectile_";
const VERSION: u32 = 1;
const ID_BYTES: usize = 8;
const SECRET_BYTES: usize = 32;
const SALT_BYTES: usize = 16;
const HASH_BYTES: usize = 32;
const HEAD: &str = "\
# The API keys of a Sectile server, as salted hashes. Written by `sectile auth`.
";

/// Returns whether `name`, of a user or vault, can be sent in an HTTP header unchanged.
pub(super) fn is_header_safe(name: &str) -> bool {
    (1..=256).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Returns whether a key can be bound to these roots. An empty list is a mistake: it could be meant for all or for none.
fn are_root_names(roots: Option<&[String]>) -> bool {
    let is_name =
        |name: &String| (1..=256).contains(&name.len()) && !name.contains(char::is_control);
    roots.is_none_or(|roots| !roots.is_empty() && roots.iter().all(is_name))
}

/// The keys of a server. It never holds the text of a key.
#[derive(Clone, Default)]
pub struct KeyFile {
    keys: Vec<StoredKey>,
    by_id: HashMap<String, usize>,
}

impl fmt::Debug for KeyFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = self.keys.len();
        f.debug_struct("KeyFile").field("keys", &keys).finish()
    }
}

#[derive(Clone)]
struct StoredKey {
    id: String,
    holder: KeyHolder,
    created: String,
    revoked: Option<String>,
    salt: [u8; SALT_BYTES],
    hash: [u8; HASH_BYTES],
}

/// The holder of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyHolder {
    /// The user.
    pub user: String,
    /// The user's role, which decides what they may use.
    pub role: Role,
    /// The vaults that the key is valid for; empty means `default`.
    pub vaults: Vec<String>,
    /// The roots that the key is bound to, at least one; `None` means all.
    pub roots: Option<Vec<String>>,
}

impl KeyHolder {
    /// Returns the vaults that the key is valid for. The first one is used if a request names none.
    #[must_use]
    pub fn good_for(&self) -> Vec<&str> {
        match self.vaults.as_slice() {
            [] => vec![DEFAULT_VAULT],
            named => named.iter().map(String::as_str).collect(),
        }
    }
}

/// Identifies a key that was checked: enough to tell whether it is still valid, and of no use for signing in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyMark {
    id: String,
    hash: [u8; HASH_BYTES],
}

/// A key that was just made. Its text is shown once, here.
pub struct NewKey {
    /// The id that it is listed and revoked by.
    pub id: String,
    /// The text that the client sends.
    pub text: Secret,
}

/// A key as it is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyEntry<'a> {
    /// The id that it is revoked by.
    pub id: &'a str,
    /// The holder of the key.
    pub holder: &'a KeyHolder,
    /// When it was made (RFC 3339).
    pub created: &'a str,
    /// When it was revoked, if it was.
    pub revoked: Option<&'a str>,
}

/// The reason no key was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The user cannot be sent in a header.
    #[error("a user must be 1 to 256 visible ASCII characters without spaces")]
    User,
    /// A vault cannot be sent in a header.
    #[error("a vault must be 1 to 256 visible ASCII characters without spaces")]
    Vault,
    /// A root cannot have this name, or there are none.
    #[error("a root must be 1 to 256 bytes without control characters")]
    Root,
    /// The time is not a valid time.
    #[error("the time is not in RFC 3339 format")]
    Time,
    /// The system has no random bytes.
    #[error("the system has no random bytes")]
    Random,
}

/// The reason a key is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyRefusal {
    Unknown,
    Revoked,
}

/// The format of the file.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct KeyFileFormat {
    version: u32,
    #[serde(default, rename = "key")]
    keys: Vec<KeyFormat>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct KeyFormat {
    id: String,
    user: String,
    role: String,
    vaults: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    roots: Option<Vec<String>>,
    created: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    revoked: Option<String>,
    salt: String,
    hash: String,
}

impl KeyFile {
    /// Parses the text of a key file.
    ///
    /// # Errors
    /// Says what is wrong with it, in a few words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let written: KeyFileFormat = toml::from_str(text).map_err(|error| match error.span() {
            // The parser's message would show the content of the line.
            Some(span) => {
                let before = text.as_bytes().iter().take(span.start);
                let line = before.filter(|&&byte| byte == b'\n').count() + 1;
                format!("line {line} is not valid")
            }
            None => "it is not valid".to_owned(),
        })?;
        if written.version != VERSION {
            return Err(format!("only version {VERSION} is supported"));
        }
        let mut file = Self::default();
        for (index, key) in written.keys.into_iter().enumerate() {
            let number = index + 1;
            if decoded_id(&key.id).is_none() {
                return Err(format!("the id of key {number} is not 16 hex digits"));
            }
            let id = key.id.clone();
            let key = key
                .check()
                .map_err(|problem| format!("key {id}: {problem}"))?;
            file.push(key)
                .map_err(|()| format!("key {id} appears twice"))?;
        }
        Ok(file)
    }

    /// Returns the text of the key file.
    #[must_use]
    pub fn to_text(&self) -> String {
        let keys = self.keys.iter().map(KeyFormat::from).collect();
        let version = VERSION;
        // Numbers, strings and lists of strings can always be serialized.
        let tables = toml::to_string(&KeyFileFormat { version, keys }).unwrap_or_default();
        format!("{HEAD}{tables}")
    }

    /// Makes a key for `holder`, at the time `created` (RFC 3339).
    ///
    /// # Errors
    /// Returns an error if the key could not be used.
    pub fn add(&mut self, holder: KeyHolder, created: &str) -> Result<NewKey, KeyError> {
        if !is_header_safe(&holder.user) {
            return Err(KeyError::User);
        }
        if !holder.vaults.iter().all(|vault| is_header_safe(vault)) {
            return Err(KeyError::Vault);
        }
        if !are_root_names(holder.roots.as_deref()) {
            return Err(KeyError::Root);
        }
        if !is_time(created) {
            return Err(KeyError::Time);
        }
        let id = u64::from_be_bytes(random::<ID_BYTES>()?);
        let id = format!("{id:016x}");
        let secret = random::<SECRET_BYTES>()?;
        let salt = random::<SALT_BYTES>()?;
        let text = format!("{PREFIX}{id}_{}", URL_SAFE_NO_PAD.encode(secret));
        let key = StoredKey {
            id: id.clone(),
            holder,
            created: created.to_owned(),
            revoked: None,
            salt,
            hash: hash(&salt, &secret),
        };
        // Ids are drawn from so large a range that a duplicate means that they are not random.
        self.push(key).map_err(|()| KeyError::Random)?;
        let text = Secret::new(text);
        Ok(NewKey { id, text })
    }

    /// Revokes the key `id` at the time `at` (RFC 3339), and returns whether there is such a key. A key that was
    /// already revoked keeps its time.
    pub fn revoke(&mut self, id: &str, at: &str) -> bool {
        let Some(&index) = self.by_id.get(id) else {
            return false;
        };
        if !is_time(at) {
            return false;
        }
        let revoked = &mut self.keys[index].revoked;
        revoked.get_or_insert_with(|| at.to_owned());
        true
    }

    /// Returns all keys, oldest first.
    pub fn entries(&self) -> impl Iterator<Item = KeyEntry<'_>> {
        self.keys.iter().map(|key| KeyEntry {
            id: &key.id,
            holder: &key.holder,
            created: &key.created,
            revoked: key.revoked.as_deref(),
        })
    }

    /// Returns the holder of the key `text`, if it is valid.
    #[must_use]
    pub fn verify(&self, text: &str) -> Option<&KeyHolder> {
        self.check(text).ok().map(|(holder, _)| holder)
    }

    /// Returns the holder of this key, if it is still valid.
    #[must_use]
    pub fn holder(&self, mark: &KeyMark) -> Option<&KeyHolder> {
        let key = &self.keys[*self.by_id.get(&mark.id)?];
        (key.revoked.is_none() && key.hash == mark.hash).then_some(&key.holder)
    }

    /// Returns the holder of the key `text`, and the mark that identifies it from now on. The time this takes reveals
    /// nothing about the secret, nor whether there is such an id.
    pub(super) fn check(&self, text: &str) -> Result<(&KeyHolder, KeyMark), KeyRefusal> {
        let (id, secret) = split(text).ok_or(KeyRefusal::Unknown)?;
        let key = self.by_id.get(id).map(|&index| &self.keys[index]);
        let (salt, expected) = match key {
            Some(key) => (&key.salt, &key.hash),
            None => (&[0; SALT_BYTES], &[0; HASH_BYTES]),
        };
        let is_same = bool::from(hash(salt, &secret).ct_eq(expected));
        match key {
            Some(key) if is_same && key.revoked.is_some() => Err(KeyRefusal::Revoked),
            Some(key) if is_same => Ok((&key.holder, key.mark())),
            _ => Err(KeyRefusal::Unknown),
        }
    }

    fn push(&mut self, key: StoredKey) -> Result<(), ()> {
        let index = self.keys.len();
        if self.by_id.insert(key.id.clone(), index).is_some() {
            return Err(());
        }
        self.keys.push(key);
        Ok(())
    }
}

impl StoredKey {
    fn mark(&self) -> KeyMark {
        KeyMark {
            id: self.id.clone(),
            hash: self.hash,
        }
    }
}

impl KeyFormat {
    fn check(self) -> Result<StoredKey, &'static str> {
        if !is_header_safe(&self.user) {
            return Err("the user is not 1 to 256 visible ASCII characters");
        }
        if !self.vaults.iter().all(|vault| is_header_safe(vault)) {
            return Err("a vault is not 1 to 256 visible ASCII characters");
        }
        if !are_root_names(self.roots.as_deref()) {
            return Err("the roots are not names of 1 to 256 bytes, at least one");
        }
        let role = Role::named(&self.role);
        if role.name() != self.role {
            return Err("the role is unknown");
        }
        if !is_time(&self.created) || !self.revoked.as_deref().is_none_or(is_time) {
            return Err("a time is not in RFC 3339 format");
        }
        Ok(StoredKey {
            id: self.id,
            holder: KeyHolder {
                user: self.user,
                role,
                vaults: self.vaults,
                roots: self.roots,
            },
            created: self.created,
            revoked: self.revoked,
            salt: decoded(&self.salt).ok_or("the salt is damaged")?,
            hash: decoded(&self.hash).ok_or("the hash is damaged")?,
        })
    }
}

impl From<&StoredKey> for KeyFormat {
    fn from(key: &StoredKey) -> Self {
        Self {
            id: key.id.clone(),
            user: key.holder.user.clone(),
            role: key.holder.role.name().to_owned(),
            vaults: key.holder.vaults.clone(),
            roots: key.holder.roots.clone(),
            created: key.created.clone(),
            revoked: key.revoked.clone(),
            salt: STANDARD.encode(key.salt),
            hash: STANDARD.encode(key.hash),
        }
    }
}

/// Splits a key into id and secret.
fn split(text: &str) -> Option<(&str, [u8; SECRET_BYTES])> {
    let (id, secret) = text.strip_prefix(PREFIX)?.split_once('_')?;
    decoded_id(id)?;
    let secret = URL_SAFE_NO_PAD.decode(secret).ok()?;
    Some((id, secret.try_into().ok()?))
}

fn decoded_id(id: &str) -> Option<()> {
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (id.len() == 2 * ID_BYTES && id.bytes().all(is_hex)).then_some(())
}

/// One round is enough: the secret is 256 random bits, too many to search however fast the hash is.
fn hash(salt: &[u8; SALT_BYTES], secret: &[u8; SECRET_BYTES]) -> [u8; HASH_BYTES] {
    let mut context = Context::new(&SHA256);
    context.update(salt);
    context.update(secret);
    let mut hash = [0; HASH_BYTES];
    hash.copy_from_slice(context.finish().as_ref());
    hash
}

fn decoded<const BYTES: usize>(text: &str) -> Option<[u8; BYTES]> {
    STANDARD.decode(text).ok()?.try_into().ok()
}

fn random<const BYTES: usize>() -> Result<[u8; BYTES], KeyError> {
    random_bytes().map_err(|_| KeyError::Random)
}

fn is_time(text: &str) -> bool {
    text.parse::<jiff::Timestamp>().is_ok()
}
