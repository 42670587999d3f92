//! The names and the ends of chains.

use crate::engine::db::Db;
use crate::fault::Fault;
use crate::group::settle::{Chain, End, Facts, Question};
use crate::statement::question;
use crate::tenant::Tenant;
use crate::value::values;
use proofmark_receipt::{ChainTip, Sha256Digest};
use std::fmt;

/// The number of the tenant's chain of this name.
pub(crate) fn chain_id(db: &Db<'_>, tenant: &Tenant, name: &str) -> Result<Option<i64>, Fault> {
    db.value("SELECT chain_id FROM chains WHERE tenant = $1 AND name = $2", &values![tenant.as_str(), name])
}

impl Chain {
    /// Asks for its end. From columns alone: a document that was damaged does not keep its chain from growing.
    pub(crate) fn asks(&self) -> Question {
        match self {
            // A chain that has a row and no receipt yet has a number and no tip.
            Self::Receipts(tenant, name) => {
                question!(
                    "SELECT chains.chain_id, receipts.receipt_id, receipts.hash, receipts.position
                     FROM chains LEFT JOIN receipts ON receipts.sequence =
                         (SELECT linked.sequence FROM receipts AS linked WHERE linked.chain_id = chains.chain_id
                          ORDER BY linked.position DESC LIMIT 1)
                     WHERE chains.tenant = {tenant} AND chains.name = {name}",
                    tenant: tenant.as_str(),
                    name: name,
                )
            }
            Self::Decisions => {
                let sql = "SELECT CAST(NULL AS BIGINT), decision_id, hash, position FROM decisions ORDER BY position DESC LIMIT 1";
                Question::alone(sql, [])
            }
            Self::Session(tenant, session) => {
                question!(
                    "SELECT CAST(NULL AS BIGINT), entry_id, hash, position FROM session_entries
                     WHERE tenant = {tenant} AND session = {session} ORDER BY position DESC LIMIT 1",
                    tenant: tenant.as_str(),
                    session: session,
                )
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
