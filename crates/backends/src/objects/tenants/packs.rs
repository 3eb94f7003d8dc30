//! Small files that a commit writes together: one object has the bytes of many. A tenant of a hundred thousand notes would
//! otherwise take as many requests to import, and again for each server that opens it.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, btree_map::Entry},
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

/// The small files of a commit, in packs.
#[derive(Default)]
pub(super) struct CommitPacks {
    /// Where each file is, by its digest.
    pub(super) places: HashMap<Digest, PackedFile>,
    /// The packs, by their digest.
    pub(super) objects: Vec<(String, Vec<u8>)>,
    /// The pack that is being filled, and its files with their offset and length.
    bytes: Vec<u8>,
    files: Vec<(Digest, u64, u64)>,
}

impl CommitPacks {
    /// Packs the small files of a commit, unless they are few.
    pub(super) fn of(commit: &TenantCommit) -> Self {
        let contents = commit.files.iter().filter_map(|file| file.content.as_ref());
        let small = contents.filter(|(_, bytes)| bytes.len() <= MAX_PACKED_BYTES);
        let mut packs = Self::default();
        if small.clone().count() < FEWEST {
            return packs;
        }
        let mut seen = BTreeSet::new();
        for (state, bytes) in small.filter(|(state, _)| seen.insert(state.digest)) {
            if packs.bytes.len() + bytes.len() > PACK_BYTES {
                packs.finish();
            }
            let (offset, length) = (packs.bytes.len() as u64, bytes.len() as u64);
            packs.files.push((state.digest, offset, length));
            packs.bytes.extend_from_slice(bytes);
        }
        packs.finish();
        packs
    }

    fn finish(&mut self) {
        let pack = std::mem::take(&mut self.bytes);
        let object = Digest::of(&pack);
        for (digest, offset, bytes) in self.files.drain(..) {
            let place = PackedFile {
                object,
                offset,
                bytes,
            };
            self.places.insert(digest, place);
        }
        self.objects.push((object.to_string(), pack));
    }
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
            let pack = match packs.entry(place.object) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(unknown) => {
                    let read = self.records(tenant, &[place.object.to_string()], stop)?;
                    unknown.insert(read.and_then(|mut read| read.pop()))
                }
            };
            let Some(pack) = pack else {
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
