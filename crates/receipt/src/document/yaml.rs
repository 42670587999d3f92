//! YAML documents, turned into the JSON they stand for, so that there is one reader.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_saphyr::options::{DuplicateKeyPolicy, MergeKeyPolicy};
use serde_saphyr::{Error, Options};

use super::error::{Cause, DocumentError, Place};
use super::fields::shown;
use super::{MAX_DOCUMENT_BYTES, MAX_DOCUMENT_DEPTH};
use crate::json::{Json, Number, Object};

/// Integers past this are read as doubles by the YAML library, and may have lost digits on the way.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// How many nodes a document may have.
const MAX_NODES: usize = 250_000;

/// How many nodes all aliases together may stand for.
const MAX_ALIASED_NODES: usize = 100_000;

/// How many comparisons the keys of all mappings together may take; an object looks its keys up one by one.
const MAX_KEY_COMPARISONS: usize = 50_000_000;

/// Reads a YAML document: no duplicate keys, no merge keys, no tags, one document, and `yes` or `no` in quotes.
pub(super) fn parse(bytes: &[u8]) -> Result<Json, DocumentError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let message = format!("byte {} is no UTF-8; save the file as UTF-8", error.valid_up_to());
        DocumentError::new(Place::Whole, Cause::InvalidYaml, message)
    })?;
    let strict = read(text, true)?;
    // YAML 1.1 reads `yes` as a boolean, YAML 1.2 as a string: what both do not read alike is not accepted.
    match two_faced(&strict, &read(text, false)?) {
        None => Ok(strict),
        Some(word) => Err(DocumentError::new(
            Place::Whole,
            Cause::InvalidYaml,
            format!("`{}` is a boolean to some YAML readers; write it in quotes, or `true` or `false`", shown(&word)),
        )),
    }
}

fn read(text: &str, strict_booleans: bool) -> Result<Json, DocumentError> {
    // Aliases may repeat long strings; together they may not be longer than a document.
    let budget = Budget { bytes: Cell::new(MAX_DOCUMENT_BYTES), comparisons: Cell::new(MAX_KEY_COMPARISONS) };
    let options = options(strict_booleans);
    let read =
        serde_saphyr::with_deserializer_from_str_with_options(text, options, |yaml| Node(&budget).deserialize(yaml));
    read.map_err(|error| refusal(&error))
}

/// The first word that is a string in one reading and a boolean in the other.
fn two_faced(strict: &Json, loose: &Json) -> Option<String> {
    match (strict, loose) {
        (Json::String(word), Json::Bool(_)) => Some(word.clone()),
        (Json::Array(strict), Json::Array(loose)) => {
            strict.iter().zip(loose).find_map(|(strict, loose)| two_faced(strict, loose))
        }
        (Json::Object(strict), Json::Object(loose)) => {
            strict.iter().zip(loose.iter()).find_map(|((_, strict), (_, loose))| two_faced(strict, loose))
        }
        _ => None,
    }
}

pub(super) fn options(strict_booleans: bool) -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: MAX_DOCUMENT_DEPTH, max_documents: 1, max_nodes: MAX_NODES },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: MAX_ALIASED_NODES },
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::Error,
        strict_booleans: strict_booleans,
        reject_unsupported_tags: true,
        with_snippet: false,
    }
}

fn refusal(error: &Error) -> DocumentError {
    let place = match error.location() {
        Some(location) if location.line() > 0 => Place::Text { line: location.line(), column: location.column() },
        Some(_) | None => Place::Whole,
    };
    DocumentError::new(place, Cause::InvalidYaml, format!("the text is no YAML that can be read: {error}"))
}

/// What is left to spend.
struct Budget {
    bytes: Cell<usize>,
    comparisons: Cell<usize>,
}

/// One node, on a budget.
#[derive(Clone, Copy)]
struct Node<'b>(&'b Budget);

fn spend(left: &Cell<usize>, cost: usize) -> Option<()> {
    left.set(left.get().checked_sub(cost)?);
    Some(())
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, yaml: D) -> Result<Json, D::Error> {
        yaml.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value that JSON can say")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Json, E> {
        Ok(Json::Bool(truth))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Json, E> {
        Ok(Json::from(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Json, E> {
        Ok(Json::from(number))
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Json, E> {
        if number.fract() == 0.0 && number.abs() >= MAX_EXACT {
            return Err(E::custom(
                "the number is too large to be read exactly; write it in quotes, or the document in JSON",
            ));
        }
        format!("{number:?}")
            .parse::<Number>()
            .map(Json::Number)
            .map_err(|_| E::custom("JSON has no such number; write another"))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Json, E> {
        let spent = spend(&self.0.bytes, text.len());
        spent.ok_or_else(|| E::custom("the aliases stand for more than a document may hold; write less of them"))?;
        Ok(Json::from(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            array.push(item);
        }
        Ok(Json::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Json, A::Error> {
        let mut object = Object::new();
        while let Some(key) = members.next_key_seed(self)? {
            let Json::String(key) = key else {
                return Err(A::Error::custom(format!("found {} as a key; write the key in quotes", key.type_name())));
            };
            let spent = spend(&self.0.comparisons, object.len());
            spent.ok_or_else(|| A::Error::custom("there are too many keys in one mapping; write it in JSON"))?;
            object.insert(key, members.next_value_seed(self)?);
        }
        Ok(Json::Object(object))
    }
}
