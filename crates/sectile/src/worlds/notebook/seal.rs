//! Handles that every replica with the same secret can open: a collection and the time it was entered, sealed for one
//! caller. Replicas need not store or exchange anything.

use sectile_mcp::access::{SealingKey, Secret};

use super::errors::NotebookError;

/// Validity of a sealed handle on every replica, in seconds from entering the collection. [`SEALED_HANDLE_UNKNOWN`] states
/// it in words.
///
/// [`SEALED_HANDLE_UNKNOWN`]: super::errors
pub(crate) const SEALED_HANDLE_S: u64 = 24 * 3600;

/// Maximum number of seconds by which the clock of the sealing replica may be ahead of ours.
pub(super) const AHEAD_S: u64 = 300;

/// The purpose of the key: the same secret gives different keys for different purposes.
const PURPOSE: &[u8] = b"sectile notebook context_handle";

/// Version of the sealed format: this byte, milliseconds since 1970 (big-endian), the collection.
const VERSION: u8 = 1;

/// The key that all replicas share.
pub(crate) struct HandleSeal(SealingKey);

impl HandleSeal {
    /// Derives the key from `secret`. `None` if the cryptographic library fails, which does not depend on the secret.
    pub(crate) fn new(secret: &Secret) -> Option<Self> {
        SealingKey::derive(secret, PURPOSE).map(Self)
    }

    /// Creates a handle of `caller` for `collection`, entered at `now`.
    pub(crate) fn seal(
        &self,
        caller: Option<&str>,
        collection: &str,
        now: i64,
    ) -> Result<String, NotebookError> {
        let mut text = vec![VERSION];
        text.extend(now.to_be_bytes());
        text.extend(collection.as_bytes());
        self.0
            .seal(&mark(caller), text)
            .map_err(|_| NotebookError::of_server("The context_handle cannot be created."))
    }

    /// Returns the collection that `handle` is for, if the handle belongs to `caller` and is still valid.
    pub(crate) fn open(&self, caller: Option<&str>, handle: &str, now: i64) -> Option<String> {
        let text = self.0.open(&mark(caller), handle)?;
        let (&version, text) = text.split_first()?;
        let (entered, collection) = text.split_first_chunk()?;
        let is_good = version == VERSION && is_fresh(i64::from_be_bytes(*entered), now);
        let collection = str::from_utf8(collection).ok().filter(|_| is_good)?;
        Some(collection.to_owned())
    }
}

fn is_fresh(entered: i64, now: i64) -> bool {
    let apart = now.abs_diff(entered);
    match entered <= now {
        true => apart < SEALED_HANDLE_S * 1000,
        false => apart <= AHEAD_S * 1000,
    }
}

/// Returns the bytes that bind a handle to its caller, or to the absence of one.
fn mark(caller: Option<&str>) -> Vec<u8> {
    match caller {
        None => vec![0],
        Some(caller) => [&[1], caller.as_bytes()].concat(),
    }
}

#[cfg(test)]
mod tests {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
    use proptest::prelude::*;

    use super::*;

    const DAY: i64 = 86_400_000;

    fn seal(secret: &str) -> HandleSeal {
        HandleSeal::new(&Secret::new(secret)).expect("a key")
    }

    fn callers() -> impl Strategy<Value = Option<String>> {
        prop::option::of(".{0,20}")
    }

    proptest! {
        #[test]
        fn what_was_sealed_is_opened_with_the_same_secret(
            secret in ".{8,40}",
            caller in callers(),
            collection in "\\PC{0,80}",
            entered in 0..i64::MAX / 2,
            age in 0..DAY,
        ) {
            let handle = seal(&secret).seal(caller.as_deref(), &collection, entered).expect("a handle");
            prop_assert!(handle.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)));
            let opened = seal(&secret).open(caller.as_deref(), &handle, entered + age);
            prop_assert_eq!(opened, Some(collection));
        }

        #[test]
        fn another_caller_or_another_secret_opens_nothing(
            (secret, other_secret) in ("[a-z]{8,40}", "[A-Z]{8,40}"),
            (caller, other) in (callers(), callers()),
            collection in "\\PC{0,20}",
        ) {
            let handle = seal(&secret).seal(caller.as_deref(), &collection, 0).expect("a handle");
            prop_assert_eq!(seal(&other_secret).open(caller.as_deref(), &handle, 0), None);
            let opened = seal(&secret).open(other.as_deref(), &handle, 0);
            prop_assert_eq!(opened.is_some(), caller == other);
        }

        #[test]
        fn any_text_is_just_no_handle(text in "\\PC{0,200}", bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let seal = seal("a secret");
            prop_assert_eq!(seal.open(None, &text, 0), None);
            prop_assert_eq!(seal.open(None, &URL_SAFE_NO_PAD.encode(bytes), 0), None);
        }
    }

    #[test]
    fn a_handle_with_any_bit_flipped_or_any_byte_missing_is_refused() {
        let seal = seal("a secret");
        for collection in ["", "a", "ab", "journal"] {
            let handle = seal.seal(Some("ada"), collection, 0).expect("a handle");
            let bytes = URL_SAFE_NO_PAD.decode(&handle).expect("base64url");
            for bit in 0..bytes.len() * 8 {
                let mut flipped = bytes.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                let flipped = URL_SAFE_NO_PAD.encode(flipped);
                assert_eq!(seal.open(Some("ada"), &flipped, 0), None, "bit {bit}");
            }
            // The encoded string as well: there is only one valid encoding.
            for bit in 0..handle.len() * 8 {
                let mut flipped = handle.clone().into_bytes();
                flipped[bit / 8] ^= 1 << (bit % 8);
                let flipped = String::from_utf8_lossy(&flipped).into_owned();
                assert_eq!(seal.open(Some("ada"), &flipped, 0), None, "bit {bit}");
            }
            for length in 0..bytes.len() {
                let cut = URL_SAFE_NO_PAD.encode(&bytes[..length]);
                assert_eq!(seal.open(Some("ada"), &cut, 0), None, "{length} bytes");
            }
            assert_eq!(seal.open(Some("ada"), &format!("{handle}="), 0), None);
        }
    }

    #[test]
    fn nobody_and_a_caller_without_a_name_are_two() {
        let seal = seal("a secret");
        let handle = seal.seal(None, "a", 0).expect("a handle");
        assert_eq!(seal.open(Some(""), &handle, 0), None);
        assert_eq!(seal.open(None, &handle, 0).as_deref(), Some("a"));
    }

    #[test]
    fn a_handle_is_good_for_a_day_from_entering_whatever_the_clocks_say() {
        let seal = seal("a secret");
        let handle = seal.seal(None, "a", 10 * DAY).expect("a handle");
        let opens = |now: i64| seal.open(None, &handle, now).is_some();
        assert!(opens(10 * DAY));
        assert!(opens(11 * DAY - 1));
        assert!(!opens(11 * DAY));
        assert!(!opens(i64::MAX));
        // Made by a replica whose clock is ahead.
        assert!(opens(10 * DAY - 300_000));
        assert!(!opens(10 * DAY - 300_001));
        assert!(!opens(i64::MIN));
    }

    #[test]
    fn no_two_handles_are_the_same() {
        let seal = seal("a secret");
        let make = || seal.seal(None, "a", 0).expect("a handle");
        assert_ne!(make(), make());
    }
}
