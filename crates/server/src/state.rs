//! What all requests share, and how one is admitted.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use proofmark_verifier::clock;

use crate::body;
use crate::connections::Who;
use crate::context::Head;
use crate::figures::Figures;
use crate::keys::{ApiKeys, Caller, Role};
use crate::live_keys::{Credential, KeyInUse, LiveKeys};
use crate::mcp::Sessions;
use crate::oidc::{ClaimMap, Tokens};
use crate::origin;
use crate::peer::Peer;
use crate::peer_address::PeerAddress;
use crate::pool::Pool;
use crate::problem::Problem;
use crate::proxies::Sender;
use crate::rate::Rate;
use crate::readiness::Readiness;
use crate::reload::Stale;
use crate::services::Services;
use crate::share::{Limits, Share};
use crate::sign_ins::SignIns;
use crate::stop::Stops;

/// What all requests share.
pub struct AppState {
    pub services: Arc<Services>,
    pub(crate) sessions: Sessions,
    pub(crate) metrics: Option<Arc<Figures>>,
    pub limits: Arc<Limits>,
    pub stops: Arc<Stops>,
    /// For short work that takes a processor.
    pub(crate) pool: Pool,
    pub(crate) readiness: Readiness,
    pub(crate) stale: Arc<Stale>,
    /// The text of `/openapi.json`.
    pub(crate) description: String,
    /// Who is signed in to the pages.
    pub sign_ins: SignIns,
    callers: Callers,
}

/// Who may send requests, and how often.
pub(crate) struct Callers {
    /// None: every program of this host may.
    pub keys: Option<LiveKeys>,
    /// The tokens of an issuer that are accepted beside keys. If there are any, `keys` is set.
    pub(crate) tokens: Option<Tokens>,
    pub(crate) rate: Rate<String>,
    /// Of those who send requests before it is known who they are, by where they are.
    pub(crate) strangers: Rate<Option<Who>>,
}

/// The variables of a path, which may not be UTF-8.
pub type PathVariables = Result<RawPathParams, RawPathParamsRejection>;

impl AppState {
    /// # Errors
    /// When the system gives no thread.
    pub(crate) fn new(services: Services, callers: Callers, description: String) -> io::Result<Self> {
        // Without API keys, nobody knows which person sends a request.
        if callers.keys.is_some() {
            services.decider.vouch_for_reviewers();
        }
        let (services, limits, stops) = (Arc::new(services), Limits::new(), Stops::new());
        Ok(Self {
            pool: Pool::start()?,
            sessions: Sessions::new(&services, &limits, &stops),
            services,
            metrics: None,
            limits,
            stops,
            readiness: Readiness::default(),
            stale: Arc::default(),
            description,
            sign_ins: SignIns::default(),
            callers,
        })
    }

    /// The same, which answers `/metrics` with these figures.
    pub(crate) fn with_metrics(self, metrics: Option<Arc<Figures>>) -> Self {
        Self { metrics, ..self }
    }

    /// Accepts these API keys from here on, ends the sessions of callers who have none any more, and returns those before.
    pub(crate) fn replace_keys(&self, keys: ApiKeys) -> Arc<ApiKeys> {
        let Some(live) = &self.callers.keys else { return Arc::new(keys) };
        let before = live.replace(keys.clone());
        self.sessions.keep(|caller| caller.holds_token() || keys.has(caller));
        before
    }

    /// Applies these rules to tokens from here on, ends the sessions of their holders, who may have other rights by them, and returns the
    /// rules before.
    pub(crate) fn replace_claim_map(&self, map: ClaimMap) -> Arc<ClaimMap> {
        let Some(tokens) = &self.callers.tokens else { return Arc::new(map) };
        let new = map.fingerprint();
        let before = tokens.replace(map);
        if before.fingerprint() != new {
            self.sessions.keep(|caller| !caller.holds_token());
        }
        before
    }

    /// The tokens that are taken beside API keys, if any are.
    pub(crate) fn tokens(&self) -> Option<&Tokens> {
        self.callers.tokens.as_ref()
    }

    /// Admits a request whose caller has the role and has not called too often, and takes its share of all requests.
    pub(crate) async fn admit(
        &self,
        variables: PathVariables,
        request: Request,
        role: Option<Role>,
    ) -> Result<(Head, Body, Share), Problem> {
        let variables = read_variables(variables)?;
        let (parts, body) = request.into_parts();
        let (caller, credential) = self.authorize(&parts, role).await?;
        self.take_rate(&caller)?;
        let format = body::format(&parts.headers, &body)?;
        // This comes last, so that a refused request takes no share.
        let share = self.limits.requests.take(&caller.tenant, 1)?;
        Ok((Head { caller, credential, variables, parts, format }, body, share))
    }

    /// As [`authorize`], also by a token.
    async fn authorize(&self, parts: &Parts, role: Option<Role>) -> Result<(Caller, Option<Credential>), Problem> {
        let token = bearer(&parts.headers).filter(|bearer| Tokens::is_token(bearer));
        let Some((tokens, token)) = self.callers.tokens.as_ref().zip(token) else {
            let (caller, key) = authorize(self.callers.keys.as_ref(), parts, role)?;
            return Ok((caller, key.map(Credential::Key)));
        };
        origin::is_addressed(&parts.uri, &parts.headers)?;
        let token = tokens.admit(token, clock::known_in(self.services.decider.store())).await?;
        token.caller().role.check(role)?;
        Ok((token.caller().clone(), Some(Credential::Token(Box::new(token)))))
    }

    /// Refuses somebody who is not known yet and has called too often from one address.
    pub fn take_rate_of_stranger(&self, parts: &Parts) -> Result<(), Problem> {
        let sender = parts.extensions.get::<Sender>().map(Sender::who);
        let who = sender.or_else(|| Some(parts.extensions.get::<PeerAddress>()?.peer.ip().into()));
        self.callers.strangers.take(&who, Instant::now()).map_err(Problem::too_often)
    }

    /// Refuses a known caller who has called too often.
    pub fn take_rate(&self, caller: &Caller) -> Result<(), Problem> {
        // Neither a tenant nor an id contains a NUL, so the name is unambiguous.
        let name = format!("{}\0{}", caller.tenant, caller.id);
        self.callers.rate.take(&name, Instant::now()).map_err(Problem::too_often)
    }

    /// The API keys in force; none where every program of this host may call.
    pub fn keys(&self) -> Option<&LiveKeys> {
        self.callers.keys.as_ref()
    }
}

/// Who sends a request with this head, if they have the role: an account of this host by the socket, or one with an API key.
/// Without keys, programs of this host may.
pub fn authorize(
    keys: Option<&LiveKeys>,
    parts: &Parts,
    role: Option<Role>,
) -> Result<(Caller, Option<KeyInUse>), Problem> {
    let Parts { uri, headers, .. } = parts;
    // No page in a browser sends anything by a socket in the file system.
    if let Some(caller) = Peer::account(parts).filter(|_| !headers.contains_key(header::AUTHORIZATION)) {
        let caller = caller.clone();
        caller.role.check(role)?;
        // Sessions belong to a name: an account must not have those of a key.
        if keys.is_some_and(|keys| keys.name(&caller)) {
            return Err(Problem::account_like_key());
        }
        return Ok((caller, None));
    }
    let Some(keys) = keys else {
        // By the socket, nobody is the user of the command line.
        if Peer::account(parts).is_some() {
            return Err(Problem::unauthorized());
        }
        origin::is_of_this_host(uri, headers)?;
        // This caller is an `admin`, so the role need not be checked.
        return Ok((Caller::local(), None));
    };
    // `Origin` does not matter with keys: a browser adds none on its own, so a page without a key is refused below.
    origin::is_addressed(uri, headers)?;
    let key = bearer(headers).and_then(|key| keys.admit(key)).ok_or_else(Problem::unauthorized)?;
    key.caller().role.check(role)?;
    Ok((key.caller().clone(), Some(key)))
}

/// The variables of a path.
pub fn read_variables(variables: PathVariables) -> Result<HashMap<String, String>, Problem> {
    // The extractor is a `Result` so that this answer is a problem document; the one of axum is plain text.
    let variables = variables.map_err(|_| Problem::unknown_path())?;
    Ok(variables.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}

/// The key of the one `Authorization`; its scheme is in any letter case (RFC 9110, section 11.1).
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    // Of two, a proxy in front of this server might check the other one.
    let (Some(only), None) = (values.next(), values.next()) else { return None };
    let (scheme, key) = only.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
}
