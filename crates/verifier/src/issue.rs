//! Issues receipts: each is linked to its chain, signed, and stored together with what it brings about.
//!
//! Receipts of `verify`, of jobs and of accepted steps go through [`Issuer`]. A receipt that continues a chain is handed to the
//! store as a function that links and signs it; the store calls it with the tip that the chain has at that moment, inside the
//! transaction that stores the receipt. So there is nothing to try again when another process extends the chain first.

use std::sync::Arc;

use proofmark_receipt::document::shown;
use proofmark_receipt::{ChainEnd, ChainHead, Draft, Receipt, ReceiptId, SignError, SignerId, SigningKey, Timestamp};
use proofmark_store::{NewReceipt, Pending, Store, StoreError, Tenant, TenantStore, Write};

use crate::clock;

/// The software named in `metadata.verifier`.
pub const VERIFIER: &str = concat!("proofmark/", env!("CARGO_PKG_VERSION"));
/// How the names of chains of steps begin; no other chain may have such a name.
pub const STEP_CHAINS: &str = "run/";

/// Why a receipt was not issued. Nothing of it is stored then.
#[derive(Debug, thiserror::Error)]
pub enum IssueError {
    /// The receipt has a value that cannot be signed.
    #[error("sign the receipt: {0}")]
    Sign(SignError),
    /// The store refused it, or failed.
    #[error(transparent)]
    Store(StoreError),
    /// The store has no chain of this name.
    #[error("sign the head of the chain `{}`: the store has no such chain", shown(.0))]
    NoChain(String),
    /// The name is reserved for the chains of steps.
    #[error(
        "continue the chain `{}`: chains whose names begin with `{STEP_CHAINS}` are of workflow steps", shown(.0)
    )]
    Reserved(String),
}

impl IssueError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Store(error) => error.help(),
            Self::NoChain(_) => Some("name a chain that has receipts".to_owned()),
            Self::Reserved(_) => Some("choose another name".to_owned()),
            Self::Sign(error) => error.help(),
        }
    }
}

impl From<SignError> for IssueError {
    fn from(error: SignError) -> Self {
        Self::Sign(error)
    }
}

impl From<StoreError> for IssueError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Sign(error) => Self::Sign(error),
            error => Self::Store(error),
        }
    }
}

/// Issues receipts with one key into one store.
#[derive(Clone)]
pub struct Issuer {
    /// None issues unsigned claims.
    key: Option<Arc<SigningKey>>,
    /// None stores nothing.
    store: Option<Arc<Store>>,
}

/// Where a receipt goes, and what is stored with it or not at all.
pub struct Destination<'a> {
    pub tenant: &'a Tenant,
    /// The tenant's chain that it continues.
    pub chain: Option<String>,
    /// The request that it answers, as JSON.
    pub request: Option<String>,
    /// The receipt that it takes the place of.
    pub supersedes: Option<ReceiptId>,
    pub with: Vec<Write>,
}

impl<'a> Destination<'a> {
    /// A receipt of this tenant by itself, on no chain.
    #[must_use]
    pub fn of(tenant: &'a Tenant) -> Self {
        Self { tenant, chain: None, request: None, supersedes: None, with: Vec::new() }
    }
}

/// A receipt that may not be on disk yet.
#[must_use = "a receipt is issued only after `wait` returns it"]
pub enum Issuing {
    Signed(Box<Receipt>),
    Submitted(Pending),
}

impl Issuer {
    /// An issuer that signs with `key` (none: unsigned claims) and stores receipts in `store` (none: nowhere).
    #[must_use]
    pub fn new(key: Option<SigningKey>, store: Option<Store>) -> Self {
        Self { key: key.map(Arc::new), store: store.map(Arc::new) }
    }

    /// An issuer that signs with `key` and stores receipts in `store`.
    #[must_use]
    pub fn with(key: Arc<SigningKey>, store: Arc<Store>) -> Self {
        Self { key: Some(key), store: Some(store) }
    }

    /// The signer; `None` if claims are unsigned.
    #[must_use]
    pub fn signer(&self) -> Option<SignerId> {
        self.key.as_deref().map(SigningKey::signer)
    }

    /// What it signs with.
    pub(crate) fn key(&self) -> Option<&Arc<SigningKey>> {
        self.key.as_ref()
    }

    /// The store that receipts go to.
    pub fn store(&self) -> Option<&Store> {
        self.store.as_deref()
    }

    /// Hands a receipt over to be issued. Receipts are issued in the order in which they are handed over, and those that wait
    /// share a commit.
    ///
    /// # Errors
    /// [`IssueError::Sign`] for a receipt that is on no chain; one on a chain is signed in its turn.
    pub fn issue(&self, mut draft: Draft, to: Destination<'_>) -> Result<Issuing, IssueError> {
        let Some(store) = &self.store else {
            if to.chain.is_some() {
                // Without a store there is no tip, so it is the first of its chain.
                draft.link(ChainEnd::default());
            }
            return Ok(Issuing::Signed(Box::new(sign(draft, self.key.as_deref())?)));
        };
        let receipt = match to.chain {
            // Signed on this thread, since the writer does one thing at a time.
            None => NewReceipt::single(sign(draft, self.key.as_deref())?),
            Some(chain) => {
                let key = self.key.clone();
                let issuer = key.as_deref().map(SigningKey::signer);
                NewReceipt::chained(draft.receipt_id, issuer, chain, move |tip| {
                    let mut draft = draft.clone();
                    draft.link(tip);
                    sign(draft, key.as_deref())
                })
            }
        };
        let receipt = NewReceipt { request: to.request, supersedes: to.supersedes, ..receipt };
        let writes = std::iter::once(receipt.into()).chain(to.with).collect();
        Ok(Issuing::Submitted(store.of(to.tenant).submit_all(writes)))
    }
}

impl Issuing {
    /// Waits until the receipt is on disk.
    ///
    /// # Errors
    /// When it cannot be signed, or the store refuses it.
    pub fn wait(self) -> Result<Receipt, IssueError> {
        match self {
            Self::Signed(receipt) => Ok(*receipt),
            Self::Submitted(pending) => Ok(pending.receipt()?),
        }
    }
}

fn sign(draft: Draft, key: Option<&SigningKey>) -> Result<Receipt, SignError> {
    match key {
        Some(key) => draft.sign(key),
        None => draft.unsigned(),
    }
}

/// Signs where a tenant's chain of this name ends now. The head of any tenant's but the command line's names the tenant,
/// with a slash, before the chain.
///
/// # Errors
/// When there is no such chain, or the store cannot be read.
pub fn chain_head(store: &TenantStore<'_>, chain: &str, key: &SigningKey) -> Result<ChainHead, IssueError> {
    let tip = store.tip(chain)?.ok_or_else(|| IssueError::NoChain(chain.to_owned()))?;
    let tenant = store.tenant();
    let named = if *tenant == Tenant::LOCAL { chain.to_owned() } else { format!("{tenant}/{chain}") };
    let now = Timestamp::from_unix_millis(store.time_when(clock::now().unix_millis()));
    Ok(ChainHead::sign(&named, &tip, &now, key)?)
}

/// Signs where the chain of the stored decisions ends now.
///
/// # Errors
/// When there are no decisions, or the store cannot be read.
pub fn decisions_head(store: &Store, key: &SigningKey) -> Result<ChainHead, IssueError> {
    const NAME: &str = "decisions";
    let tip = store.all_tenants_last_decision()?.ok_or_else(|| IssueError::NoChain(NAME.to_owned()))?;
    Ok(ChainHead::sign(NAME, &tip, &clock::known_in(store), key)?)
}
