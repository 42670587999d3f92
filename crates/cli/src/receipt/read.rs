//! Signed documents from files, standard input and the store: receipts and decision receipts.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::iter;
use std::path::Path;

use anyhow::{Context, anyhow};
use proofmark_boundary::DecisionReceipt;
use proofmark_receipt::document::Format;
use proofmark_receipt::json::{JsonErrorKind, MAX_BYTES};
use proofmark_receipt::{Json, Receipt};
use proofmark_store::Store;

use crate::config::Config;
use crate::error::with_help;
use crate::input;
use crate::options::StoreAt;
use crate::out;
use crate::source::{STDIN, Source};

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

/// Documents, each read when the iterator reaches it.
pub(crate) type Texts = Box<dyn Iterator<Item = anyhow::Result<Text>>>;

/// The documents of a file with one document or one per line, of an id in the store, or of standard input (`-`).
pub(crate) fn texts(argument: &str, store: &StoreAt, config: &Config) -> anyhow::Result<Vec<Text>> {
    each_text(argument, store, config)?.collect()
}

/// The receipts that `argument` names, as [`texts`] finds them.
pub(crate) fn receipts(argument: &str, store: &StoreAt, config: &Config) -> anyhow::Result<Vec<Receipt>> {
    texts(argument, store, config)?.iter().map(receipt).collect()
}

/// As [`texts`], one after another. What cannot be opened is an error at once.
pub(crate) fn each_text(argument: &str, store: &StoreAt, config: &Config) -> anyhow::Result<Texts> {
    if argument == "-" {
        // Not before it is reached: what comes before it may be standard input as well.
        let read = || match each_of(STDIN.to_owned(), "read standard input".to_owned(), BufReader::new(io::stdin())) {
            Ok(texts) => texts,
            Err(error) => Box::new(iter::once(Err(error))),
        };
        return Ok(Box::new(iter::once_with(read).flatten()));
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
        let reads = format!("read `{argument}`");
        let file = File::open(path).with_context(|| reads.clone())?;
        return each_of(argument.to_owned(), reads, BufReader::new(file));
    }
    let document = stored(argument, store, config)?;
    Ok(Box::new(iter::once(Ok(Text { label: document.id(), bytes: document.to_text().into_bytes() }))))
}

/// The documents in what `from` reads; `reads` says what that is in an error.
fn each_of(label: String, reads: String, mut from: impl BufRead + 'static) -> anyhow::Result<Texts> {
    let mut start = Vec::new();
    from.by_ref().take(MAX_BYTES as u64 + 1).read_to_end(&mut start).with_context(|| reads.clone())?;
    // No receipt is larger than `MAX_BYTES`, so more than that are several.
    if start.len() <= MAX_BYTES {
        return Ok(Box::new(split(&label, start).into_iter().map(Ok)));
    }
    let left = MAX_FILE_BYTES.saturating_sub(start.len() as u64);
    // One byte more shows an excess.
    let from = Cursor::new(start).chain(from.take(left + 1));
    Ok(Box::new(Lines { from, label, reads, line: 0, read: 0, ended: false }))
}

/// The lines of a file or of standard input, of which one is in memory at a time.
struct Lines<R> {
    from: R,
    label: String,
    reads: String,
    /// The number of the line read last.
    line: usize,
    /// How many bytes were read.
    read: u64,
    ended: bool,
}

impl<R: BufRead> Lines<R> {
    /// The next line; none at the end.
    fn read(&mut self) -> anyhow::Result<Option<Vec<u8>>> {
        let mut bytes = Vec::new();
        // The most that a receipt may have, a line break, and one byte more, which shows an excess.
        self.read += self.from.by_ref().take(MAX_BYTES as u64 + 2).read_until(b'\n', &mut bytes)? as u64;
        if !bytes.ends_with(b"\n") {
            // The rest of a line that is too long: whatever it holds, the line is not a receipt.
            self.read += self.from.skip_until(b'\n')? as u64;
        }
        if self.read > MAX_FILE_BYTES {
            return Err(input::too_large(MAX_FILE_BYTES));
        }
        self.line += 1;
        Ok((!bytes.is_empty()).then_some(bytes))
    }
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = anyhow::Result<Text>;

    fn next(&mut self) -> Option<anyhow::Result<Text>> {
        while !self.ended {
            match self.read().with_context(|| self.reads.clone()) {
                Ok(Some(mut bytes)) => {
                    if bytes.ends_with(b"\n") {
                        bytes.pop();
                    }
                    // A line that is too long has a rest, which may be more than space.
                    if bytes.len() > MAX_BYTES || !bytes.trim_ascii().is_empty() {
                        return Some(Ok(Text { label: format!("{}:{}", self.label, self.line), bytes }));
                    }
                }
                Ok(None) => self.ended = true,
                Err(error) => {
                    self.ended = true;
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

/// The receipt in a text.
pub(crate) fn receipt(text: &Text) -> anyhow::Result<Receipt> {
    let source = Source { label: &text.label, line: 1, text: &text.bytes, format: Format::Json };
    Receipt::parse(&text.bytes).map_err(|error| source.error("read the receipt", &error))
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
            "list them with `proofmark receipt list` and `proofmark decision list`",
        )),
        (receipts, decisions) => Err(with_help(
            format!("find `{prefix}`: {} ids begin with these digits", receipts.len() + decisions.len()),
            "write more digits",
        )),
    }
}

/// The id of the stored decision that `argument` names, whether or not that can be read; none where it names something else.
pub(crate) fn stored_decision_id(argument: &str, store: &StoreAt, config: &Config) -> anyhow::Result<Option<String>> {
    if Path::new(argument).exists() || !is_id(argument) {
        return Ok(None);
    }
    let store = store.open_existing(config)?;
    let (receipts, decisions) = (store.all_tenants_find(argument)?, store.all_tenants_find_decisions(argument)?);
    Ok(<[String; 1]>::try_from(decisions).ok().filter(|_| receipts.is_empty()).map(|[id]| id))
}

fn stored_decision(store: &Store, id: &str) -> anyhow::Result<DecisionReceipt> {
    let (_, decision) = store.all_tenants_decision(id)?.ok_or_else(|| removed(id))?;
    DecisionReceipt::parse(decision.document.as_bytes()).with_context(|| format!("read the stored decision `{id}`"))
}

fn removed(id: &str) -> anyhow::Error {
    anyhow!("find `{id}`: it was removed from the store meanwhile")
}

/// Whether the text names a document of the store, and no file.
pub(crate) fn is_stored(text: &str) -> bool {
    is_id(text) && !Path::new(text).exists()
}

/// Whether the text can be an id, or the beginning of one.
fn is_id(text: &str) -> bool {
    text.len() >= MIN_PREFIX && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// One document, or one per line where there are several.
fn split(label: &str, bytes: Vec<u8>) -> Vec<Text> {
    let whole = Json::parse(&bytes);
    // With any other error it stays whole, and that error is reported.
    let several = matches!(whole, Err(error) if error.kind == JsonErrorKind::TrailingData);
    if !several {
        return vec![Text { label: label.to_owned(), bytes }];
    }
    let lines = bytes.split(|byte| *byte == b'\n').enumerate();
    lines
        .filter(|(_, line)| !line.trim_ascii().is_empty())
        .map(|(index, line)| Text { label: format!("{label}:{}", index + 1), bytes: line.to_vec() })
        .collect()
}
