//! Receipts from files, standard input and the store.

use std::path::Path;

use anyhow::{anyhow, bail};
use proofmark_receipt::json::{JsonErrorKind, MAX_BYTES};
use proofmark_receipt::{Json, Receipt};

use crate::config::Config;
use crate::input;

/// The largest file of receipts read, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// The fewest digits of an id that find a receipt.
const MIN_PREFIX: usize = 4;

/// One receipt's bytes and what to call it.
pub(crate) struct Text {
    pub(crate) label: String,
    pub(crate) bytes: Vec<u8>,
}

/// The receipts that `argument` stands for: a file of one or of one a line, an id in the store, or `-`.
pub(crate) fn texts(argument: &str, store: Option<&Path>, config: &Config) -> anyhow::Result<Vec<Text>> {
    if argument == "-" {
        return Ok(split("standard input", input::read_stdin(MAX_FILE_BYTES)?));
    }
    let path = Path::new(argument);
    if path.exists() || !is_id(argument) {
        return Ok(split(argument, input::read_limited(path, MAX_FILE_BYTES)?));
    }
    let receipt = stored(argument, store, config)?;
    Ok(vec![Text { label: receipt.receipt_id().to_string(), bytes: receipt.to_text().into_bytes() }])
}

/// The one stored receipt whose id begins like this.
pub(crate) fn stored(prefix: &str, path: Option<&Path>, config: &Config) -> anyhow::Result<Receipt> {
    let store = config.existing_store(path)?;
    let found = store.all_tenants_find(prefix)?;
    match found.as_slice() {
        [id] => {
            let gone = || anyhow!("find receipt `{prefix}`: it is gone from the store");
            let kept = store.all_tenants_receipt(id)?.ok_or_else(gone)?;
            if kept.others > 0 {
                let issuers = "that of the command line, or else one issued here, is taken";
                crate::out::say(format_args!("{} more receipts in the store have the id {id}: {issuers}", kept.others));
            }
            Ok(kept.receipt)
        }
        [] => bail!(
            "find receipt `{prefix}`: neither a file nor in the store; list what is there with `proofmark receipt list`"
        ),
        several => bail!("find receipt `{prefix}`: {} receipts begin like this; give more digits", several.len()),
    }
}

/// Whether the text can only be an id, or the beginning of one.
fn is_id(text: &str) -> bool {
    text.len() >= MIN_PREFIX && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// One document, or one a line where there is more than one.
fn split(label: &str, bytes: Vec<u8>) -> Vec<Text> {
    let whole = Json::parse(&bytes);
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
