//! Records that one process keeps and another sends.

use std::fmt::Display;
use std::sync::mpsc::Receiver;

use serde_json::{Value, json};

use super::{Kind, Message, OtlpEndpoint, post, record};

/// The longest spool, in bytes: as much as a pipe takes without a reader.
const MAX_SPOOL: usize = 60 << 10;

/// Records that are kept in memory.
#[derive(Debug)]
pub struct Kept(pub(super) Receiver<Message>);

/// Records on their way from one process to another, as a text.
#[derive(Debug)]
pub struct Spool(Vec<(Kind, Value)>);

/// Why a spool was not sent, completing "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    #[error("read the records: they are not what another process has kept")]
    Unreadable,
    #[error("export to `{endpoint}`: {cause}")]
    Send { endpoint: String, cause: String },
}

impl Kept {
    /// What is kept, as text of bounded length: what is too long is left out. `None` where there is nothing.
    #[must_use]
    pub fn into_text(self) -> Option<String> {
        let mut lines = String::new();
        for message in self.0.try_iter() {
            let Message::Record(kind, record) = message else { continue };
            let word = if kind == Kind::Span { "span" } else { "log" };
            let line = json!({ word: record }).to_string();
            if lines.len() + line.len() < MAX_SPOOL {
                lines.push_str(&line);
                lines.push('\n');
            }
        }
        (!lines.is_empty()).then_some(lines)
    }
}

impl Spool {
    /// The longest text, in bytes.
    pub const MAX_BYTES: usize = MAX_SPOOL;

    /// Reads what another process has kept.
    ///
    /// # Errors
    /// [`SpoolError::Unreadable`].
    pub fn read(text: &str) -> Result<Self, SpoolError> {
        let read = |line: &str| {
            let Value::Object(mut line) = serde_json::from_str(line).ok()? else { return None };
            let span = line.remove("span").map(|record| (Kind::Span, record));
            span.or_else(|| Some((Kind::Log, line.remove("log")?)))
        };
        let records: Option<Vec<_>> = text.lines().map(read).collect();
        records.map(Self).ok_or(SpoolError::Unreadable)
    }

    /// Sends them, once.
    ///
    /// # Errors
    /// [`SpoolError::Send`]: the rest is lost.
    pub fn send(self, endpoint: &OtlpEndpoint) -> Result<(), SpoolError> {
        let failed =
            |cause: &dyn Display| SpoolError::Send { endpoint: endpoint.as_str().to_owned(), cause: cause.to_string() };
        for kind in [Kind::Span, Kind::Log] {
            let records: Vec<Value> =
                self.0.iter().filter(|(of, _)| *of == kind).map(|(_, record)| record.clone()).collect();
            if !records.is_empty() {
                let (path, message) = record::message(kind, &records);
                post::post(endpoint, path, message.to_string().as_bytes()).map_err(|failure| failed(&failure.cause))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn what_is_kept_is_read_by_another() {
        let (send, receive) = mpsc::sync_channel(9);
        let kept = Kept(receive);
        send.send(Message::Record(Kind::Span, json!({ "name": "a\nb" }))).unwrap();
        send.send(Message::Record(Kind::Log, json!({ "body": "x".repeat(MAX_SPOOL) }))).unwrap();
        send.send(Message::Record(Kind::Log, json!({ "body": "short" }))).unwrap();
        let text = kept.into_text().unwrap();
        assert!(text.len() < MAX_SPOOL);
        let spool = Spool::read(&text).unwrap();
        assert_eq!(spool.0, [(Kind::Span, json!({ "name": "a\nb" })), (Kind::Log, json!({ "body": "short" }))]);
    }

    #[test]
    fn what_nobody_has_kept_is_refused() {
        for text in ["x", "{}", "[]", "{\"span\":{}}\nx"] {
            assert!(matches!(Spool::read(text), Err(SpoolError::Unreadable)), "{text}");
        }
        assert!(Spool::read("").unwrap().0.is_empty());
        assert!(Kept(mpsc::sync_channel(1).1).into_text().is_none());
    }
}
