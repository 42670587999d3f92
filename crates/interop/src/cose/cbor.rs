//! CBOR in its one deterministic form (RFC 8949, section 4.2.1): shortest lengths, all of them definite, keys sorted by their
//! bytes, no key twice. What is written is read, and nothing else.

use std::collections::BTreeSet;

/// The deepest nesting that is read: that of a statement with claims is four.
const MAX_DEPTH: usize = 8;
/// The most items that are read at once: an inclusion proof has 67 with the longest path.
const MAX_ITEMS: usize = 1024;

const UNSIGNED: u8 = 0;
const NEGATIVE: u8 = 1;
const BYTES: u8 = 2;
const TEXT: u8 = 3;
const ARRAY: u8 = 4;
const MAP: u8 = 5;
const TAG: u8 = 6;

const FALSE: u8 = 0xF4;
const TRUE: u8 = 0xF5;
const NULL: u8 = 0xF6;

/// In which order the keys of maps may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyOrder {
    /// Sorted by their bytes: the deterministic form.
    Sorted,
    /// Any, as others write them who are not asked for the deterministic form. All else is as strict.
    Any,
}

/// One data item. Numbers other than integers, and simple values other than these, are not read: no header here has them.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Item<'a> {
    /// From -2^64 to 2^64-1.
    Int(i128),
    Bytes(&'a [u8]),
    Text(&'a str),
    Array(Vec<Self>),
    Map(Map<'a>),
    Tag(u64, Box<Self>),
    Bool(bool),
    Null,
}

/// A map, in any order; it is written sorted.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Map<'a>(pub(super) Vec<(Item<'a>, Item<'a>)>);

impl<'a> Map<'a> {
    /// The value with this integer as its label.
    pub(super) fn get(&self, label: i128) -> Option<&Item<'a>> {
        self.0.iter().find_map(|(key, value)| (*key == Item::Int(label)).then_some(value))
    }

    /// A map with these labels, which differ.
    pub(super) fn of(members: impl IntoIterator<Item = (i128, Item<'a>)>) -> Self {
        Self(members.into_iter().map(|(label, value)| (Item::Int(label), value)).collect())
    }
}

impl<'a> Item<'a> {
    /// Reads exactly one item, of which nothing is left; `None` when the bytes are not in the deterministic form.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        Self::read_in(bytes, KeyOrder::Sorted)
    }

    /// As [`Item::read`], with the keys of maps in this order.
    pub(super) fn read_in(bytes: &'a [u8], order: KeyOrder) -> Option<Self> {
        let mut reader = Reader { rest: bytes, order, left: MAX_ITEMS };
        let item = reader.item(0)?;
        reader.rest.is_empty().then_some(item)
    }

    /// The item in deterministic form.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&mut out);
        out
    }

    pub(super) fn as_bytes(&self) -> Option<&'a [u8]> {
        if let Self::Bytes(bytes) = self { Some(bytes) } else { None }
    }

    pub(super) fn as_text(&self) -> Option<&'a str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    pub(super) fn as_int(&self) -> Option<i128> {
        if let Self::Int(value) = self { Some(*value) } else { None }
    }

    pub(super) fn as_array(&self) -> Option<&[Self]> {
        if let Self::Array(items) = self { Some(items) } else { None }
    }

    pub(super) fn as_map(&self) -> Option<&Map<'a>> {
        if let Self::Map(map) = self { Some(map) } else { None }
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Int(value) if *value < 0 => write_head(out, NEGATIVE, clamped(-1 - value)),
            Self::Int(value) => write_head(out, UNSIGNED, clamped(*value)),
            Self::Bytes(bytes) => {
                write_head(out, BYTES, bytes.len() as u64);
                out.extend_from_slice(bytes);
            }
            Self::Text(text) => {
                write_head(out, TEXT, text.len() as u64);
                out.extend_from_slice(text.as_bytes());
            }
            Self::Array(items) => {
                write_head(out, ARRAY, items.len() as u64);
                items.iter().for_each(|item| item.write(out));
            }
            Self::Map(Map(members)) => {
                write_head(out, MAP, members.len() as u64);
                let mut sorted: Vec<_> = members.iter().map(|(key, value)| (key.to_bytes(), value)).collect();
                sorted.sort_unstable_by(|left, right| left.0.cmp(&right.0));
                for (key, value) in sorted {
                    out.extend_from_slice(&key);
                    value.write(out);
                }
            }
            Self::Tag(tag, item) => {
                write_head(out, TAG, *tag);
                item.write(out);
            }
            Self::Bool(value) => out.push(if *value { TRUE } else { FALSE }),
            Self::Null => out.push(NULL),
        }
    }
}

/// The argument of an integer; what CBOR has no integer for becomes the largest it has.
fn clamped(value: i128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

fn write_head(out: &mut Vec<u8>, major: u8, argument: u64) {
    let major = major << 5;
    let bytes = argument.to_be_bytes();
    // The shortest of the forms that hold the argument.
    let (info, length) = match argument {
        0..=23 => return out.push(major | (argument as u8)),
        24..=0xFF => (24, 1),
        0x100..=0xFFFF => (25, 2),
        0x1_0000..=0xFFFF_FFFF => (26, 4),
        _ => (27, 8),
    };
    out.push(major | info);
    out.extend(bytes.iter().skip(bytes.len() - length));
}

struct Reader<'a> {
    rest: &'a [u8],
    order: KeyOrder,
    /// How many more items may be read.
    left: usize,
}

impl<'a> Reader<'a> {
    fn item(&mut self, depth: usize) -> Option<Item<'a>> {
        let inner = depth + 1;
        if depth > MAX_DEPTH {
            return None;
        }
        self.left = self.left.checked_sub(1)?;
        let (major, argument) = match *self.rest.first()? {
            FALSE => return self.simple(Item::Bool(false)),
            TRUE => return self.simple(Item::Bool(true)),
            NULL => return self.simple(Item::Null),
            _ => self.head()?,
        };
        Some(match major {
            UNSIGNED => Item::Int(argument.into()),
            NEGATIVE => Item::Int(-1 - i128::from(argument)),
            BYTES => Item::Bytes(self.take(argument)?),
            TEXT => Item::Text(std::str::from_utf8(self.take(argument)?).ok()?),
            // Nothing is reserved for the count, which may be any.
            ARRAY => Item::Array((0..argument).map(|_| self.item(inner)).collect::<Option<_>>()?),
            MAP => Item::Map(self.map(argument, inner)?),
            TAG => Item::Tag(argument, Box::new(self.item(inner)?)),
            _ => return None,
        })
    }

    fn map(&mut self, count: u64, depth: usize) -> Option<Map<'a>> {
        let mut members = Vec::new();
        let mut keys: BTreeSet<&[u8]> = BTreeSet::new();
        for _ in 0..count {
            let start = self.rest;
            let key = self.item(depth)?;
            let written = start.get(..start.len() - self.rest.len())?;
            let is_sorted = keys.last().is_none_or(|last| *last < written);
            if !(is_sorted || self.order == KeyOrder::Any) || !keys.insert(written) {
                return None;
            }
            members.push((key, self.item(depth)?));
        }
        Some(Map(members))
    }

    fn simple(&mut self, item: Item<'a>) -> Option<Item<'a>> {
        self.take(1)?;
        Some(item)
    }

    /// The major type and the argument, in its shortest form.
    fn head(&mut self) -> Option<(u8, u64)> {
        let [first] = *self.take(1)? else { return None };
        let (major, info) = (first >> 5, first & 0x1F);
        let (length, least) = match info {
            0..=23 => return Some((major, info.into())),
            24 => (1, 24),
            25 => (2, 0x100),
            26 => (4, 0x1_0000),
            27 => (8, 0x1_0000_0000),
            // 28 to 30 are reserved, and 31 begins an item of indefinite length.
            _ => return None,
        };
        let argument = self.take(length)?.iter().fold(0, |value: u64, byte| value << 8 | u64::from(*byte));
        (argument >= least).then_some((major, argument))
    }

    fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(usize::try_from(length).ok()?)?;
        self.rest = rest;
        Some(taken)
    }
}

#[cfg(test)]
pub(super) mod tests;
