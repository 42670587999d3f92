//! The transparency log of the store, as others see it (`docs/log.md`): its files under `/log/`, proofs, and the task that signs
//! checkpoints.

pub(crate) mod answers;
mod bucket;
mod client;
mod logged;
mod publish;
mod witness;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use proofmark_log::{LogCopy, LogHome, LogKeeper, Witnesses};
use proofmark_store::Store;
use proofmark_tlog::{LogSigner, Policy};

pub use bucket::{Bucket, BucketError};
pub use client::{LogClient, RemoteLog, RemoteLogError};
pub use logged::Logged;
pub(crate) use publish::publish;
pub use witness::serve_witness;

/// The log that a server signs and shows.
pub struct ServedLog {
    home: LogHome,
    signer: LogSigner,
    policy: Option<Policy>,
    /// Those of the policy.
    witnesses: Witnesses,
    /// Where others find its files, besides this server.
    copy: Option<LogCopy>,
    /// Why the last checkpoint could not be signed, or copied.
    failure: Mutex<Option<String>>,
    is_asking: Arc<AtomicBool>,
}

/// Witnesses are asked as long as it lives.
struct Asking(Arc<AtomicBool>);

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl ServedLog {
    /// The log of this home, signed with this key. The witnesses of the policy that have a URL are asked to cosign.
    #[must_use]
    pub fn new(home: LogHome, signer: LogSigner, policy: Option<Policy>, client: Arc<LogClient>) -> Self {
        let known = policy.as_ref().map(|policy| policy.witnesses()).unwrap_or_default();
        let witnesses = Witnesses::new(known, Box::new(move |url, body| client.post(url, body)));
        Self { home, signer, policy, witnesses, copy: None, failure: Mutex::default(), is_asking: Arc::default() }
    }

    /// Also copies it there: its files before a checkpoint is signed, and each checkpoint after.
    #[must_use]
    pub fn with_copy(self, copy: LogCopy) -> Self {
        Self { copy: Some(copy), ..self }
    }

    /// Has the copy read again before it is written to.
    fn forget_copy(&self) {
        if let Some(copy) = &self.copy {
            copy.forget();
        }
    }

    /// Of so many entries, how many the checkpoint of the copy does not cover; none without a copy.
    pub(crate) fn uncopied(&self, entries: u64) -> Option<u64> {
        let copy = self.copy.as_ref()?;
        // Where another server copies, it is the one that says so.
        let unknown = if self.failure().is_some() { 0 } else { entries };
        Some(entries.saturating_sub(copy.entries().unwrap_or(unknown)))
    }

    /// Notes that witnesses are asked, until the result is dropped; none where they are asked already.
    fn begin_asking(&self) -> Option<Asking> {
        let is_free = !self.is_asking.swap(true, Ordering::AcqRel);
        is_free.then(|| Asking(Arc::clone(&self.is_asking)))
    }

    /// Why the log is not signed, if it is not.
    pub(crate) fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes how signing went; whether that is news.
    fn note(&self, failure: Option<String>) -> bool {
        let mut before = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        let is_news = *before != failure;
        *before = failure;
        is_news
    }

    fn keeper<'a>(&'a self, store: &'a Store) -> LogKeeper<'a> {
        LogKeeper::new(store, self.home.clone(), self.signer.clone())
            .with_witnesses(&self.witnesses)
            .with_copy(self.copy.as_ref())
    }
}
