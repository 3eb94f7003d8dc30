//! Small files that a commit writes together: one object has the bytes of many. A tenant of a hundred thousand notes would
//! otherwise take as many requests to import, and again for each server that opens it.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    ops::Range,
    sync::Arc,
};

use sectile_library::tenants::{TenantCommit, TenantError};
use sectile_markdown::{Digest, NotePath};

use super::{ObjectTenants, damaged, state::TenantState};

/// A larger file is an object of its own: fetching it takes longer than a round trip.
const MAX_PACKED_BYTES: usize = 64 << 10;
/// With fewer small files, each is an object of its own, and disappears as soon as nothing needs it.
const FEWEST: usize = 16;
/// The bytes after which another pack begins: as much as a server fetches at a time.
const PACK_BYTES: usize = 4 << 20;

/// Where the bytes of a file are in a pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PackedFile {
    /// The pack.
    pub(super) object: Digest,
    pub(super) offset: u64,
    /// The length of the file.
    pub(super) bytes: u64,
}

impl PackedFile {
    /// Returns its place among the bytes of the pack, if there can be such a place.
    pub(super) fn range(&self) -> Option<Range<usize>> {
        let start = usize::try_from(self.offset).ok()?;
        let length = usize::try_from(self.bytes).ok()?;
        Some(start..start.checked_add(length)?)
    }
}

/// Returns where the small files of a commit are in packs, and these packs, by digest. There are none if there are few such
/// files.
pub(super) fn packed(
    commit: &TenantCommit,
) -> (HashMap<Digest, PackedFile>, Vec<(String, Vec<u8>)>) {
    let contents = commit.files.iter().filter_map(|file| file.content.as_ref());
    let small: BTreeMap<Digest, &[u8]> = contents
        .filter(|(_, bytes)| bytes.len() <= MAX_PACKED_BYTES)
        .map(|(state, bytes)| (state.digest, bytes.as_slice()))
        .collect();
    let (mut places, mut packs) = (HashMap::new(), Vec::new());
    if small.len() < FEWEST {
        return (places, packs);
    }
    // Files that are fetched together are side by side: in the order of the commit.
    let mut seen = BTreeSet::new();
    let mut pack: (Vec<(Digest, u64, u64)>, Vec<u8>) = Default::default();
    let mut finish = |(files, bytes): (Vec<(Digest, u64, u64)>, Vec<u8>)| {
        let object = Digest::of(&bytes);
        let place = |(digest, offset, bytes)| {
            let file = PackedFile {
                object,
                offset,
                bytes,
            };
            (digest, file)
        };
        places.extend(files.into_iter().map(place));
        packs.push((object.to_string(), bytes));
    };
    for file in &commit.files {
        let Some((state, _)) = &file.content else {
            continue;
        };
        let Some(bytes) = small.get(&state.digest) else {
            continue;
        };
        if !seen.insert(state.digest) {
            continue;
        }
        if pack.1.len() + bytes.len() > PACK_BYTES {
            finish(std::mem::take(&mut pack));
        }
        let (offset, length) = (pack.1.len() as u64, bytes.len() as u64);
        pack.0.push((state.digest, offset, length));
        pack.1.extend_from_slice(bytes);
    }
    finish(pack);
    (places, packs)
}

impl ObjectTenants {
    /// Returns the bytes of files, or `None` for each that is not there. Where they are is known from `state`; those that it
    /// does not have are objects of their own.
    pub(super) fn read_files(
        &self,
        tenant: &str,
        state: &TenantState,
        files: &[(NotePath, Digest)],
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<Option<Vec<u8>>>, TenantError> {
        let place_of = |digest: &Digest| state.packed.get(digest).copied();
        let single = files.iter().map(|(_, digest)| digest);
        let single: Vec<String> = single
            .filter(|digest| place_of(digest).is_none())
            .map(Digest::to_string)
            .collect();
        let mut single = self.read_objects(tenant, &single, stop)?.into_iter();
        let mut packs: BTreeMap<Digest, Option<Arc<[u8]>>> = BTreeMap::new();
        let mut found = Vec::with_capacity(files.len());
        for (_, digest) in files {
            let Some(place) = place_of(digest) else {
                found.push(single.next().ok_or_else(damaged)?);
                continue;
            };
            if !packs.contains_key(&place.object) {
                let read = self.records(tenant, &[place.object.to_string()], stop)?;
                packs.insert(place.object, read.and_then(|mut read| read.pop()));
            }
            let Some(pack) = packs.get(&place.object).and_then(Option::as_ref) else {
                found.push(None);
                continue;
            };
            let bytes = place.range().and_then(|range| pack.get(range));
            match bytes.filter(|bytes| Digest::of(bytes) == *digest) {
                Some(bytes) => found.push(Some(bytes.to_vec())),
                None => return Err(damaged()),
            }
        }
        Ok(found)
    }
}
