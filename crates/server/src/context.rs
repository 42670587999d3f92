//! One request, read and admitted: what every endpoint is handed.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use proofmark_receipt::{Json, Sha256Digest};
use proofmark_verifier::{Decider, MAX_PAGE, Replayable, TenantStore};

use crate::body;
use crate::keys::{ApiKeys, Caller, Role};
use crate::origin;
use crate::problem::Problem;
use crate::services::Services;

/// The longest idempotency key, in bytes.
const MAX_KEY: usize = 200;

/// Who asks for what: a request that was admitted, without its body.
pub(crate) struct Head {
    pub(crate) caller: Caller,
    /// The variables of the path.
    pub(crate) path: HashMap<String, String>,
    pub(crate) parts: Parts,
}

/// A request whose body was read.
pub(crate) struct RequestContext<'a> {
    pub(crate) services: &'a Services,
    pub(crate) decider: &'a Decider,
    pub(crate) caller: Caller,
    /// Set when nobody waits for the answer any more.
    pub(crate) stop: Arc<AtomicBool>,
    path: HashMap<String, String>,
    query: Vec<(String, String)>,
    body: Vec<u8>,
    key: Option<(String, Sha256Digest)>,
}

impl<'a> RequestContext<'a> {
    pub(crate) fn new(
        services: &'a Services,
        head: Head,
        body: Vec<u8>,
        stop: Arc<AtomicBool>,
    ) -> Result<Self, Problem> {
        let Head { caller, path, parts } = head;
        let key = match parts.headers.get("idempotency-key").map(|value| value.to_str()) {
            None => None,
            Some(Ok(key)) if is_key(key) => {
                let place = parts.uri.path_and_query().map_or(parts.uri.path(), |place| place.as_str());
                let asked = [place.as_bytes(), b"\0", body.as_slice()].concat();
                Some((key.to_owned(), Sha256Digest::of(&asked)))
            }
            Some(_) => {
                let message = format!("the idempotency key has to have 1 to {MAX_KEY} visible ASCII characters");
                return Err(Problem::bad("invalid_idempotency_key", message));
            }
        };
        let query = pairs(parts.uri.query().unwrap_or_default())?;
        only_once(&query)?;
        Ok(Self { services, decider: &services.decider, caller, stop, path, query, body, key })
    }

    /// What is kept for the caller's tenant.
    pub(crate) fn store(&self) -> TenantStore<'a> {
        self.decider.store().of(&self.caller.tenant)
    }

    /// A variable of the path.
    pub(crate) fn variable(&self, name: &str) -> &str {
        self.path.get(name).map_or("", String::as_str)
    }

    /// The body.
    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }

    /// The JSON of the body.
    pub(crate) fn json(&self) -> Result<Json, Problem> {
        body::json(&self.body)
    }

    pub(crate) fn replayable(&self) -> Option<Replayable<'_>> {
        self.key.as_ref().map(|(key, request)| Replayable { key, request: *request })
    }

    /// Refuses parameters that nobody reads.
    pub(crate) fn only(&self, names: &[&str]) -> Result<(), Problem> {
        match self.query.iter().find(|(name, _)| !names.contains(&name.as_str())) {
            None => Ok(()),
            Some((name, _)) => {
                let message = format!("there is no parameter `{}`; known are {}", shown(name), names.join(", "));
                Err(Problem::bad("unknown_parameter", message))
            }
        }
    }

    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// How many a page has.
    pub(crate) fn limit(&self, unsaid: usize) -> Result<usize, Problem> {
        let what = format!("a number from 1 to {MAX_PAGE}");
        match self.parsed("limit", &what)?.unwrap_or(unsaid) {
            limit @ 1..=MAX_PAGE => Ok(limit),
            _ => Err(Problem::bad("invalid_parameter", format!("the parameter `limit` is not {what}"))),
        }
    }

    /// A parameter that is read as something else than text.
    pub(crate) fn parsed<T: std::str::FromStr>(&self, name: &str, as_what: &str) -> Result<Option<T>, Problem> {
        let wrong = |_| Problem::bad("invalid_parameter", format!("the parameter `{name}` is not {as_what}"));
        self.parameter(name).map(|text| text.parse().map_err(wrong)).transpose()
    }
}

/// Who calls, if they may do what is for `wanted`.
pub(crate) fn admit(
    keys: Option<&ApiKeys>,
    uri: &Uri,
    headers: &HeaderMap,
    wanted: Option<Role>,
) -> Result<Caller, Problem> {
    let Some(keys) = keys else {
        origin::is_of_this_host(uri, headers)?;
        return Ok(Caller::local());
    };
    origin::is_addressed(uri, headers)?;
    let caller = bearer(headers).and_then(|key| keys.caller(key)).ok_or_else(|| {
        let message = "the request carries no known API key; send one as `Authorization: Bearer …`, once";
        Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", message)
    })?;
    match wanted {
        Some(role) if !caller.role.may(role) => {
            let message = format!("this needs a key with the role `{}`", role.as_str());
            Err(Problem::new(StatusCode::FORBIDDEN, "forbidden", message))
        }
        Some(_) | None => Ok(caller.clone()),
    }
}

/// The key of the one `Authorization`; its scheme is in any letter case (RFC 9110, section 11.1).
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(only), None) = (given.next(), given.next()) else { return None };
    let (scheme, key) = only.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
}

fn is_key(key: &str) -> bool {
    !key.is_empty() && key.len() <= MAX_KEY && key.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Of a parameter that is there twice, nobody can say which one is meant.
fn only_once(query: &[(String, String)]) -> Result<(), Problem> {
    let mut seen = BTreeSet::new();
    match query.iter().find(|(name, _)| !seen.insert(name)) {
        None => Ok(()),
        Some((name, _)) => {
            let message = format!("the parameter `{}` is there twice; give it once", shown(name));
            Err(Problem::bad("repeated_parameter", message))
        }
    }
}

fn shown(name: &str) -> String {
    name.chars().take(60).collect()
}

fn pairs(query: &str) -> Result<Vec<(String, String)>, Problem> {
    let parts = query.split('&').filter(|part| !part.is_empty());
    let pair = |part: &str| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        Some((decoded(name)?, decoded(value)?))
    };
    let pairs: Option<Vec<_>> = parts.map(pair).collect();
    pairs.ok_or_else(|| Problem::bad("invalid_query", "the query is not percent-encoded UTF-8"))
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}
