//! The names and the ends of chains.

use crate::engine::db::Db;
use crate::fault::Fault;
use crate::group::settle::{Chain, End, Facts, Question};
use crate::tenant::Tenant;
use crate::value::values;
use proofmark_receipt::{ChainTip, Sha256Digest};
use std::fmt;

/// The number of the tenant's chain of this name.
pub(crate) fn chain_id(db: &Db<'_>, tenant: &Tenant, name: &str) -> Result<Option<i64>, Fault> {
    db.value("SELECT chain_id FROM chains WHERE tenant = ?1 AND name = ?2", &values![tenant.as_str(), name])
}

impl Chain {
    /// Asks for its end. From columns alone: a document that was damaged does not keep its chain from growing.
    pub(crate) fn asks(&self) -> Question {
        match self {
            Self::Receipts(tenant, name) => {
                let sql = "SELECT chains.chain_id, receipts.receipt_id, receipts.hash, receipts.position
                           FROM chains LEFT JOIN receipts ON receipts.sequence =
                               (SELECT linked.sequence FROM receipts AS linked WHERE linked.chain_id = chains.chain_id
                                ORDER BY linked.position DESC LIMIT 1)
                           WHERE chains.tenant = ?1 AND chains.name = ?2";
                Question::new(sql, values![tenant.as_str(), name])
            }
            // Rows of older versions have no hash, except the last one, and no other can be the tip.
            Self::Decisions => {
                let sql = "SELECT CAST(NULL AS BIGINT), decision_id, hash, position FROM decisions ORDER BY position DESC LIMIT 1";
                Question::new(sql, [])
            }
            Self::Session(tenant, session) => {
                let sql = "SELECT CAST(NULL AS BIGINT), entry_id, hash, position FROM session_entries
                           WHERE tenant = ?1 AND session = ?2 ORDER BY position DESC LIMIT 1";
                Question::new(sql, values![tenant.as_str(), session])
            }
        }
    }

    /// The end that the next facts say.
    pub(crate) fn end(&self, facts: &mut Facts<'_>) -> Result<End, Fault> {
        let Some(row) = facts.row() else { return Ok(End::default()) };
        let Some(hash) = row.get::<Option<[u8; 32]>>(2)? else {
            return Ok(End { tip: None, chain_id: row.get(0)? });
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
        Ok(End { tip: Some(tip), chain_id: row.get(0)? })
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
