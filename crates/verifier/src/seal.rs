//! Seals what was judged: signs it, links it to its chain and puts it on disk.

use proofmark_receipt::{ChainHead, ChainTip, Receipt, SignError, SigningKey};
use proofmark_store::{NewReceipt, Store, StoreError, Tenant, TenantStore};

use crate::accept::STEP_CHAINS;
use crate::clock;
use crate::run::Judged;

/// How often a chain that another process extends meanwhile is tried again.
pub(crate) const MAX_CHAIN_RACES: u32 = 100;

/// Why receipts could not be sealed.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// The receipt has a value that cannot be signed.
    #[error("sign the receipt: {0}")]
    Sign(#[from] SignError),
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Others extend the chain faster than we can.
    #[error("extend the chain `{0}`: other processes keep extending it; try again")]
    Raced(String),
    /// The store has no chain of this name.
    #[error("sign the head of the chain `{0}`: the store has none of that name")]
    NoChain(String),
    /// The name is kept for the chains of steps.
    #[error(
        "continue the chain `{0}`: chains whose names begin with `{STEP_CHAINS}` are of workflow steps; choose another name"
    )]
    Reserved(String),
}

/// Signs where a tenant's chain of this name ends now. The head of any tenant's but the command line's names the tenant,
/// with a slash, before the chain.
///
/// # Errors
/// When there is no such chain, or the store cannot be read.
pub fn chain_head(store: &TenantStore<'_>, chain: &str, key: &SigningKey) -> Result<ChainHead, SealError> {
    let tip = store.tip(chain)?.ok_or_else(|| SealError::NoChain(chain.to_owned()))?;
    let tenant = store.tenant();
    let named = if *tenant == Tenant::LOCAL { chain.to_owned() } else { format!("{tenant}/{chain}") };
    Ok(ChainHead::sign(&named, &tip, &clock::now(), key)?)
}

/// Signs where the chain of the stored decisions ends now.
///
/// # Errors
/// When there are no decisions, or the store cannot be read.
pub fn decisions_head(store: &Store, key: &SigningKey) -> Result<ChainHead, SealError> {
    const NAME: &str = "decisions";
    let tip = store.all_tenants_last_decision()?.ok_or_else(|| SealError::NoChain(NAME.to_owned()))?;
    Ok(ChainHead::sign(NAME, &tip, &clock::now(), key)?)
}

/// Where receipts go and whose they are.
pub struct Sealer {
    key: Option<SigningKey>,
    store: Option<Store>,
    chain: Option<String>,
}

impl Sealer {
    /// A sealer that signs with `key` (none: unsigned claims), keeps receipts in
    /// `store` (none: nowhere).
    pub fn new(key: Option<SigningKey>, store: Option<Store>) -> Sealer {
        Sealer { key, store, chain: None }
    }

    /// Continues the command line's chain of this name in `store` from now on.
    ///
    /// # Errors
    /// [`SealError::Reserved`] where the name is one that chains of steps have.
    pub fn on_chain(key: SigningKey, store: Store, chain: String) -> Result<Sealer, SealError> {
        match chain.starts_with(STEP_CHAINS) {
            true => Err(SealError::Reserved(chain)),
            false => Ok(Sealer { key: Some(key), store: Some(store), chain: Some(chain) }),
        }
    }

    /// Seals a group in order. What is returned is on disk; the group shares its
    /// commits, so a large one costs little more than a small one.
    ///
    /// # Errors
    /// When a receipt cannot be signed or the store refuses one; then none after
    /// it was kept either.
    pub fn seal(&self, group: Vec<Judged>) -> Result<Vec<Receipt>, SealError> {
        match (&self.chain, &self.store) {
            (Some(chain), Some(store)) => self.seal_chained(chain, &store.of(&Tenant::LOCAL), group),
            (Some(_) | None, _) => self.seal_single(group),
        }
    }

    fn seal_single(&self, group: Vec<Judged>) -> Result<Vec<Receipt>, SealError> {
        let receipts = group.into_iter().map(|judged| self.sign(judged)).collect::<Result<Vec<_>, _>>()?;
        if let Some(store) = &self.store {
            let store = store.of(&Tenant::LOCAL);
            let submit = |receipt: &Receipt| store.submit(NewReceipt::of(receipt.clone()));
            let pending: Vec<_> = receipts.iter().map(submit).collect();
            for one in pending {
                one.wait()?;
            }
        }
        Ok(receipts)
    }

    fn seal_chained(
        &self,
        chain: &str,
        store: &TenantStore<'_>,
        mut group: Vec<Judged>,
    ) -> Result<Vec<Receipt>, SealError> {
        let mut sealed = Vec::with_capacity(group.len());
        for _ in 0..MAX_CHAIN_RACES {
            let linked = self.link(store.tip(chain)?, &group)?;
            let submit = |receipt: &Receipt| {
                store.submit(NewReceipt { chain: Some(chain.to_owned()), ..NewReceipt::of(receipt.clone()) })
            };
            let pending: Vec<_> = linked.iter().map(submit).collect();
            let mut kept = 0;
            for (receipt, one) in linked.into_iter().zip(pending) {
                match one.wait() {
                    Ok(()) => sealed.push(receipt),
                    // All that link to the one refused are refused as well.
                    Err(StoreError::ChainMoved { .. }) => break,
                    Err(error) => return Err(error.into()),
                }
                kept += 1;
            }
            group.drain(..kept);
            if group.is_empty() {
                return Ok(sealed);
            }
        }
        Err(SealError::Raced(chain.to_owned()))
    }

    fn link(&self, mut tip: Option<ChainTip>, group: &[Judged]) -> Result<Vec<Receipt>, SealError> {
        let mut receipts = Vec::with_capacity(group.len());
        for judged in group {
            let mut judged = judged.clone();
            judged.draft.link(tip.as_ref());
            let receipt = self.sign(judged)?;
            tip = receipt.tip();
            receipts.push(receipt);
        }
        Ok(receipts)
    }

    fn sign(&self, judged: Judged) -> Result<Receipt, SignError> {
        match &self.key {
            Some(key) => judged.draft.sign(key),
            None => judged.draft.unsigned(),
        }
    }
}
