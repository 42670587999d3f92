//! What the chains of a store have lost, by the ends that are kept beside it.

use std::fmt;

use proofmark_receipt::{ChainTip, LostEnd};

use crate::ends::Kept;
use crate::engine::db::Db;
use crate::error::StoreError;
use crate::fault::Fault;
use crate::group::settle::Chain;
use crate::place::Place;
use crate::row::Record;
use crate::tenant::Tenant;

/// A chain that ends before what was signed of it, or has another document there.
#[derive(Clone, Debug, PartialEq)]
pub struct Loss {
    kept: (Chain, Kept),
    /// The last document that is stored.
    pub stored: Option<ChainTip>,
}

impl Loss {
    /// The last document that was signed.
    #[must_use]
    pub fn lost(&self) -> LostEnd {
        self.kept.1.end
    }

    /// The name of the chain, as messages have it.
    #[must_use]
    pub fn chain(&self) -> String {
        self.kept.0.to_string()
    }

    /// Whose chain it is; none where it is that of all tenants.
    #[must_use]
    pub fn tenant(&self) -> Option<&Tenant> {
        match &self.kept.0 {
            Chain::Receipts(tenant, _) | Chain::Session(tenant, _) => Some(tenant),
            Chain::Decisions => None,
        }
    }

    /// Why the chain is not extended.
    pub(crate) fn error(&self, place: &Place) -> StoreError {
        StoreError::Behind {
            place: place.clone(),
            chain: self.chain(),
            signed: self.lost().position,
            stored: self.stored.as_ref().map(|stored| stored.position),
        }
    }

    pub(crate) fn kept(&self) -> &(Chain, Kept) {
        &self.kept
    }
}

/// What was lost, without the name of the chain.
impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lost = self.lost();
        write!(f, "position {}, {}, was signed", lost.position, lost.hash)?;
        self.tenant().map_or(Ok(()), |tenant| write!(f, " for the tenant {tenant}"))?;
        match &self.stored {
            Some(stored) => write!(f, "; the last one stored is position {}, {}", stored.position, stored.hash),
            None => f.write_str("; nothing of the chain is stored"),
        }
    }
}

/// The identity of the store.
pub(crate) fn identity(db: &Db<'_>) -> Result<String, Fault> {
    db.only("SELECT identity FROM clock", &[], |row| row.get(0))
}

/// What of these chains is not there.
pub(crate) fn losses(db: &Db<'_>, kept: &[(Chain, Kept)]) -> Result<Vec<Loss>, Fault> {
    let mut losses = Vec::new();
    for (chain, kept) in kept {
        let question = chain.asks(Some(kept));
        let row = db.one(&question.sql(), &question.values, |row| {
            (0..5).map(|column| row.get(column)).collect::<Result<Vec<_>, _>>().map(Record)
        })?;
        let (end, is_whole) = chain.end(row, Some(kept))?;
        if !is_whole {
            losses.push(Loss { kept: (chain.clone(), *kept), stored: end.tip });
        }
    }
    Ok(losses)
}
