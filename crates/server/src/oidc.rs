//! Tokens of an issuer of OpenID Connect, beside API keys: the issuer names the caller, and the rules of this server say what the caller may do.
//!
//! Who holds a token is named `ISSUER#SUBJECT`: no name, no address and nothing else that an issuer may give to another person later.
//! From here on a holder is a [`Caller`] like any other.

mod claim_map;
mod issuer;
mod key_set;
mod live_issuer_keys;
mod refusal;
mod signatures;
mod token;
mod unmapped;

use std::sync::Arc;
use std::time::Duration;

use proofmark_receipt::{Object, Timestamp};
use tokio::runtime::Builder;
use tokio::sync::watch;
use tokio::time::Instant;

pub use self::claim_map::ClaimMap;
use self::issuer::Issuer;
pub use self::issuer::{IssuerError, IssuerUrl, IssuerUrlError};
use self::key_set::IssuerKey;
use self::live_issuer_keys::{Held, LiveIssuerKeys, NoKey};
use self::refusal::Refusal;
use self::token::{Claims, Header, Wanted};
use self::unmapped::Unmapped;
use crate::keys::{Caller, MAX_HOLDER};
use crate::problem::Problem;

/// The issuer whose tokens a server accepts, and what their holders may do.
pub struct Oidc {
    pub issuer: IssuerUrl,
    /// The audience that tokens must be for.
    pub audience: String,
    pub map: ClaimMap,
}

impl Oidc {
    /// Asks the issuer once: how many of its keys tokens can be signed with.
    ///
    /// # Errors
    /// [`IssuerError`] where it does not answer, or cannot be used.
    pub fn probe(issuer: &IssuerUrl) -> Result<usize, IssuerError> {
        let issuer = Issuer::new(issuer.clone())?;
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| IssuerError::Threads(error.to_string()))?;
        Ok(runtime.block_on(issuer.keys())?.len())
    }
}

/// The tokens that a server accepts.
pub(crate) struct Tokens {
    wanted: Wanted,
    keys: LiveIssuerKeys,
    map: watch::Sender<Arc<ClaimMap>>,
}

/// The token by which a request was admitted.
#[derive(Clone)]
pub struct TokenInUse {
    caller: Caller,
    claims: Arc<Object>,
    key: IssuerKey,
    until: Instant,
    keys: watch::Receiver<Held>,
    map: watch::Receiver<Arc<ClaimMap>>,
}

impl Tokens {
    pub(crate) fn new(oidc: Oidc) -> Result<Self, IssuerError> {
        signatures::install();
        let Oidc { issuer, audience, map } = oidc;
        let wanted = Wanted { issuer: issuer.as_str().to_owned(), audience };
        let keys = LiveIssuerKeys::new(Issuer::new(issuer)?);
        Ok(Self { wanted, keys, map: watch::Sender::new(Arc::new(map)) })
    }

    /// Whether a bearer is a token rather than an API key.
    pub(crate) fn is_token(bearer: &str) -> bool {
        token::is_token(bearer)
    }

    /// Whose token this is, at this time.
    pub(crate) async fn admit(&self, token: &str, now: Timestamp) -> Result<TokenInUse, Problem> {
        let header = Header::read(token).map_err(refused)?;
        let key = self.keys.key(&header.key_id).await.map_err(|none| match none {
            NoKey::Refused(refusal) => refused(refusal),
            NoKey::Unavailable => unavailable(),
        })?;
        let seconds = now.unix_millis() as f64 / 1_000.0;
        let claims = header.claims(token, &key, &self.wanted, seconds).map_err(refused)?;
        // It subscribes before the rules are read: those that change in between are noticed.
        let (keys, map) = (self.keys.watch(), self.map.subscribe());
        let holder = self.holder(&claims).map_err(refused)?;
        let rules = Arc::clone(&map.borrow());
        let caller = caller(&holder, &rules, &claims.all).map_err(|unmapped| {
            count(unmapped.cause());
            unmapped.problem(&holder)
        })?;
        let until = Instant::now() + Duration::try_from_secs_f64(claims.until - seconds).unwrap_or_default();
        Ok(TokenInUse { caller, claims: Arc::new(claims.all), key, until, keys, map })
    }

    /// The name of who holds a token. An issuer has no `#`, so no two subjects of any issuers have one name.
    fn holder(&self, claims: &Claims) -> Result<String, Refusal> {
        let holder = format!("{}#{}", self.wanted.issuer, claims.subject);
        if holder.len() > MAX_HOLDER { Err(Refusal::Subject) } else { Ok(holder) }
    }

    /// Applies these rules from here on, and returns those before.
    pub(crate) fn replace(&self, map: ClaimMap) -> Arc<ClaimMap> {
        self.map.send_replace(Arc::new(map))
    }

    /// Keeps the keys of the issuer up to date, for as long as this is polled.
    pub(crate) async fn refresh(&self) {
        self.keys.refresh().await;
    }
}

impl TokenInUse {
    /// Whose token it is.
    #[must_use]
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Becomes ready when the token no longer counts: it has expired, its key is not one of the issuer's, or the rules give its
    /// holder something else.
    pub async fn ended(self) {
        let Self { caller: admitted, claims, key, until, mut keys, mut map } = self;
        let is_other = |map: &Arc<ClaimMap>| caller(&admitted.id, map, &claims).as_ref() != Ok(&admitted);
        let mut ages = keys.clone();
        let key_ended = async {
            tokio::select! {
                () = key_ended(&mut keys, &key) => {}
                () = keys_too_old(&mut ages) => {}
            }
        };
        let rules_changed = async {
            if map.wait_for(is_other).await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            () = tokio::time::sleep_until(until) => {}
            () = key_ended => {}
            () = rules_changed => {}
        }
    }
}

/// Becomes ready when the issuer no longer has this key.
async fn key_ended(keys: &mut watch::Receiver<Held>, key: &IssuerKey) {
    if keys.wait_for(|held| !held.has(key)).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Becomes ready when none of the issuer's keys counts, because the issuer has not answered for too long.
async fn keys_too_old(keys: &mut watch::Receiver<Held>) {
    loop {
        let Some(until) = keys.borrow_and_update().until() else { return };
        tokio::select! {
            () = tokio::time::sleep_until(until) => return,
            changed = keys.changed() => if changed.is_err() {
                std::future::pending::<()>().await;
            },
        }
    }
}

/// The holder with this name, as these rules have it.
fn caller(holder: &str, map: &ClaimMap, claims: &Object) -> Result<Caller, Unmapped> {
    let grant = map.grant(claims)?;
    Ok(Caller {
        id: holder.to_owned(),
        role: grant.role,
        tenant: grant.tenant,
        roles: grant.holds,
        signer: None,
        policy: grant.policy,
    })
}

fn refused(refusal: Refusal) -> Problem {
    count(refusal.words().0);
    refusal.problem()
}

fn unavailable() -> Problem {
    count("issuer_unavailable");
    Problem::unavailable(
        "issuer_unavailable",
        "the issuer of the token does not answer, so the token cannot be checked",
    )
    .help("send the request again later; the operator of the server finds the cause in its log")
}

/// Counts a refusal by its cause.
fn count(cause: &'static str) {
    metrics::counter!("proofmark_token_refusals_total", "cause" => cause).increment(1);
}

#[cfg(test)]
mod tests;
