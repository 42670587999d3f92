//! The API keys in force while the server runs, and by what a request was admitted. When a key is revoked or a token ends, what it has
//! begun ends, too.

use std::sync::Arc;

use proofmark_receipt::Sha256Digest;
use tokio::sync::watch;

use crate::keys::{ApiKeys, Caller};
use crate::oidc::TokenInUse;
use crate::problem::Problem;

/// The keys that are accepted at present.
pub struct LiveKeys {
    keys: watch::Sender<Arc<ApiKeys>>,
}

/// The key by which a request was admitted.
#[derive(Clone)]
pub struct KeyInUse {
    digest: Sha256Digest,
    caller: Caller,
    keys: watch::Receiver<Arc<ApiKeys>>,
}

/// By what a request was admitted.
#[derive(Clone)]
pub enum Credential {
    Key(KeyInUse),
    Token(Box<TokenInUse>),
}

impl Credential {
    /// Whose it is.
    #[must_use]
    pub fn caller(&self) -> &Caller {
        match self {
            Self::Key(key) => key.caller(),
            Self::Token(token) => token.caller(),
        }
    }

    /// Becomes ready when it is no longer accepted, or gives its holder something else. Returns what to answer then.
    pub async fn ended(self) -> Problem {
        match self {
            Self::Key(key) => {
                key.revoked().await;
                Problem::revoked()
            }
            Self::Token(token) => {
                token.ended().await;
                Problem::invalid_token("the token has expired, or no longer counts")
            }
        }
    }
}

impl LiveKeys {
    /// These keys, until others replace them.
    #[must_use]
    pub fn new(keys: ApiKeys) -> Self {
        Self { keys: watch::Sender::new(Arc::new(keys)) }
    }

    /// Whose key this is.
    pub fn admit(&self, key: &str) -> Option<KeyInUse> {
        self.admit_digest(Sha256Digest::of(key.as_bytes()))
    }

    /// Whose key has this hash.
    pub fn admit_digest(&self, digest: Sha256Digest) -> Option<KeyInUse> {
        // It subscribes before the look-up: a key that is revoked in between is noticed.
        let keys = self.keys.subscribe();
        let caller = keys.borrow().caller(&digest)?.clone();
        Some(KeyInUse { digest, caller, keys })
    }

    /// Whether there is a key with the id and the tenant of this caller.
    pub(crate) fn name(&self, caller: &Caller) -> bool {
        self.keys.borrow().name(caller)
    }

    /// Accepts these keys from here on, and returns those before.
    pub fn replace(&self, keys: ApiKeys) -> Arc<ApiKeys> {
        self.keys.send_replace(Arc::new(keys))
    }
}

impl KeyInUse {
    /// SHA-256 of the key.
    pub fn digest(&self) -> Sha256Digest {
        self.digest
    }

    /// Whose key it is.
    #[must_use]
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Becomes ready when the key is no longer accepted, or stands for something else: another role, or another tenant.
    pub async fn revoked(mut self) {
        let (digest, caller) = (self.digest, self.caller);
        if self.keys.wait_for(|keys| keys.caller(&digest) != Some(&caller)).await.is_err() {
            // The server ends, and with it everything that waits here.
            std::future::pending().await
        }
    }
}
