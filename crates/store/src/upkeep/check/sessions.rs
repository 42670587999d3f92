//! Guarded sessions: each is a chain of entries.

use proofmark_receipt::json::{Json, Limits, MAX_DEPTH};
use proofmark_receipt::{ChainTip, Link, Sha256Digest};

use super::scan::Scan;
use super::{Check, StoredDocument};
use crate::engine::db::Db;
use crate::fault::Fault;
use crate::row::Row;

const TABLE: &str = "session_entries";

struct State<'c, 'a> {
    check: &'c mut Check<'a>,
    /// The session that is being read, and its last entry.
    before: Option<((String, String), ChainTip)>,
}

pub(super) fn check(db: &Db<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
    let scan = Scan {
        table: TABLE,
        key: &["tenant", "session", "position"],
        columns: "entry_id, hash, document, kind, decision_id",
        condition: "position IS NOT NULL",
    };
    let mut state = State { check, before: None };
    scan.each(db, &mut state, State::entry, |state, done| {
        state.check.progress(TABLE, done);
        Ok(())
    })
}

impl State<'_, '_> {
    fn entry(&mut self, row: &Row<'_>) -> Result<(), Fault> {
        let session: (String, String) = (row.get(0)?, row.get(1)?);
        let (position, stored): (u64, [u8; 32]) = (row.get(2)?, row.get(4)?);
        let (id, text) = (row.text(3)?, row.text(5)?);
        self.check.checked.entries += 1;
        // Sessions follow each other by the key, so one that is another than before begins here.
        let same = self.before.take().filter(|(earlier, _)| *earlier == session).map(|(_, tip)| tip);
        if same.is_none() {
            self.check.checked.sessions += 1;
        }
        let at = id.to_owned();
        let Ok(receipt_id) = id.parse() else {
            self.check.wrong("column", TABLE, at, "invalid id");
            return Ok(());
        };
        let tip = ChainTip { receipt_id, hash: Sha256Digest::from_bytes(stored), position };
        let due = same.as_ref().map_or(0, |tip| tip.position.saturating_add(1));
        // As long as it was stored: what a reader would refuse to read is verified all the same.
        let limits = Limits { max_bytes: text.len(), max_depth: MAX_DEPTH, max_nodes: usize::MAX };
        match Json::parse_with(text.as_bytes(), limits) {
            Ok(Json::Object(document)) => {
                if Sha256Digest::of(&document.canonical_vrf()) != tip.hash {
                    self.check.wrong("changed", TABLE, at.clone(), "the document was changed after it was stored");
                }
                if position != due {
                    let detail = format!("position {position} of the session follows where {due} is due");
                    self.check.wrong("gap", TABLE, at, detail);
                } else if (Link { id: receipt_id, document: &document }).follows(same.as_ref()).is_none() {
                    self.check.wrong("link", TABLE, at, "it is not linked to the entry before it");
                }
                let (kind, decision_id) = (row.text(6)?, row.get::<Option<String>>(7)?);
                let decision_id = decision_id.as_deref();
                let entry = StoredDocument::Entry { id, session: &session.1, kind, decision_id, document: text };
                self.check.judge(TABLE, id, entry);
            }
            Ok(_) => self.check.wrong("unreadable", TABLE, at, "it is not an object"),
            Err(error) => self.check.wrong("unreadable", TABLE, at, error),
        }
        self.before = Some((session, tip));
        Ok(())
    }
}
