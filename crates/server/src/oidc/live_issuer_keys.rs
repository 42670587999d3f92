//! The keys of an issuer while the server runs: they are asked for again from time to time, and when a token names one that is not known.
//!
//! The keys that the issuer publishes replace the known ones, so a key that it withdraws ends. If it cannot be reached, the known keys
//! count for a limited time. Tokens with random key ids make the server ask at most once in a while, however many there are.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, Semaphore, watch};
use tokio::time::Instant;
use tracing::{error, info};

use super::issuer::Issuer;
use super::key_set::{IssuerKey, KeySet};
use super::refusal::Refusal;

/// After what time the keys are asked for again. A withdrawn key counts at most this long.
const REFRESH: Duration = Duration::from_secs(5 * 60);
/// After what time they are asked for again if that failed.
const RETRY: Duration = Duration::from_secs(15);
/// How long keys count if they cannot be asked for again.
const MAX_AGE: Duration = Duration::from_secs(60 * 60);
/// The shortest time between two questions because of unknown keys.
const MIN_BETWEEN: Duration = Duration::from_secs(10);
/// The most requests that wait for an answer of the issuer at a time.
const MAX_WAITING: usize = 64;

/// The keys of an issuer at present.
pub(super) struct LiveIssuerKeys {
    issuer: Issuer,
    held: watch::Sender<Held>,
    /// It is held while the issuer is asked, so that it is asked once for all who wait.
    asked: Mutex<Asked>,
    waiting: Semaphore,
}

/// When the issuer was asked.
#[derive(Clone, Copy, Debug, Default)]
struct Asked {
    /// When it was last asked because of an unknown key.
    for_key: Option<Instant>,
    /// When it last turned out that it does not answer.
    failed: Option<Instant>,
}

/// What is known of the keys of an issuer.
#[derive(Clone, Debug, Default)]
pub(super) struct Held {
    keys: Arc<KeySet>,
    /// When the issuer last answered.
    at: Option<Instant>,
    /// Whether it has not answered since.
    failed: bool,
}

/// Why a token has no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoKey {
    Refused(Refusal),
    /// The issuer does not answer, so it is not known whether the key is one of its keys.
    Unavailable,
}

impl Held {
    /// The key with this id. Keys that are too old do not count.
    fn find(&self, id: &str, now: Instant) -> Result<IssuerKey, NoKey> {
        match self.at {
            Some(at) if now.saturating_duration_since(at) < MAX_AGE => match self.keys.find(id) {
                Ok(key) => Ok(key.clone()),
                // It may be a new one.
                Err(_) if self.failed => Err(NoKey::Unavailable),
                Err(refusal) => Err(NoKey::Refused(refusal)),
            },
            _ => Err(NoKey::Unavailable),
        }
    }

    pub(super) fn has(&self, key: &IssuerKey) -> bool {
        self.keys.has(key)
    }

    /// Until when the keys count, if the issuer does not answer again.
    pub(super) fn until(&self) -> Option<Instant> {
        self.at.map(|at| at + MAX_AGE)
    }
}

impl Asked {
    /// Whether the issuer may be asked because of a request that came at this time and names an unknown key.
    fn may_ask(self, came: Instant, now: Instant) -> bool {
        let is_recent = self.for_key.is_some_and(|asked| now.saturating_duration_since(asked) < MIN_BETWEEN);
        let failed_meanwhile = self.failed.is_some_and(|failed| failed >= came);
        !is_recent && !failed_meanwhile
    }
}

impl LiveIssuerKeys {
    pub(super) fn new(issuer: Issuer) -> Self {
        let (held, asked) = (watch::Sender::default(), Mutex::default());
        Self { issuer, held, asked, waiting: Semaphore::new(MAX_WAITING) }
    }

    /// The key with this id. The issuer is asked if the key is unknown.
    pub(super) async fn key(&self, id: &str) -> Result<IssuerKey, NoKey> {
        let came = Instant::now();
        let find = || self.held.borrow().find(id, Instant::now());
        if let Ok(key) = find() {
            return Ok(key);
        }
        let _waits = self.waiting.try_acquire().map_err(|_| NoKey::Unavailable)?;
        let mut asked = self.asked.lock().await;
        let found = find();
        // While this request waited, the issuer may have been asked.
        if found.is_ok() || !asked.may_ask(came, Instant::now()) {
            return found;
        }
        self.ask(&mut asked).await;
        asked.for_key = Some(Instant::now());
        find()
    }

    /// Tells when keys change.
    pub(super) fn watch(&self) -> watch::Receiver<Held> {
        self.held.subscribe()
    }

    /// Asks for the keys again from time to time, for as long as this is polled.
    pub(super) async fn refresh(&self) {
        loop {
            let has_answered = self.ask(&mut *self.asked.lock().await).await;
            tokio::time::sleep(if has_answered { REFRESH } else { RETRY }).await;
        }
    }

    /// Asks for the keys, and puts them in force; whether they came.
    async fn ask(&self, asked: &mut Asked) -> bool {
        let answered = self.issuer.keys().await;
        let result = if answered.is_ok() { "ok" } else { "failed" };
        metrics::counter!("proofmark_issuer_requests_total", "result" => result).increment(1);
        match answered {
            Ok(keys) => {
                metrics::gauge!("proofmark_issuer_keys").set(keys.len() as f64);
                if self.held.borrow().at.is_none() || self.held.borrow().failed {
                    info!(keys = keys.len(), "the issuer of tokens has answered");
                }
                self.held.send_replace(Held { keys: Arc::new(keys), at: Some(Instant::now()), failed: false });
                true
            }
            Err(failed) => {
                let (cause, help) = (format!("failed to {failed}"), failed.help());
                error!(cause, help, "cannot get the keys of the issuer of tokens");
                self.held.send_modify(|held| held.failed = true);
                asked.failed = Some(Instant::now());
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proofmark_receipt::Json;

    use super::*;

    fn held(ids: &[&str], at: Instant, failed: bool) -> Held {
        let x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
        let key = |id: &&str| format!(r#"{{"kty": "OKP", "crv": "Ed25519", "kid": "{id}", "x": "{x}"}}"#);
        let text = format!(r#"{{"keys": [{}]}}"#, ids.iter().map(key).collect::<Vec<_>>().join(","));
        let keys = KeySet::read(&Json::parse(text.as_bytes()).unwrap()).unwrap();
        Held { keys: Arc::new(keys), at: Some(at), failed }
    }

    #[test]
    fn keys_count_for_a_time_after_the_issuer_was_last_reached() {
        let begun = Instant::now();
        let unknown = Err(NoKey::Refused(Refusal::UnknownKey));
        for failed in [false, true] {
            let held = held(&["a"], begun, failed);
            assert!(held.find("a", begun + MAX_AGE - Duration::from_millis(1)).is_ok());
            assert_eq!(held.find("a", begun + MAX_AGE).map(drop), Err(NoKey::Unavailable));
            let of_other = held.find("b", begun).map(drop);
            assert_eq!(of_other, if failed { Err(NoKey::Unavailable) } else { unknown });
        }
        assert_eq!(Held::default().find("a", begun).map(drop), Err(NoKey::Unavailable));
        assert_eq!(held(&["a", "a"], begun, false).find("a", begun).map(drop), unknown, "which one is a guess");
        assert_eq!(held(&[], begun, false).find("a", begun).map(drop), unknown, "all of them were withdrawn");
    }

    #[test]
    fn the_issuer_is_asked_because_of_unknown_keys_once_in_a_while() {
        let begun = Instant::now();
        let may_ask = |for_key, failed, now| Asked { for_key, failed }.may_ask(begun, now);
        assert!(may_ask(None, None, begun));
        assert!(!may_ask(Some(begun), None, begun + MIN_BETWEEN - Duration::from_millis(1)));
        assert!(may_ask(Some(begun), None, begun + MIN_BETWEEN));
        assert!(!may_ask(None, Some(begun + RETRY), begun + RETRY), "it has failed while the request waited");
    }
}
