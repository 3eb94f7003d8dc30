//! Sealed text: a client carries it and hands it back, and only a server that has the secret can make or read it.

use std::io;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    hkdf::{HKDF_SHA256, Salt},
};

use super::Secret;

/// Returns random bytes from the system.
///
/// # Errors
/// Returns an error if the system has none.
pub fn random_bytes<const LENGTH: usize>() -> io::Result<[u8; LENGTH]> {
    let mut bytes = [0; LENGTH];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes)
}

/// A key that encrypts and authenticates.
pub struct SealingKey(LessSafeKey);

impl SealingKey {
    /// Derives a key from `secret`. The same secret gives a different key for every `purpose`. Returns `None` if the
    /// library makes no key, which no secret causes.
    #[must_use]
    pub fn derive(secret: &Secret, purpose: &[u8]) -> Option<Self> {
        let derived = Salt::new(HKDF_SHA256, &[]).extract(secret.reveal().as_bytes());
        let purpose = [purpose];
        let key = derived.expand(&purpose, &CHACHA20_POLY1305).ok()?;
        Some(Self(LessSafeKey::new(UnboundKey::from(key))))
    }

    /// Seals `bytes`, which can be opened only together with the same `context`. The result is base64url.
    ///
    /// # Errors
    /// Returns an error if the system has no random bytes, or if the library refuses.
    pub fn seal(&self, context: &[u8], mut bytes: Vec<u8>) -> io::Result<String> {
        let nonce: [u8; NONCE_LEN] = random_bytes()?;
        self.0
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(context),
                &mut bytes,
            )
            .map_err(|_| io::Error::other("sealing failed"))?;
        Ok(URL_SAFE_NO_PAD.encode([&nonce[..], &bytes].concat()))
    }

    /// Opens what [`Self::seal`] made with this key and this `context`; `None` for anything else.
    #[must_use]
    pub fn open(&self, context: &[u8], sealed: &str) -> Option<Vec<u8>> {
        let mut bytes = URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let (nonce, sealed) = bytes.split_at_mut_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let opened = self.0.open_in_place(nonce, Aad::from(context), sealed);
        opened.ok().map(|opened| opened.to_vec())
    }
}
