//! The names and the ends of chains.

use crate::ends::Kept;
use crate::engine::db::Db;
use crate::fault::Fault;
use crate::group::settle::{Chain, End, Question};
use crate::statement::{Record, question};
use crate::tenant::Tenant;
use crate::value::{Value, values};
use proofmark_receipt::{ChainTip, LostEnd, Sha256Digest};
use std::fmt;

/// The position of no document.
const NO_POSITION: i64 = -1;

/// The number of the tenant's chain of this name.
pub(crate) fn chain_id(db: &Db<'_>, tenant: &Tenant, name: &str) -> Result<Option<i64>, Fault> {
    db.value("SELECT chain_id FROM chains WHERE tenant = $1 AND name = $2", &values![tenant.as_str(), name])
}

impl Chain {
    /// Asks for its end. From columns alone: a document that was damaged does not keep its chain from growing.
    /// The last column is the hash of the document at the position that was kept, if any.
    pub(crate) fn asks(&self, kept: Option<&Kept>) -> Question {
        let kept = kept.and_then(|kept| i64::try_from(kept.end.position).ok()).unwrap_or(NO_POSITION);
        match self {
            // A chain that has a row and no receipt yet has a number and no tip.
            Self::Receipts(tenant, name) => {
                question!(
                    "SELECT chains.chain_id, receipts.receipt_id, receipts.hash, receipts.position,
                         (SELECT kept.hash FROM receipts AS kept
                          WHERE kept.chain_id = chains.chain_id AND kept.position = {kept})
                     FROM chains LEFT JOIN receipts ON receipts.sequence =
                         (SELECT linked.sequence FROM receipts AS linked WHERE linked.chain_id = chains.chain_id
                          ORDER BY linked.position DESC LIMIT 1)
                     WHERE chains.tenant = {tenant} AND chains.name = {name}",
                    tenant: tenant.as_str(),
                    name: name,
                    kept: kept,
                )
            }
            Self::Decisions => {
                question!(
                    "SELECT CAST(NULL AS BIGINT), decision_id, hash, position,
                         (SELECT kept.hash FROM decisions AS kept WHERE kept.position = {kept})
                     FROM decisions ORDER BY position DESC LIMIT 1",
                    kept: kept,
                )
            }
            Self::Session(tenant, session) => {
                question!(
                    "SELECT CAST(NULL AS BIGINT), entry_id, hash, position,
                         (SELECT kept.hash FROM session_entries AS kept
                          WHERE kept.tenant = {tenant} AND kept.session = {session} AND kept.position = {kept})
                     FROM session_entries
                     WHERE tenant = {tenant} AND session = {session} ORDER BY position DESC LIMIT 1",
                    tenant: tenant.as_str(),
                    session: session,
                    kept: kept,
                )
            }
        }
    }

    /// The end that the answer says, and whether that is at or behind what was kept.
    pub(crate) fn end(&self, row: Option<Record>, kept: Option<&Kept>) -> Result<(End, bool), Fault> {
        let row = row.unwrap_or_else(|| Record(vec![Value::Null; 5]));
        let end = End { lost: kept.filter(|kept| kept.is_accepted).map(|kept| kept.end), ..self.stored(&row)? };
        let is_there = |end: LostEnd| Ok(row.get::<Option<[u8; 32]>>(4)?.as_ref() == Some(end.hash.as_bytes()));
        let is_whole = kept.filter(|kept| !kept.is_accepted).map_or(Ok::<_, Fault>(true), |kept| is_there(kept.end))?;
        Ok((end, is_whole))
    }

    fn stored(&self, row: &Record) -> Result<End, Fault> {
        let Some(hash) = row.get::<Option<[u8; 32]>>(2)? else {
            return Ok(End { tip: None, chain_id: row.get(0)?, lost: None });
        };
        let receipt_id = match self {
            Self::Receipts(..) => {
                proofmark_receipt::ReceiptId::from_bytes(row.get(1)?).map_err(|error| Fault::changed(1, error))?
            }
            Self::Decisions | Self::Session(..) => {
                row.get::<String>(1)?.parse().map_err(|error| Fault::changed(1, error))?
            }
        };
        let tip = ChainTip { receipt_id, hash: Sha256Digest::from_bytes(hash), position: row.get(3)? };
        Ok(End { tip: Some(tip), chain_id: row.get(0)?, lost: None })
    }
}

/// The name of the chain, for messages.
impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Receipts(_, name) => f.write_str(name),
            Self::Decisions => f.write_str("decisions"),
            Self::Session(_, session) => write!(f, "session/{session}"),
        }
    }
}
