//! Seals: proof that this user wrote a line of the journal.
//!
//! A journal may arrive with a cloned repository or a synced folder. The checksum of a line only detects damage, since
//! anyone can compute one. The seal is a keyed hash, and its key is kept outside every folder of notes.

use std::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// The secret that seals what this user writes. Without it, anyone can write a journal, but not one that causes a
/// document to be written.
#[derive(Clone)]
pub struct JournalKey(Hmac<Sha256>);

/// The writer of a journal line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineOrigin {
    /// The line carries the seal of this user.
    Own,
    /// The line came with the folder. It may name sections and be shown, but never causes a write.
    Foreign,
}

/// The start of a line's seal, which is the last field of the object.
const FIELD: &[u8] = b",\"seal\":\"";
const END: &[u8] = b"\"}";
/// Half of the hash: 128 bits cannot be guessed, and every line carries a seal.
const SEAL_BYTES: usize = 16;

impl JournalKey {
    /// Length of a key in bytes.
    pub const BYTES: usize = 32;

    /// Returns the key made of these bytes.
    #[must_use]
    pub fn new(bytes: &[u8; Self::BYTES]) -> Self {
        // A key of at most the block size is used as it is, so this equals `new_from_slice` without its error.
        let mut block = hmac::digest::Key::<Hmac<Sha256>>::default();
        block[..Self::BYTES].copy_from_slice(bytes);
        Self(Hmac::new(&block))
    }

    /// Computes the seal of a JSON object, given in parts.
    fn seal(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        parts.iter().for_each(|part| mac.update(part));
        mac
    }

    /// Returns half of the keyed hash of bytes that are not a line of a journal, as hexadecimal digits. `purpose` keeps
    /// hashes for different uses apart.
    pub(crate) fn tag(&self, purpose: &str, bytes: &[u8]) -> String {
        let mac = self.seal(&[purpose.as_bytes(), b"\0", bytes]).finalize();
        let mac = mac.into_bytes();
        let digits = mac[..SEAL_BYTES].iter().map(|byte| format!("{byte:02x}"));
        digits.collect()
    }

    /// Returns `json`, an object with at least one field, with its seal as the last field.
    pub(super) fn sealed(&self, mut json: Vec<u8>) -> Vec<u8> {
        let seal = self.seal(&[&json]).finalize().into_bytes();
        json.pop();
        json.extend_from_slice(FIELD);
        for byte in &seal[..SEAL_BYTES] {
            json.extend_from_slice(format!("{byte:02x}").as_bytes());
        }
        json.extend_from_slice(END);
        json
    }

    /// Returns who wrote `json`.
    pub(super) fn origin(&self, json: &[u8]) -> LineOrigin {
        if self.has_seal(json).unwrap_or_default() {
            LineOrigin::Own
        } else {
            LineOrigin::Foreign
        }
    }

    fn has_seal(&self, json: &[u8]) -> Option<bool> {
        let rest = json.strip_suffix(END)?;
        let (rest, digits) = rest.split_at_checked(rest.len().checked_sub(2 * SEAL_BYTES)?)?;
        let body = rest.strip_suffix(FIELD)?;
        let seal = super::record::from_hex(std::str::from_utf8(digits).ok()?)?;
        let mac = self.seal(&[body, b"}"]);
        // The comparison takes constant time.
        Some(mac.verify_truncated_left(&seal).is_ok())
    }
}

impl fmt::Debug for JournalKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JournalKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_ours_only_with_our_seal_over_just_these_bytes() {
        let key = JournalKey::new(&[7; 32]);
        let sealed = key.sealed(br#"{"record":"commit","entry":1}"#.to_vec());
        assert!(sealed.starts_with(br#"{"record":"commit","entry":1,"seal":""#));
        assert!(serde_json::from_slice::<serde_json::Value>(&sealed).is_ok());
        assert_eq!(key.origin(&sealed), LineOrigin::Own);
        assert_eq!(
            JournalKey::new(&[8; 32]).origin(&sealed),
            LineOrigin::Foreign
        );
        for at in 0..sealed.len() {
            let mut other = sealed.clone();
            other[at] ^= 1;
            assert_eq!(key.origin(&other), LineOrigin::Foreign, "byte {at}");
        }
        for end in 0..sealed.len() {
            assert_eq!(
                key.origin(&sealed[..end]),
                LineOrigin::Foreign,
                "cut at {end}"
            );
        }
    }

    #[test]
    fn the_seal_is_that_of_rfc_2104() {
        // Computed with Python's hmac module.
        let key = JournalKey::new(&[7; 32]);
        let sealed = key.sealed(br#"{"a":1}"#.to_vec());
        let expected = r#"{"a":1,"seal":"0d733feec304f131c0dcbceb873c317e"}"#;
        assert_eq!(String::from_utf8(sealed).unwrap(), expected);
    }
}
