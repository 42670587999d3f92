//! The canonical form of facts. The calls of a long run are most of it, and most of them are those of the request before.

use proofmark_receipt::{Json, Object};

use crate::size::size;

/// The items of a list in canonical form, with a comma after each, and how many values they hold.
#[derive(Clone, Debug, Default)]
pub(super) struct CanonicalList {
    text: Vec<u8>,
    /// Where each item ends.
    ends: Vec<End>,
}

#[derive(Clone, Copy, Debug, Default)]
struct End {
    /// In the text.
    at: usize,
    /// How many values the items hold up to here.
    values: u64,
}

impl CanonicalList {
    /// The form of `items`; this is that of `earlier`, which begins with the same items.
    pub(super) fn followed_by(&self, earlier: &[Json], items: &[Json]) -> Self {
        let same = earlier.iter().zip(items).zip(&self.ends).take_while(|((one, other), _)| one == other).count();
        let ends = self.ends.get(..same).unwrap_or_default().to_vec();
        let mut end = ends.last().copied().unwrap_or_default();
        let text = self.text.get(..end.at).unwrap_or_default().to_vec();
        let mut list = Self { text, ends };
        for item in items.get(same..).unwrap_or_default() {
            list.text.extend(item.canonical_vrf());
            list.text.push(b',');
            end = End { at: list.text.len(), values: end.values + size(item) };
            list.ends.push(end);
        }
        list
    }

    /// How many values the items hold.
    pub(super) fn values(&self) -> u64 {
        self.ends.last().map_or(0, |end| end.values)
    }
}

/// The canonical form of facts whose calls have this one.
pub(super) fn facts(facts: &Object, calls: &CanonicalList) -> Vec<u8> {
    let mut members: Vec<_> = facts.iter().collect();
    members.sort_unstable_by_key(|(name, _)| *name);
    let mut out = Vec::with_capacity(calls.text.len() + 4_096);
    for (index, (name, value)) in members.into_iter().enumerate() {
        out.push(if index == 0 { b'{' } else { b',' });
        out.extend(Json::from(name).canonical_vrf());
        out.push(b':');
        if name == "calls" {
            out.push(b'[');
            out.extend(calls.text.strip_suffix(b",").unwrap_or_default());
            out.push(b']');
        } else {
            out.extend(value.canonical_vrf());
        }
    }
    out.push(b'}');
    out
}
