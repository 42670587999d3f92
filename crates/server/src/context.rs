//! One admitted request: what every handler is given.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use axum::http::HeaderMap;
use axum::http::request::Parts;
use percent_encoding::percent_decode_str;
use proofmark_boundary::Asker;
use proofmark_decider::{Decider, Replayable};
use proofmark_receipt::document::{Format, shown};
use proofmark_receipt::{Json, ReceiptId, Sha256Digest};
use proofmark_store::{MAX_PAGE, TenantStore};

use crate::body::{self, Sent};
use crate::keys::Caller;
use crate::live_keys::Credential;
use crate::peer;
use crate::problem::Problem;
use crate::services::Services;
use crate::share::Share;

/// The longest idempotency key, in bytes.
const MAX_KEY: usize = 200;

/// A request that was admitted, without its body.
pub struct Head {
    pub caller: Caller,
    /// What the caller sent to be admitted, where the server asks for that.
    pub credential: Option<Credential>,
    /// The variables of the path.
    pub variables: HashMap<String, String>,
    pub parts: Parts,
    /// What the body is declared to be.
    pub format: Format,
}

/// A request whose body was read.
pub struct RequestContext<'a> {
    pub services: &'a Services,
    pub decider: &'a Arc<Decider>,
    pub caller: Caller,
    /// The same, as decisions have it.
    pub asker: Asker,
    /// Set when no client waits for the answer any more.
    pub stop: Arc<AtomicBool>,
    variables: HashMap<String, String>,
    query: Vec<(String, String)>,
    body: Vec<u8>,
    pub(crate) idempotency: Option<(String, Sha256Digest)>,
}

/// The body of a request: the bytes as sent, by which a repetition is recognised, and as JSON.
pub struct Content {
    digest: Sha256Digest,
    json: Vec<u8>,
}

impl Content {
    /// Reads what the client sent for this head.
    pub fn read(head: &Head, sent: Sent, memory: &mut Share) -> Result<Self, Problem> {
        let sent = sent.unpack(memory)?;
        // Without the host: the absolute form of a target is the same request.
        let uri = &head.parts.uri;
        let place = uri.path_and_query().map_or(uri.path(), |place| place.as_str());
        // A URI contains no NUL, so no other path and body have the same bytes together.
        let digest = Sha256Digest::of(&[place.as_bytes(), b"\0", sent.as_slice()].concat());
        Ok(Self { digest, json: body::to_json(head.format, sent, memory)? })
    }
}

impl Head {
    /// The receipt or the job that the path names.
    pub(crate) fn id(&self) -> Option<ReceiptId> {
        self.variables.get("id")?.parse().ok()
    }
}

impl<'a> RequestContext<'a> {
    /// The request with this head and content.
    ///
    /// # Errors
    /// [`Problem`] for a query or an idempotency key that cannot be read, or has two readings.
    pub fn new(services: &'a Services, head: Head, content: Content, stop: Arc<AtomicBool>) -> Result<Self, Problem> {
        let Head { caller, credential, variables, parts, .. } = head;
        let asker = peer::asker(&parts, &caller, credential.is_some());
        let Content { digest, json: body } = content;
        let idempotency = idempotency_key(&parts.headers)?.map(|key| (key, digest));
        let query = pairs(parts.uri.query().unwrap_or_default())?;
        refuse_repeated(&query)?;
        Ok(Self { services, decider: &services.decider, caller, asker, stop, variables, query, body, idempotency })
    }

    /// Who asks, and the policy of this name: by default the one that the caller's key names, or that their tenant asks where none is
    /// named.
    ///
    /// # Errors
    /// [`Problem`] where there is none, and where the caller's key names another.
    pub fn asks(&self, policy: Option<&str>) -> Result<Asker, Problem> {
        asks(self.decider, &self.caller, &self.asker, policy)
    }

    /// What is stored for the caller's tenant.
    pub fn store(&self) -> TenantStore<'a> {
        self.decider.store().of(&self.caller.tenant)
    }

    /// A variable of the path.
    pub fn variable(&self, name: &str) -> &str {
        self.variables.get(name).map_or("", String::as_str)
    }

    /// The body, as it was sent; JSON where it was declared to be YAML.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// The body as JSON.
    ///
    /// # Errors
    /// [`Problem`] where it is none.
    pub fn json(&self) -> Result<Json, Problem> {
        body::json(&self.body, body::MAX_BODY)
    }

    pub(crate) fn replayable(&self) -> Option<Replayable<'_>> {
        self.idempotency.as_ref().map(|(key, request)| Replayable { key, request: *request })
    }

    /// Refuses parameters that the endpoint does not have: a misspelt filter would look as if it had been applied.
    pub fn only(&self, names: &[&str]) -> Result<(), Problem> {
        match self.query.iter().find(|(name, _)| !names.contains(&name.as_str())) {
            None => Ok(()),
            Some((name, _)) => {
                let help = match names {
                    [] => "this endpoint has no parameters".to_owned(),
                    names => format!("the parameters of this endpoint are {}", names.join(", ")),
                };
                Err(Problem::bad("unknown_parameter", format!("unknown parameter `{}`", shown(name))).help(help))
            }
        }
    }

    /// A parameter of the query.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// How many items a page has.
    pub(crate) fn limit(&self, default: usize) -> Result<usize, Problem> {
        let what = format!("a number from 1 to {MAX_PAGE}");
        match self.parsed("limit", &what)?.unwrap_or(default) {
            limit @ 1..=MAX_PAGE => Ok(limit),
            _ => Err(invalid_parameter("limit", &what)),
        }
    }

    /// A parameter of the query as a value; `what` says in the error what to write.
    ///
    /// # Errors
    /// [`Problem`] where it is none.
    pub fn parsed<T: std::str::FromStr>(&self, name: &str, what: &str) -> Result<Option<T>, Problem> {
        self.parameter(name).map(|text| text.parse().map_err(|_| invalid_parameter(name, what))).transpose()
    }
}

/// As [`RequestContext::asks`], for `caller`.
pub(crate) fn asks(decider: &Decider, caller: &Caller, asker: &Asker, policy: Option<&str>) -> Result<Asker, Problem> {
    let name = match (caller.policy.as_deref(), policy) {
        (Some(own), Some(other)) if own != other => return Err(Problem::other_policy(own)),
        (own, named) => own.or(named),
    };
    let (name, _) = decider.policy_of(&caller.tenant, name)?;
    Ok(Asker { policy: Some(name), ..asker.clone() })
}

/// A parameter that is not `what`.
pub fn invalid_parameter(name: &str, what: &str) -> Problem {
    Problem::bad("invalid_parameter", format!("invalid parameter `{name}`")).help(format!("write {what}"))
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let mut values = headers.get_all("idempotency-key").iter().map(|value| value.to_str());
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(Ok(key)), None) if is_idempotency_key(key) => Ok(Some(key.to_owned())),
        (Some(_), None) => Err(Problem::bad("invalid_idempotency_key", "invalid idempotency key")
            .help(format!("write 1 to {MAX_KEY} visible ASCII characters"))),
        // Which of two keys a repetition is recognised by would be a guess.
        (Some(_), Some(_)) => Err(Problem::bad("invalid_idempotency_key", "the idempotency key is repeated")
            .help("send one `Idempotency-Key`")),
    }
}

fn is_idempotency_key(key: &str) -> bool {
    (1..=MAX_KEY).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Which of two values of one parameter is meant is a guess that proxies and servers make differently.
pub fn refuse_repeated(query: &[(String, String)]) -> Result<(), Problem> {
    let mut names = BTreeSet::new();
    match query.iter().find(|(name, _)| !names.insert(name)) {
        None => Ok(()),
        Some((name, _)) => {
            let message = format!("the parameter `{}` is repeated", shown(name));
            Err(Problem::bad("repeated_parameter", message).help("give it once"))
        }
    }
}

/// The names and values of a query or of a form, decoded.
pub fn pairs(query: &str) -> Result<Vec<(String, String)>, Problem> {
    let pairs = query.split('&').filter(|part| !part.is_empty()).map(|part| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        Some((decoded(name)?, decoded(value)?))
    });
    pairs
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| Problem::bad("invalid_query", "the query is not percent-encoded UTF-8"))
}

/// The decoder passes a `%` without two digits on as text, so those are refused before.
fn decoded(text: &str) -> Option<String> {
    let mut escapes = text.split('%').skip(1);
    if !escapes.all(|rest| rest.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2) {
        return None;
    }
    // Forms write a space as `+`. Before decoding, because `%2B` is a plus.
    let spaced = text.replace('+', " ");
    let decoded = percent_decode_str(&spaced).decode_utf8().ok()?;
    // PostgreSQL stores no NUL, and programs in C end a text there.
    (!decoded.contains('\0')).then(|| decoded.into_owned())
}
