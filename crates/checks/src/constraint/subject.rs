//! The submission's text, and what can be read out of it.

use std::cell::OnceCell;

use proofmark_predicate::{self as predicate, Budget};
use proofmark_receipt::document::{self, DocumentError, Format, MAX_DOCUMENT_NODES};
use proofmark_receipt::json::{Json, JsonError, Limits};

use super::error::TooMuch;
use crate::caps::{MAX_REQUEST_BYTES, MAX_REQUEST_DEPTH};

/// How many times the steps of its bytes reading a text as JSON counts as, with the forms it is turned into.
const JSON_WEIGHT: usize = 4;
/// The same for YAML.
const YAML_WEIGHT: usize = 16;

/// A text under constraints. What is read out of it is read once, and only where a constraint asks for it.
pub(super) struct Subject<'a> {
    pub(super) text: &'a str,
    /// What all constraints may take together.
    pub(super) budget: &'a Budget<'a>,
    json: OnceCell<Result<Json, JsonError>>,
    yaml: OnceCell<Result<(), DocumentError>>,
    tree: OnceCell<Option<serde_json::Value>>,
    facts: OnceCell<predicate::Value>,
}

impl<'a> Subject<'a> {
    pub(super) fn new(text: &'a str, budget: &'a Budget<'a>) -> Subject<'a> {
        let (json, yaml, tree, facts) = (OnceCell::new(), OnceCell::new(), OnceCell::new(), OnceCell::new());
        Subject { text, budget, json, yaml, tree, facts }
    }

    /// Pays for reading the text as JSON, if that was not done yet.
    pub(super) fn pay_for_json(&self) -> Result<(), TooMuch> {
        let is_read = self.json.get().is_some();
        Ok(self.budget.charge_bytes(if is_read { 0 } else { self.text.len().saturating_mul(JSON_WEIGHT) })?)
    }

    /// Whether the text is YAML.
    pub(super) fn yaml(&self) -> Result<&Result<(), DocumentError>, TooMuch> {
        if self.yaml.get().is_none() {
            self.budget.charge_bytes(self.text.len().saturating_mul(YAML_WEIGHT))?;
        }
        self.budget.charge(1)?;
        Ok(self.yaml.get_or_init(|| document::parse(self.text.as_bytes(), Format::Yaml).map(|_| ())))
    }

    pub(super) fn json(&self) -> Result<&Json, &JsonError> {
        let limits =
            Limits { max_bytes: MAX_REQUEST_BYTES, max_depth: MAX_REQUEST_DEPTH, max_nodes: MAX_DOCUMENT_NODES };
        self.json.get_or_init(|| Json::parse_with(self.text.as_bytes(), limits)).as_ref()
    }

    /// The same as `serde_json` has it, for schemas and paths; `None` where a number does not fit a double.
    pub(super) fn tree(&self) -> Option<&serde_json::Value> {
        self.tree.get_or_init(|| self.json().ok().and_then(tree)).as_ref()
    }

    /// What a predicate sees: `text`, and `output` where the text is JSON.
    pub(super) fn facts(&self) -> &predicate::Value {
        self.facts.get_or_init(|| {
            let output = self.json().ok().map(|json| ("output", fact(json)));
            [("text", self.text.into())].into_iter().chain(output).collect()
        })
    }
}

/// A JSON value as predicates see it. A number past what they compute with is its text, which equals no number.
pub(super) fn fact(json: &Json) -> predicate::Value {
    match json {
        Json::Null => predicate::Value::Null,
        Json::Bool(truth) => (*truth).into(),
        Json::Number(number) => predicate::Value::number(number.as_str()).unwrap_or_else(|_| number.as_str().into()),
        Json::String(text) => text.as_str().into(),
        Json::Array(items) => items.iter().map(fact).collect(),
        Json::Object(object) => object.iter().map(|(name, value)| (name, fact(value))).collect(),
    }
}

/// The same value in serde's tree; `None` where it holds a number past every double.
pub(super) fn tree(json: &Json) -> Option<serde_json::Value> {
    Some(match json {
        Json::Null => serde_json::Value::Null,
        Json::Bool(truth) => (*truth).into(),
        Json::Number(number) => number
            // Integers are tried first: as doubles they would lose digits past 2^53.
            .as_i64()
            .map(serde_json::Value::from)
            .or_else(|| number.as_u64().map(serde_json::Value::from))
            .or_else(|| number.as_f64().filter(|double| double.is_finite()).map(serde_json::Value::from))?,
        Json::String(text) => text.as_str().into(),
        Json::Array(items) => serde_json::Value::Array(items.iter().map(tree).collect::<Option<_>>()?),
        Json::Object(object) => serde_json::Value::Object(
            object.iter().map(|(name, value)| Some((name.to_owned(), tree(value)?))).collect::<Option<_>>()?,
        ),
    })
}
