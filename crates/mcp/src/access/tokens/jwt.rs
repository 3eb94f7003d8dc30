//! Parsing of tokens. Nothing in the result is trusted yet.

use std::fmt;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Visitor},
};
use serde_json::{Map, Value};

/// The parts of a token.
pub(super) struct Jwt<'a> {
    pub(super) algorithm: String,
    pub(super) kid: Option<String>,
    /// The bytes that the signature covers.
    pub(super) signed: &'a [u8],
    pub(super) signature: Vec<u8>,
    payload: &'a str,
}

impl<'a> Jwt<'a> {
    /// Parses `token`; `None` if it is not a signed token in compact form.
    pub(super) fn parse(token: &'a str) -> Option<Self> {
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, payload) = signed.split_once('.')?;
        if payload.contains('.') {
            return None;
        }
        let mut header = object(header)?;
        // A critical extension has to be understood, and none of them is.
        if header.contains_key("crit") {
            return None;
        }
        let algorithm = match header.swap_remove("alg")? {
            Value::String(name) => name,
            _ => return None,
        };
        let kid = match header.swap_remove("kid") {
            Some(Value::String(kid)) => Some(kid),
            Some(_) => return None,
            None => None,
        };
        Some(Self {
            algorithm,
            kid,
            signed: signed.as_bytes(),
            signature: URL_SAFE_NO_PAD.decode(signature).ok()?,
            payload,
        })
    }

    /// Returns the claims. Only to be read once the signature was checked.
    pub(super) fn claims(&self) -> Option<Map<String, Value>> {
        object(self.payload)
    }
}

fn object(part: &str) -> Option<Map<String, Value>> {
    let bytes = URL_SAFE_NO_PAD.decode(part).ok()?;
    let UnambiguousObject(object) = serde_json::from_slice(&bytes).ok()?;
    Some(object)
}

/// An object without duplicate members, so that no two readers can disagree about it.
struct UnambiguousObject(Map<String, Value>);

impl<'de> Deserialize<'de> for UnambiguousObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MemberVisitor;

        impl<'de> Visitor<'de> for MemberVisitor {
            type Value = UnambiguousObject;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut access: A,
            ) -> Result<UnambiguousObject, A::Error> {
                let mut object = Map::new();
                while let Some((name, value)) = access.next_entry::<String, Value>()? {
                    if object.insert(name, value).is_some() {
                        return Err(A::Error::custom("a member appears twice"));
                    }
                }
                Ok(UnambiguousObject(object))
            }
        }

        deserializer.deserialize_map(MemberVisitor)
    }
}
