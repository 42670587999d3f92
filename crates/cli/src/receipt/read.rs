//! Signed documents from files, standard input and the store: receipts and decision receipts.

use std::path::Path;

use anyhow::{Context, anyhow};
use proofmark_boundary::DecisionReceipt;
use proofmark_receipt::document::Format;
use proofmark_receipt::json::{JsonErrorKind, MAX_BYTES};
use proofmark_receipt::{Json, Receipt};
use proofmark_verifier::Store;

use crate::config::Config;
use crate::error::with_help;
use crate::input;
use crate::options::StoreAt;
use crate::out;
use crate::source::Source;

/// The largest file of receipts, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// The fewest digits of an id that can identify a document.
const MIN_PREFIX: usize = 4;

/// The bytes of one document, and its name in messages.
pub(crate) struct Text {
    pub(crate) label: String,
    pub(crate) bytes: Vec<u8>,
}

/// A document in the store.
pub(crate) enum Stored {
    Receipt(Box<Receipt>),
    Decision(Box<DecisionReceipt>),
}

impl Stored {
    /// The document on one line.
    pub(crate) fn to_text(&self) -> String {
        match self {
            Stored::Receipt(receipt) => receipt.to_text(),
            Stored::Decision(decision) => decision.to_text(),
        }
    }

    fn id(&self) -> String {
        match self {
            Stored::Receipt(receipt) => receipt.receipt_id().to_string(),
            Stored::Decision(decision) => decision.decision_id().to_string(),
        }
    }
}

/// The documents of a file with one document or one per line, of an id in the store, or of standard input (`-`).
pub(crate) fn texts(argument: &str, store: &StoreAt, config: &Config) -> anyhow::Result<Vec<Text>> {
    if argument == "-" {
        return Ok(split("standard input", input::read_stdin(MAX_FILE_BYTES)?));
    }
    // A file wins over an id with the same spelling, so that a file is never silently replaced by a stored document.
    let path = Path::new(argument);
    let digits = argument.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    if !path.exists() && digits && !is_id(argument) {
        return Err(with_help(
            format!("find receipt `{argument}`: there is no such file, and an id needs {MIN_PREFIX} digits or more"),
            "list the stored receipts with `proofmark receipt list`",
        ));
    }
    if path.exists() || !is_id(argument) {
        return Ok(split(argument, input::read_limited(path, MAX_FILE_BYTES)?));
    }
    let document = stored(argument, store, config)?;
    Ok(vec![Text { label: document.id(), bytes: document.to_text().into_bytes() }])
}

/// The one decision receipt of a file, of an id in the store, or of standard input (`-`).
pub(crate) fn decision(argument: &str, store: &StoreAt, config: &Config) -> anyhow::Result<DecisionReceipt> {
    let texts = texts(argument, store, config)?;
    let [text] = texts.as_slice() else {
        let found = format!("read the decision receipt `{argument}`: it has {} documents", texts.len());
        return Err(with_help(found, "give one, or its id"));
    };
    let source = Source { label: &text.label, line: 1, text: &text.bytes, format: Format::Json };
    DecisionReceipt::parse(&text.bytes).map_err(|error| source.error("read the decision receipt", &error))
}

/// The stored receipt or decision whose id begins with `prefix`.
pub(crate) fn stored(prefix: &str, store: &StoreAt, config: &Config) -> anyhow::Result<Stored> {
    let store = store.open_existing(config)?;
    let (receipts, decisions) = (store.all_tenants_find(prefix)?, store.all_tenants_find_decisions(prefix)?);
    match (receipts.as_slice(), decisions.as_slice()) {
        ([id], []) => {
            let stored = store.all_tenants_receipt(id)?.ok_or_else(|| removed(prefix))?;
            if stored.others > 0 {
                let chosen = "the one of the command line, or else one issued here, is used";
                out::note(format_args!("{} more receipts in the store have the id {id}: {chosen}", stored.others));
            }
            Ok(Stored::Receipt(Box::new(stored.receipt)))
        }
        ([], [id]) => Ok(Stored::Decision(Box::new(stored_decision(&store, id)?))),
        ([], []) => Err(with_help(
            format!("find `{prefix}`: it is neither a file nor the id of a stored receipt or decision"),
            "list them with `proofmark receipt list` and `proofmark decisions list`",
        )),
        (receipts, decisions) => Err(with_help(
            format!("find `{prefix}`: {} ids begin with these digits", receipts.len() + decisions.len()),
            "write more digits",
        )),
    }
}

fn stored_decision(store: &Store, id: &str) -> anyhow::Result<DecisionReceipt> {
    let (_, decision) = store.all_tenants_decision(id)?.ok_or_else(|| removed(id))?;
    DecisionReceipt::parse(decision.document.as_bytes()).with_context(|| format!("read the stored decision `{id}`"))
}

fn removed(id: &str) -> anyhow::Error {
    anyhow!("find `{id}`: it was removed from the store meanwhile")
}

/// Whether the text can be an id, or the beginning of one.
fn is_id(text: &str) -> bool {
    text.len() >= MIN_PREFIX && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// One document, or one per line where there are several.
fn split(label: &str, bytes: Vec<u8>) -> Vec<Text> {
    let whole = Json::parse(&bytes);
    // No receipt is larger than `MAX_BYTES`. With any other error it stays whole, and that error is reported.
    let several = bytes.len() > MAX_BYTES || matches!(whole, Err(error) if error.kind == JsonErrorKind::TrailingData);
    if !several {
        return vec![Text { label: label.to_owned(), bytes }];
    }
    let lines = bytes.split(|byte| *byte == b'\n').enumerate();
    lines
        .filter(|(_, line)| !line.trim_ascii().is_empty())
        .map(|(index, line)| Text { label: format!("{label}:{}", index + 1), bytes: line.to_vec() })
        .collect()
}
