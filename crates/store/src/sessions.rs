//! Guarded sessions: what passed in each of them, as a chain of signed entries, and the pinned definitions of tools.

use proofmark_receipt::{ChainTip, Link, Object, ReceiptId, Sha256Digest, SignError};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::column;
use crate::error::StoreError;
use crate::page::{self, Cursor, MAX_PAGE};
use crate::scope::Scope;
use crate::signing;
use crate::tenant::Tenant;

/// Links an entry to the tip of its session (`None`: it is the first) and signs it. It runs in the store's writer.
pub type SignEntry = Box<dyn FnOnce(Option<&ChainTip>) -> Result<Object, SignError> + Send>;

/// Entries to append to a session, in order.
pub struct NewEntries {
    pub session: String,
    pub entries: Vec<NewEntry>,
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

/// A pinned definition of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPin {
    /// The identity of the server.
    pub server: String,
    pub tool: String,
    /// SHA-256 of the definition in canonical form.
    pub definition: Sha256Digest,
    /// The definition, as JSON.
    pub document: String,
    /// Why it waits for approval; none where it is pinned.
    pub waits: Option<String>,
}

/// Entries on their way into the database.
pub(crate) struct EntriesWrite {
    session: String,
    entries: Vec<Entry>,
}

struct Entry {
    id: ReceiptId,
    kind: &'static str,
    decision_id: Option<String>,
    content: Content,
}

enum Content {
    Unlinked(SignEntry),
    Signed {
        document: String,
        tip: ChainTip,
    },
    /// It was refused.
    None,
}

impl EntriesWrite {
    pub(crate) fn new(new: NewEntries) -> Self {
        let entry = |NewEntry { id, kind, decision_id, sign }| Entry {
            id,
            kind,
            decision_id,
            content: Content::Unlinked(sign),
        };
        Self { session: new.session, entries: new.entries.into_iter().map(entry).collect() }
    }

    /// Links the entries, each to the one before it, and signs them.
    pub(crate) fn link(&mut self, scope: &Scope<'_>) -> rusqlite::Result<Option<StoreError>> {
        let mut tip = tip(scope.connection, scope.tenant, &self.session)?;
        let name = format!("session/{}", self.session);
        for entry in &mut self.entries {
            let Content::Unlinked(sign) = std::mem::replace(&mut entry.content, Content::None) else { continue };
            let object = match signing::call(&name, || sign(tip.as_ref())) {
                Ok(object) => object,
                Err(refused) => return Ok(Some(refused)),
            };
            let Some(own) = (Link { id: entry.id, document: &object }).follows(tip.as_ref()) else {
                return Ok(Some(StoreError::NotLinked(name)));
            };
            entry.content = Content::Signed { document: object.to_text(), tip: own.clone() };
            tip = Some(own);
        }
        Ok(None)
    }

    pub(crate) fn put(&self, scope: &Scope<'_>) -> rusqlite::Result<()> {
        for entry in &self.entries {
            let Content::Signed { document, tip } = &entry.content else { continue };
            let sql = "INSERT INTO session_entries
                           (tenant, session, position, entry_id, kind, decision_id, stored_at, hash, document)
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
            scope.connection.prepare_cached(sql)?.execute(params![
                scope.tenant.as_str(),
                self.session,
                tip.position.cast_signed(),
                entry.id.to_string(),
                entry.kind,
                entry.decision_id,
                scope.now,
                tip.hash.as_bytes(),
                document,
            ])?;
        }
        Ok(())
    }
}

impl StoredPin {
    /// Stores it in place of the one that is pinned, or of the one that waits.
    pub(crate) fn put(&self, scope: &Scope<'_>) -> rusqlite::Result<()> {
        let sql = "INSERT INTO pins (tenant, server, tool, is_pinned, definition, document, waits, listed_at)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
                   ON CONFLICT (tenant, server, tool, is_pinned)
                       DO UPDATE SET definition = ?5, document = ?6, waits = ?7, listed_at = ?8";
        let values = params![
            scope.tenant.as_str(),
            self.server,
            self.tool,
            self.waits.is_none(),
            self.definition.as_bytes(),
            self.document,
            self.waits,
            scope.now,
        ];
        scope.connection.prepare_cached(sql)?.execute(values)?;
        if self.waits.is_none() {
            // What waited is pinned now, or is not what the server lists any more.
            let sql = "DELETE FROM pins WHERE tenant = ?1 AND server = ?2 AND tool = ?3 AND NOT is_pinned";
            scope.connection.prepare_cached(sql)?.execute([scope.tenant.as_str(), &self.server, &self.tool])?;
        }
        Ok(())
    }
}

/// The last entry of a session.
fn tip(connection: &Connection, tenant: &Tenant, session: &str) -> rusqlite::Result<Option<ChainTip>> {
    let sql = "SELECT entry_id, hash, position FROM session_entries WHERE tenant = ?1 AND session = ?2
               ORDER BY position DESC LIMIT 1";
    let read = |row: &Row<'_>| {
        let id = row.get_ref(0)?.as_str()?;
        let receipt_id = id.parse().map_err(|error| column::changed(0, Type::Text, error))?;
        Ok(ChainTip { receipt_id, hash: Sha256Digest::from_bytes(row.get(1)?), position: column::count(row, 2)? })
    };
    connection.prepare_cached(sql)?.query_row([tenant.as_str(), session], read).optional()
}

/// The entries of a session from this position on, first to last.
pub(crate) fn entries(
    connection: &Connection,
    tenant: &Tenant,
    session: &str,
    position: u64,
    limit: usize,
) -> rusqlite::Result<Vec<SessionEntry>> {
    let sql = "SELECT kind, decision_id, stored_at, document FROM session_entries
               WHERE tenant = ?1 AND session = ?2 AND position >= ?3 ORDER BY position LIMIT ?4";
    let limit = page::one_more(limit.clamp(1, MAX_PAGE) - 1)?;
    let read = |row: &Row<'_>| {
        Ok(SessionEntry { kind: row.get(0)?, decision_id: row.get(1)?, at: row.get(2)?, document: row.get(3)? })
    };
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_map(params![tenant.as_str(), session, position.cast_signed(), limit], read)?.collect()
}

/// Sessions, those begun last first. The first entry of each is found by an index of its own.
pub(crate) fn sessions(
    connection: &Connection,
    tenant: &Tenant,
    limit: usize,
    after: Option<Cursor>,
) -> rusqlite::Result<Sessions> {
    let limit = limit.clamp(1, MAX_PAGE);
    let sql = "SELECT sequence, session, stored_at,
                      (SELECT stored_at FROM session_entries AS last
                       WHERE last.tenant = first.tenant AND last.session = first.session ORDER BY position DESC LIMIT 1),
                      (SELECT max(position) + 1 FROM session_entries AS last
                       WHERE last.tenant = first.tenant AND last.session = first.session)
               FROM session_entries AS first
               WHERE tenant = ?1 AND position = 0 AND (?2 IS NULL OR sequence < ?2) ORDER BY sequence DESC LIMIT ?3";
    let read = |row: &Row<'_>| {
        let session = StoredSession {
            session: row.get(1)?,
            begun_at: row.get(2)?,
            last_at: row.get(3)?,
            entries: column::count(row, 4)?,
        };
        Ok((row.get(0)?, session))
    };
    let mut statement = connection.prepare_cached(sql)?;
    let values = params![tenant.as_str(), after.map(|after| after.0), page::one_more(limit)?];
    let (sessions, next) = page::cut(statement.query_map(values, read)?.collect::<rusqlite::Result<_>>()?, limit);
    Ok(Sessions { sessions, next })
}

/// The definitions of all servers that are pinned or wait, by server and tool.
pub(crate) fn pins(connection: &Connection, tenant: &Tenant) -> rusqlite::Result<Vec<StoredPin>> {
    let sql = "SELECT server, tool, definition, document, waits FROM pins WHERE tenant = ?1
               ORDER BY server, tool, is_pinned DESC";
    let read = |row: &Row<'_>| {
        let definition = Sha256Digest::from_bytes(row.get(2)?);
        Ok(StoredPin { server: row.get(0)?, tool: row.get(1)?, definition, document: row.get(3)?, waits: row.get(4)? })
    };
    connection.prepare_cached(sql)?.query_map([tenant.as_str()], read)?.collect()
}
