//! Maps: sorted entries in one shared block.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use super::Value;

/// Maps up to this size are searched one by one: comparing lengths first beats a binary search.
const SCANNED_ENTRIES: usize = 16;

/// A key of a map. Integer keys are equal when their numbers are.
#[derive(Debug, Clone)]
pub enum Key {
    Bool(bool),
    Int(i64),
    UInt(u64),
    /// A text key, the only kind a JSON object has.
    String(Arc<str>),
}

impl Key {
    /// The value as a key, if its type allows that.
    pub(crate) fn from_value(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Bool(key) => Self::Bool(*key),
            Value::Int(key) => Self::Int(*key),
            Value::UInt(key) => Self::UInt(*key),
            Value::String(key) => Self::String(Arc::clone(key)),
            Value::Decimal(key) => {
                let integer = key.to_integer()?;
                match i64::try_from(integer) {
                    Ok(signed) => Self::Int(signed),
                    Err(_) => Self::UInt(u64::try_from(integer).ok()?),
                }
            }
            _ => return None,
        })
    }

    /// The key as a value.
    #[must_use]
    pub fn to_value(&self) -> Value {
        match self {
            Self::Bool(key) => Value::Bool(*key),
            Self::Int(key) => Value::Int(*key),
            Self::UInt(key) => Value::UInt(*key),
            Self::String(key) => Value::String(Arc::clone(key)),
        }
    }

    fn number(&self) -> Option<i128> {
        match self {
            Self::Int(key) => Some(i128::from(*key)),
            Self::UInt(key) => Some(i128::from(*key)),
            Self::Bool(_) | Self::String(_) => None,
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Bool(_) => 0,
            Self::Int(_) | Self::UInt(_) => 1,
            Self::String(_) => 2,
        }
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::String(a), Self::String(b)) => a.cmp(b),
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()).then_with(|| self.number().cmp(&other.number())),
        }
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Key {}

/// A map with its entries sorted by key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Map(Arc<[(Key, Value)]>);

impl Map {
    /// A map of these entries; of two with the same key, the later one.
    #[must_use]
    pub fn from_entries(mut entries: Vec<(Key, Value)>) -> Self {
        if entries.windows(2).all(|pair| matches!(pair, [a, b] if a.0 < b.0)) {
            return Self(Arc::from(entries));
        }
        // The sort is stable, so after the reversal the latest of equal keys comes first, and `dedup_by` keeps the
        // first.
        entries.reverse();
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        entries.dedup_by(|later, kept| later.0 == kept.0);
        Self(Arc::from(entries))
    }

    /// The entries, sorted by key.
    #[must_use]
    pub fn entries(&self) -> &[(Key, Value)] {
        &self.0
    }

    /// The value under a text key.
    #[must_use]
    pub fn get_str(&self, name: &str) -> Option<&Value> {
        if self.0.len() <= SCANNED_ENTRIES {
            let found = self.0.iter().find(|(key, _)| matches!(key, Key::String(key) if **key == *name));
            return found.map(|(_, value)| value);
        }
        self.place(name).ok().and_then(|at| self.0.get(at)).map(|(_, value)| value)
    }

    /// The map with another value under a text key.
    #[must_use]
    pub fn with(&self, name: &str, value: Value) -> Self {
        match self.place(name) {
            Ok(at) => {
                let key = self.0.get(at).map_or_else(|| Key::String(name.into()), |(key, _)| key.clone());
                self.replaced(at..at + 1, Some((key, value)))
            }
            Err(at) => self.replaced(at..at, Some((Key::String(name.into()), value))),
        }
    }

    /// The map without a text key.
    #[must_use]
    pub fn without(&self, name: &str) -> Self {
        self.place(name).map_or_else(|_| self.clone(), |at| self.replaced(at..at + 1, None))
    }

    /// Where a text key is, or would be.
    fn place(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(key, _)| match key {
            Key::String(key) => (**key).cmp(name),
            // Keys that are not texts have a lower rank in `Ord`, so they all stand before the texts.
            _ => Ordering::Less,
        })
    }

    /// The map with an entry in place of those in `range`.
    fn replaced(&self, range: Range<usize>, entry: Option<(Key, Value)>) -> Self {
        let before = self.0.get(..range.start).unwrap_or_default().iter().cloned();
        let after = self.0.get(range.end..).unwrap_or_default().iter().cloned();
        Self(before.chain(entry).chain(after).collect())
    }

    /// The value under a key.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<&Value> {
        let at = self.0.binary_search_by(|(candidate, _)| candidate.cmp(key));
        at.ok().and_then(|at| self.0.get(at)).map(|(_, value)| value)
    }
}
