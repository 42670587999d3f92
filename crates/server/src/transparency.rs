//! The transparency log of the store, as others see it (`docs/log.md`): its files under `/log/`, proofs, and the task that signs
//! checkpoints.

pub(crate) mod answers;
mod client;
mod publish;
mod witness;

use std::sync::Arc;

use proofmark_log::{LogHome, LogKeeper, Witnesses};
use proofmark_store::Store;
use proofmark_tlog::{LogSigner, Party};

pub use client::{LogClient, RemoteLog, RemoteLogError};
pub(crate) use publish::publish;
pub use witness::serve_witness;

/// The log that a server signs and shows.
pub struct ServedLog {
    home: LogHome,
    signer: LogSigner,
    witnesses: Witnesses,
}

impl ServedLog {
    /// The log of this home, signed with this key. These witnesses are asked to cosign, those that have a URL.
    #[must_use]
    pub fn new(home: LogHome, signer: LogSigner, witnesses: &[Party], client: Arc<LogClient>) -> Self {
        let witnesses = Witnesses::new(witnesses, Box::new(move |url, body| client.post(url, body)));
        Self { home, signer, witnesses }
    }

    fn keeper<'a>(&'a self, store: &'a Store) -> LogKeeper<'a> {
        LogKeeper::new(store, self.home.clone(), self.signer.clone()).with_witnesses(&self.witnesses)
    }
}
