use proptest::prelude::*;

use super::*;

/// The bytes of pairs of hex digits, in either case.
pub(in crate::cose) fn bytes(hex: &str) -> Vec<u8> {
    hex.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// Examples of RFC 8949, appendix A, that headers can have.
#[test]
fn examples_of_the_standard() {
    for (hex, item) in [
        ("00", Item::Int(0)),
        ("17", Item::Int(23)),
        ("1818", Item::Int(24)),
        ("1903e8", Item::Int(1000)),
        ("1a000f4240", Item::Int(1_000_000)),
        ("1bffffffffffffffff", Item::Int(18_446_744_073_709_551_615)),
        ("3bffffffffffffffff", Item::Int(-18_446_744_073_709_551_616)),
        ("20", Item::Int(-1)),
        ("3903e7", Item::Int(-1000)),
        ("f4", Item::Bool(false)),
        ("f5", Item::Bool(true)),
        ("f6", Item::Null),
        ("40", Item::Bytes(&[])),
        ("4401020304", Item::Bytes(&[1, 2, 3, 4])),
        ("62c3bc", Item::Text("\u{fc}")),
        ("c11a514b67b0", Item::Tag(1, Box::new(Item::Int(1_363_896_240)))),
        ("83010203", Item::Array(vec![Item::Int(1), Item::Int(2), Item::Int(3)])),
        ("a201020304", Item::Map(Map::of([(1, Item::Int(2)), (3, Item::Int(4))]))),
    ] {
        assert_eq!(Item::read(&bytes(hex)), Some(item.clone()), "{hex}");
        assert_eq!(item.to_bytes(), bytes(hex));
    }
}

#[test]
fn what_is_not_in_the_one_form_is_refused() {
    for (hex, why) in [
        ("", "nothing"),
        ("1817", "a number in more bytes than it needs"),
        ("190017", "a number in more bytes than it needs"),
        ("1a0000ffff", "a number in more bytes than it needs"),
        ("1b00000000ffffffff", "a number in more bytes than it needs"),
        ("580101", "a length in more bytes than it needs"),
        ("980101", "a count in more bytes than it needs"),
        ("b8010102", "a count in more bytes than it needs"),
        ("d81201", "a tag in more bytes than it needs"),
        ("5f4101ff", "bytes of indefinite length"),
        ("7f6161ff", "a text of indefinite length"),
        ("9f01ff", "an array of indefinite length"),
        ("bf0102ff", "a map of indefinite length"),
        ("a201020103", "a key twice"),
        ("a203040102", "keys out of order"),
        ("a2200101 02", "keys out of order, by their bytes"),
        ("0000", "a byte after the end"),
        ("42 01", "bytes that are missing"),
        ("8201", "an item that is missing"),
        ("a101", "a value that is missing"),
        ("61ff", "a text that is not UTF-8"),
        ("f7", "undefined"),
        ("f820", "another simple value"),
        ("f93c00", "a float"),
        ("fb3ff199999999999a", "a float"),
        ("1c", "a reserved length"),
        ("9bffffffffffffffff", "more items than there is memory for"),
        ("5bffffffffffffffff", "more bytes than there is memory for"),
        ("818181818181818181818101", "nested too deep"),
    ] {
        assert_eq!(Item::read(&bytes(&hex.replace(' ', ""))), None, "{why}");
    }
}

#[test]
fn a_limited_number_of_items_is_read() {
    let of = |count: usize| Item::Array(vec![Item::Null; count]).to_bytes();
    assert!(Item::read(&of(MAX_ITEMS - 1)).is_some());
    assert_eq!(Item::read(&of(MAX_ITEMS)), None);
}

#[test]
fn keys_in_any_order_are_no_less_unique() {
    let header = bytes("a219018b010127");
    let expected = Item::Map(Map::of([(395, Item::Int(1)), (1, Item::Int(-8))]));
    assert_eq!(Item::read_in(&header, KeyOrder::Any), Some(expected));
    for (hex, why) in [("a3010203040103", "a key twice"), ("a21817010102", "a key in more bytes than it needs")] {
        assert_eq!(Item::read_in(&bytes(hex), KeyOrder::Any), None, "{why}");
    }
}

/// An item, as a value that owns what it has.
#[derive(Clone, Debug)]
enum Owned {
    Int(i128),
    Bytes(Vec<u8>),
    Text(String),
    Array(Vec<Owned>),
    Map(Vec<(i64, Owned)>),
    Tag(u64, Box<Owned>),
    Bool(bool),
    Null,
}

impl Owned {
    fn item(&self) -> Item<'_> {
        match self {
            Self::Int(value) => Item::Int(*value),
            Self::Bytes(bytes) => Item::Bytes(bytes),
            Self::Text(text) => Item::Text(text),
            Self::Array(items) => Item::Array(items.iter().map(Self::item).collect()),
            Self::Map(members) => Item::Map(Map::of(members.iter().map(|(key, value)| ((*key).into(), value.item())))),
            Self::Tag(tag, item) => Item::Tag(*tag, Box::new(item.item())),
            Self::Bool(value) => Item::Bool(*value),
            Self::Null => Item::Null,
        }
    }
}

fn owned() -> impl Strategy<Value = Owned> {
    let numbers = prop_oneof![
        any::<u64>().prop_map(i128::from),
        any::<u8>().prop_map(i128::from),
        any::<u64>().prop_map(|value| -1 - i128::from(value))
    ];
    let leaf = prop_oneof![
        numbers.prop_map(Owned::Int),
        prop::collection::vec(any::<u8>(), 0..300).prop_map(Owned::Bytes),
        ".{0,40}".prop_map(Owned::Text),
        any::<bool>().prop_map(Owned::Bool),
        Just(Owned::Null),
    ];
    leaf.prop_recursive(3, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Owned::Array),
            prop::collection::btree_map(any::<i64>(), inner.clone(), 0..4)
                .prop_map(|members| Owned::Map(members.into_iter().collect())),
            (any::<u64>(), inner).prop_map(|(tag, item)| Owned::Tag(tag, Box::new(item))),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read(owned in owned()) {
        let bytes = owned.item().to_bytes();
        // A map is read in the order in which it is written.
        prop_assert_eq!(Item::read(&bytes).map(|item| item.to_bytes()), Some(bytes.clone()));
        prop_assert_eq!(Item::read(bytes.get(..bytes.len() - 1).unwrap()), None);
    }

    #[test]
    fn what_is_read_has_one_form(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        if let Some(item) = Item::read(&bytes) {
            prop_assert_eq!(item.to_bytes(), bytes);
        }
    }
}
