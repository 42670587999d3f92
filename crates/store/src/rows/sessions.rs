//! Guarded sessions: what passed in each of them, as a chain of signed entries, and the pinned definitions of tools.

use std::ops::ControlFlow;

use proofmark_receipt::{ChainEnd, ChainTip, Link, Object, ReceiptId, Sha256Digest, SignError};

use crate::engine::db::Db;
use crate::error::StoreError;
use crate::fault::Fault;
use crate::group::settle::{Chain, Draft, End, Facts, Key, Settle, Stop};
use crate::group::signing;
use crate::insert::{Insert, Set};
use crate::rows::page::{self, Cursor, MAX_PAGE};
use crate::statement::row;
use crate::tables::{PINS, SESSION_ENTRIES};
use crate::tenant::Tenant;
use crate::value::values;

/// Links an entry to the tip of its session (`None`: it is the first) and signs it. It runs in the store's writer, and is
/// called again as [`crate::SignReceipt`] is.
pub type SignEntry = Box<dyn Fn(ChainEnd<'_>) -> Result<Object, SignError> + Send>;

/// Entries to append to a session, in order.
pub struct NewEntries {
    pub session: String,
    /// The end that the session has to have: refused where it has another one.
    pub after: After,
    pub entries: Vec<NewEntry>,
}

/// What entries are appended to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum After {
    /// Whatever the session has.
    Any,
    /// This entry, which is its last; `None` for a session that has none.
    Entry(Option<ChainTip>),
}

/// One entry of a session.
pub struct NewEntry {
    pub id: ReceiptId,
    /// What it is an entry of: `decided`, `result`, ….
    pub kind: &'static str,
    /// The decision that it is about.
    pub decision_id: Option<String>,
    pub sign: SignEntry,
}

/// A stored entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionEntry {
    pub kind: String,
    pub decision_id: Option<String>,
    /// When it was stored, in milliseconds after 1970-01-01T00:00:00Z.
    pub at: i64,
    /// The signed entry, as JSON.
    pub document: String,
}

/// A session, for lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSession {
    pub session: String,
    /// In milliseconds after 1970-01-01T00:00:00Z.
    pub begun_at: i64,
    /// When its last entry was stored.
    pub last_at: i64,
    pub entries: u64,
}

/// Some sessions, those begun last first.
#[derive(Clone, Debug, PartialEq)]
pub struct Sessions {
    pub sessions: Vec<StoredSession>,
    /// Where the next page begins; none when this is the last.
    pub next: Option<Cursor>,
}

/// A pinned definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPin {
    /// The identity of the server.
    pub server: String,
    /// What it is the definition of: the name of a tool, or another name that says of what.
    pub tool: String,
    /// The account whose server has listed it; empty where that is not known, and where a person approved it: then it is of the tenant.
    pub account: String,
    /// SHA-256 of the definition in canonical form.
    pub definition: Sha256Digest,
    /// The definition, as JSON.
    pub document: String,
    /// Whether a person approved it.
    pub is_approved: bool,
    /// Why it waits for approval; none where it is pinned.
    pub waits: Option<String>,
}

static ENTRY: Insert = Insert::into(&SESSION_ENTRIES);
static PIN: Insert = Insert::or_change(
    &PINS,
    &[
        Set::Replace("is_approved"),
        Set::Replace("definition"),
        Set::Replace("document"),
        Set::Replace("waits"),
        Set::Replace("listed_at"),
    ],
);

impl NewEntries {
    fn place(&self, tenant: &Tenant) -> Chain {
        Chain::Session(tenant.clone(), self.session.clone())
    }
}

impl Settle for NewEntries {
    fn keys(&self, tenant: &Tenant) -> Vec<Key> {
        // Not for what is stored, which the end of the chain tells: so that those with `after` keep their order.
        vec![Key::new("session", &[tenant.as_str(), &self.session])]
    }

    fn chain(&self, tenant: &Tenant) -> Option<Chain> {
        Some(self.place(tenant))
    }

    /// Links the entries, each to the one before it, and signs them.
    fn settle(&mut self, _: &mut Facts<'_>, draft: &mut Draft<'_>) -> Result<(), Stop> {
        let chain = self.place(draft.tenant);
        let mut end = draft.end(&chain);
        // The caller decided by the entries that it had read; with another one among them it might have decided otherwise. Not only
        // their number counts: what is signed next pins the last one.
        if matches!(&self.after, After::Entry(after) if *after != end.tip) {
            return Err(StoreError::SessionMoved(self.session.clone()).into());
        }
        let name = chain.to_string();
        for entry in &mut self.entries {
            let object = signing::call(&name, || (entry.sign)(end.link()))?;
            let Some(own) = (Link { id: entry.id, document: &object }).follows(end.link()) else {
                return Err(StoreError::NotLinked(name).into());
            };
            let row = row!(SESSION_ENTRIES {
                sequence: draft.number(&SESSION_ENTRIES),
                tenant: draft.tenant.as_str(),
                session: &self.session,
                position: own.position.cast_signed(),
                entry_id: entry.id.to_string(),
                kind: entry.kind,
                decision_id: &entry.decision_id,
                stored_at: draft.now,
                hash: own.hash.as_bytes(),
                document: object.to_text(),
            });
            draft.insert(&ENTRY, row);
            end = End { tip: Some(own), ..End::default() };
        }
        draft.move_end(chain, end);
        Ok(())
    }
}

impl Settle for StoredPin {
    fn keys(&self, tenant: &Tenant) -> Vec<Key> {
        vec![Key::new("pin", &[tenant.as_str(), &self.server, &self.tool])]
    }

    /// Stores it in place of the one of its account that is pinned, or of the one that waits. An approved one is in the place of all.
    fn settle(&mut self, _: &mut Facts<'_>, draft: &mut Draft<'_>) -> Result<(), Stop> {
        let tenant = draft.tenant.as_str();
        let row = row!(PINS {
            tenant: tenant,
            server: &self.server,
            tool: &self.tool,
            account: &self.account,
            is_pinned: self.waits.is_none(),
            is_approved: self.is_approved,
            definition: self.definition.as_bytes(),
            waits: &self.waits,
            listed_at: draft.now,
            document: &self.document,
        });
        draft.insert(&PIN, row);
        if self.is_approved && self.waits.is_none() {
            let sql = "DELETE FROM pins WHERE tenant = $1 AND server = $2 AND tool = $3 AND NOT is_approved";
            draft.run(sql, values![tenant, &self.server, &self.tool]);
        } else if self.waits.is_none() {
            // What waited is pinned now, or is not what the server lists any more.
            let sql = "DELETE FROM pins
                       WHERE tenant = $1 AND server = $2 AND tool = $3 AND account = $4 AND NOT is_pinned";
            draft.run(sql, values![tenant, &self.server, &self.tool, &self.account]);
        }
        Ok(())
    }
}

/// The last entry of a session.
fn tip(db: &Db<'_>, tenant: &Tenant, session: &str) -> Result<Option<ChainTip>, Fault> {
    let sql = "SELECT entry_id, hash, position FROM session_entries WHERE tenant = $1 AND session = $2
               ORDER BY position DESC LIMIT 1";
    db.one(sql, &values![tenant.as_str(), session], |row| {
        let receipt_id = row.text(0)?.parse().map_err(|error| Fault::changed(0, error))?;
        Ok(ChainTip { receipt_id, hash: Sha256Digest::from_bytes(row.get(1)?), position: row.get(2)? })
    })
}

/// The entries of a session from this position on, first to last.
pub(crate) fn entries(
    db: &Db<'_>,
    tenant: &Tenant,
    session: &str,
    position: u64,
    limit: usize,
) -> Result<Vec<SessionEntry>, Fault> {
    let sql = "SELECT kind, decision_id, stored_at, document FROM session_entries
               WHERE tenant = $1 AND session = $2 AND position >= $3 ORDER BY position LIMIT $4";
    db.all(sql, &values![tenant.as_str(), session, position, limit.clamp(1, MAX_PAGE)], |row| {
        Ok(SessionEntry { kind: row.get(0)?, decision_id: row.get(1)?, at: row.get(2)?, document: row.get(3)? })
    })
}

/// The session in which a decision was made.
pub(crate) fn of_decision(db: &Db<'_>, tenant: &Tenant, decision_id: &str) -> Result<Option<String>, Fault> {
    let sql = "SELECT session FROM session_entries WHERE tenant = $1 AND decision_id = $2 ORDER BY sequence LIMIT 1";
    db.value(sql, &values![tenant.as_str(), decision_id])
}

/// Hands over the documents of a session's entries from this position on, first to last; its last entry, as the columns beside the
/// documents have it.
pub(crate) fn since(
    db: &Db<'_>,
    tenant: &Tenant,
    session: &str,
    position: u64,
    take: &mut dyn FnMut(&str) -> ControlFlow<()>,
) -> Result<Option<ChainTip>, Fault> {
    // First: what is appended meanwhile is left for the next time.
    let tip = tip(db, tenant, session)?;
    let count = tip.as_ref().map_or(0, |tip| tip.position.saturating_add(1));
    let sql = "SELECT document FROM session_entries
               WHERE tenant = $1 AND session = $2 AND position >= $3 AND position < $4 ORDER BY position";
    db.each(sql, &values![tenant.as_str(), session, position, count], |row| Ok(take(row.text(0)?)))?;
    Ok(tip)
}

/// Sessions, those begun last first. The first entry of each is found by an index of its own.
pub(crate) fn sessions(db: &Db<'_>, tenant: &Tenant, limit: usize, after: Option<Cursor>) -> Result<Sessions, Fault> {
    let limit = limit.clamp(1, MAX_PAGE);
    let sql = "SELECT sequence, session, stored_at,
                      (SELECT stored_at FROM session_entries AS last
                       WHERE last.tenant = first.tenant AND last.session = first.session ORDER BY position DESC LIMIT 1),
                      (SELECT max(position) + 1 FROM session_entries AS last
                       WHERE last.tenant = first.tenant AND last.session = first.session)
               FROM session_entries AS first
               WHERE tenant = $1 AND position = 0 AND sequence < $2 ORDER BY sequence DESC LIMIT $3";
    let before = after.map_or(i64::MAX, |after| after.0);
    let found = db.all(sql, &values![tenant.as_str(), before, page::one_more(limit)], |row| {
        let session =
            StoredSession { session: row.get(1)?, begun_at: row.get(2)?, last_at: row.get(3)?, entries: row.get(4)? };
        Ok((row.get(0)?, session))
    })?;
    let (sessions, next) = page::cut(found, limit);
    Ok(Sessions { sessions, next })
}

/// The definitions of all servers that are pinned or wait, by server and tool.
pub(crate) fn pins(db: &Db<'_>, tenant: &Tenant) -> Result<Vec<StoredPin>, Fault> {
    let sql = "SELECT server, tool, definition, document, waits, is_approved, account FROM pins WHERE tenant = $1
               ORDER BY server, tool, account, is_pinned DESC";
    db.all(sql, &values![tenant.as_str()], |row| {
        let definition = Sha256Digest::from_bytes(row.get(2)?);
        Ok(StoredPin {
            server: row.get(0)?,
            tool: row.get(1)?,
            definition,
            document: row.get(3)?,
            is_approved: row.get(5)?,
            waits: row.get(4)?,
            account: row.get(6)?,
        })
    })
}
