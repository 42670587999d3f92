//! Receipts from files, standard input and the store.

use std::path::Path;

use anyhow::anyhow;
use proofmark_receipt::json::{JsonErrorKind, MAX_BYTES};
use proofmark_receipt::{Json, Receipt};

use crate::config::Config;
use crate::error::with_help;
use crate::input;
use crate::options::StoreAt;
use crate::out;

/// The largest file of receipts, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// The fewest digits of an id that can identify a receipt.
const MIN_PREFIX: usize = 4;

/// The bytes of one receipt, and its name in messages.
pub(crate) struct Text {
    pub(crate) label: String,
    pub(crate) bytes: Vec<u8>,
}

/// The receipts of a file with one receipt or one per line, of an id in the store, or of standard input (`-`).
pub(crate) fn texts(argument: &str, store: &StoreAt, config: &Config) -> anyhow::Result<Vec<Text>> {
    if argument == "-" {
        return Ok(split("standard input", input::read_stdin(MAX_FILE_BYTES)?));
    }
    // A file wins over an id with the same spelling, so that a file is never silently replaced by a stored receipt.
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
    let receipt = stored(argument, store, config)?;
    Ok(vec![Text { label: receipt.receipt_id().to_string(), bytes: receipt.to_text().into_bytes() }])
}

/// The stored receipt whose id begins with `prefix`.
pub(crate) fn stored(prefix: &str, store: &StoreAt, config: &Config) -> anyhow::Result<Receipt> {
    let store = store.open_existing(config)?;
    let found = store.all_tenants_find(prefix)?;
    match found.as_slice() {
        [id] => {
            let removed = || anyhow!("find receipt `{prefix}`: it was removed from the store meanwhile");
            let stored = store.all_tenants_receipt(id)?.ok_or_else(removed)?;
            if stored.others > 0 {
                let chosen = "the one of the command line, or else one issued here, is used";
                out::note(format_args!("{} more receipts in the store have the id {id}: {chosen}", stored.others));
            }
            Ok(stored.receipt)
        }
        [] => Err(with_help(
            format!("find receipt `{prefix}`: neither a file nor in the store"),
            "list the stored receipts with `proofmark receipt list`",
        )),
        several => Err(with_help(
            format!("find receipt `{prefix}`: {} ids begin with these digits", several.len()),
            "write more digits",
        )),
    }
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
