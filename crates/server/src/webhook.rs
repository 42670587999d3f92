//! Tells a program of the operator what waits for a review: an event (CloudEvents 1.0) for each action that waits.
//!
//! What is to be told is read from the store, so nothing of it is lost in a restart, and other processes' decisions are told as well. An
//! event is sent until it is taken, or the decision does not wait any more. Of the servers on a store with the same webhook one tells it,
//! while its lease lasts. What was taken is remembered in memory: after a restart, or when another server takes over, what still waits is
//! sent again under the same id. Decisions never wait for any of this. What is answered counts for nothing but having taken the event.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, Method, Request, StatusCode, Uri, header};
use base64ct::{Base64, Encoding};
use hmac::{Hmac, KeyInit, Mac};
use proofmark_receipt::document::shown;
use proofmark_receipt::{Json, Sha256Digest, SignerId, Timestamp, object};
use proofmark_store::{Cursor, Decision, StoreError, Tenant, WaitingNotice};
use proofmark_verifier::clock;
use sha2::Sha256;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::origin;
use crate::outgoing::{self, HttpsClient};
use crate::services::Services;

/// How often the store is asked what waits.
const ROUND: Duration = Duration::from_secs(1);
/// How long an event may take to be sent and answered.
const MAX_SENDING: Duration = Duration::from_secs(10);
/// How long after a failure an event is sent again at first, and at most.
const FIRST_DELAY: Duration = Duration::from_secs(1);
const MAX_DELAY: Duration = Duration::from_secs(300);
/// How many events that were not taken are held; while there are so many, no others are sent.
const MAX_OPEN: usize = 10_000;
/// The shortest and the longest secret, in bytes (Standard Webhooks).
const SECRET_BYTES: std::ops::RangeInclusive<usize> = 24..=64;
/// How the text of a secret begins.
const SECRET_PREFIX: &str = "whsec_";
/// The longest name in an event, in characters.
const MAX_NAME: usize = 120;
/// What is told.
const EVENT_TYPE: &str = "org.proofmark.decision.waiting";

/// Where events go, and what they are signed with.
pub struct Webhook {
    address: Uri,
    secret: Vec<u8>,
    /// What the servers on a store call telling it, one of which does.
    duty: String,
    client: HttpsClient,
}

/// Why there is no webhook, completing "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    #[error("read the address of the webhook `{}`: it is not a URL like https://example.org/hook", shown(.0))]
    Url(String),
    #[error("send events to `{}`: they would be readable on the way; write `https://`", shown(.0))]
    Plain(String),
    #[error("read the secret of the webhook: it is not `whsec_` and 24 to 64 bytes in base64")]
    Secret,
    #[error("read the system's certificates ({0})")]
    Certificates(io::Error),
}

impl WebhookError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::Url(_) => Some("write it without a user and a password"),
            Self::Plain(_) => Some("use https; only to this host are events sent over http"),
            Self::Secret => Some("write one with `echo \"whsec_$(openssl rand -base64 32)\" > FILE`"),
            Self::Certificates(_) => Some("install the package `ca-certificates`, or name a file in SSL_CERT_FILE"),
        }
    }
}

impl Webhook {
    /// The webhook at this URL, whose receiver has the same secret. No other address is ever called: redirections are not followed.
    ///
    /// # Errors
    /// [`WebhookError`] for an address or a secret that cannot be used.
    pub fn new(url: &str, secret: &str) -> Result<Self, WebhookError> {
        let invalid = || WebhookError::Url(url.to_owned());
        let address: Uri = url.parse().map_err(|_| invalid())?;
        let authority = address.authority().ok_or_else(invalid)?;
        let is_tls = match address.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(invalid()),
        };
        if authority.as_str().contains('@') || authority.host().is_empty() || url.contains('#') {
            return Err(invalid());
        }
        if !is_tls && !origin::is_loopback(authority.as_str()) {
            return Err(WebhookError::Plain(url.to_owned()));
        }
        let secret = secret.trim().strip_prefix(SECRET_PREFIX).and_then(|text| Base64::decode_vec(text).ok());
        let secret = secret.filter(|secret| SECRET_BYTES.contains(&secret.len())).ok_or(WebhookError::Secret)?;
        let client = outgoing::client(MAX_SENDING).map_err(WebhookError::Certificates)?;
        // An address may have a secret in it, and may be long.
        let duty = format!("webhook {}", Sha256Digest::of(address.to_string().as_bytes()));
        Ok(Self { address, secret, duty, client })
    }

    /// Sends an event.
    async fn send(&self, id: &str, body: &str, seconds: u64) -> Result<(), Failed> {
        let signature =
            signature(&self.secret, id, seconds, body).ok_or_else(|| Failed::lost("the secret is empty"))?;
        let mut request = Request::new(Body::from(body.to_owned()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.address.clone();
        let headers = [
            ("webhook-id", id.to_owned()),
            ("webhook-timestamp", seconds.to_string()),
            ("webhook-signature", signature),
        ];
        for (name, value) in headers {
            let value = HeaderValue::try_from(value).map_err(|error| Failed::lost(&error))?;
            request.headers_mut().insert(name, value);
        }
        let json = HeaderValue::from_static("application/cloudevents+json; charset=UTF-8");
        request.headers_mut().insert(header::CONTENT_TYPE, json);
        let answer = tokio::time::timeout(MAX_SENDING, self.client.request(request)).await;
        // The body of the answer is not read: nothing that it could say counts.
        match answer {
            Ok(Ok(answer)) if answer.status().is_success() => Ok(()),
            Ok(Ok(answer)) => Err(Failed::Answered(answer.status())),
            Ok(Err(error)) => Err(Failed::lost(&outgoing::causes(&error))),
            Err(_) => Err(Failed::lost("it did not answer in time")),
        }
    }
}

/// Why an event was not taken.
enum Failed {
    Answered(StatusCode),
    /// The receiver cannot be reached, so that others would fail as well.
    Lost(String),
}

impl Failed {
    fn lost(error: &(impl ToString + ?Sized)) -> Self {
        Self::Lost(shown(&error.to_string()))
    }
}

/// `v1,` and the base64 of HMAC-SHA256 over the id, the time and the body (Standard Webhooks).
fn signature(secret: &[u8], id: &str, seconds: u64, body: &str) -> Option<String> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).ok()?;
    mac.update(format!("{id}.{seconds}.{body}").as_bytes());
    Some(format!("v1,{}", Base64::encode_string(&mac.finalize().into_bytes())))
}

/// The event: who waits with what tool. No argument is in it, since arguments hold secrets and the receiver is another program.
fn event(notice: &WaitingNotice, named: &Named, signer: SignerId) -> String {
    let name = |text: &Option<String>| text.as_ref().map(|text| text.chars().take(MAX_NAME).collect::<String>());
    let data = object! {
        "decision_id": notice.decision_id.as_str(),
        "tenant": notice.tenant.as_str(),
        "tool"?: name(&named.tool),
        "class"?: name(&named.class),
        "agent"?: name(&named.agent),
        "page": format!("/ui/decisions/{}", notice.decision_id),
    };
    let event = object! {
        "specversion": "1.0",
        // Of the first decision: asking for the same action again while it waits makes no new event.
        "id": notice.first.as_str(),
        "source": format!("urn:proofmark:{}", signer.fingerprint()),
        "type": EVENT_TYPE,
        "subject": notice.decision_id.as_str(),
        "time": Timestamp::from_unix_millis(notice.since).as_str(),
        "datacontenttype": "application/json",
        "data": data,
    };
    Json::Object(event).to_text()
}

/// What an event says of a decision.
#[derive(Default)]
struct Named {
    tool: Option<String>,
    class: Option<String>,
    agent: Option<String>,
}

impl Named {
    /// What waits at this place, if something still does, and what it is called.
    fn at(services: &Services, tenant: &Tenant, place: Cursor) -> Result<Option<(WaitingNotice, Self)>, StoreError> {
        let store = services.decider.store().of(tenant);
        let Some(notice) = store.waiting_notice(place)? else { return Ok(None) };
        let stored = store.decision(&notice.decision_id)?;
        let named = stored.map(|stored| Self::of(services, &stored)).unwrap_or_default();
        Ok(Some((notice, named)))
    }

    /// What was signed, and nothing that somebody may have written beside it.
    fn of(services: &Services, stored: &Decision) -> Self {
        let receipt = match services.decider.signed(stored) {
            Ok(receipt) => receipt,
            Err(error) => {
                warn!(decision = stored.decision_id, cause = error.to_string(), "what waits is not what was signed");
                return Self::default();
            }
        };
        let action = stored.about.action.as_deref().and_then(|action| Json::parse(action.as_bytes()).ok());
        let tool = action.as_ref().and_then(|action| action.as_object()?.get("tool")?.as_str());
        Self {
            tool: tool.map(str::to_owned),
            class: receipt.document().get("action_class").and_then(Json::as_str).map(str::to_owned),
            agent: receipt.bound("agent").map(str::to_owned),
        }
    }
}

/// What was sent of what waits: each event up to `seen` was taken, does not wait any more, or is in `open`.
#[derive(Default)]
struct Sent {
    seen: Option<Cursor>,
    open: BTreeMap<Cursor, Open>,
}

/// An event that was not taken yet.
struct Open {
    tenant: Tenant,
    /// How often it failed, and when it is sent again.
    failed: u32,
    due: Instant,
}

impl Sent {
    /// Notes what waits since the last round.
    fn add(&mut self, notices: &[WaitingNotice], now: Instant) {
        for notice in notices {
            self.seen = self.seen.max(Some(notice.place));
            self.open.insert(notice.place, Open { tenant: notice.tenant.clone(), failed: 0, due: now });
        }
    }

    /// What is to be sent, in the order in which it began to wait.
    fn due(&self, now: Instant) -> Vec<(Tenant, Cursor)> {
        let due = self.open.iter().filter(|(_, open)| open.due <= now);
        due.map(|(place, open)| (open.tenant.clone(), *place)).collect()
    }

    fn fail(&mut self, place: Cursor, now: Instant) {
        if let Some(open) = self.open.get_mut(&place) {
            let delay = FIRST_DELAY.saturating_mul(1_u32.checked_shl(open.failed).unwrap_or(u32::MAX)).min(MAX_DELAY);
            open.failed = open.failed.saturating_add(1).min(31);
            open.due = now + delay;
        }
    }

    /// It was taken, or does not wait any more.
    fn forget(&mut self, place: Cursor) {
        self.open.remove(&place);
    }
}

/// Tells what waits until the server ends, while no other server on the store tells this webhook.
pub(crate) async fn tell(webhook: Webhook, services: Arc<Services>) {
    let (mut sent, mut tells, mut rounds) = (Sent::default(), None, tokio::time::interval(ROUND));
    rounds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        rounds.tick().await;
        let duty = webhook.duty.clone();
        let Some(has_duty) = asked(&services, move |services| services.verifications.take_on(&duty)).await else {
            // The next round tries again; decisions say what the store cannot do.
            continue;
        };
        if tells.replace(has_duty) != Some(has_duty) {
            info!("{}", if has_duty { "this server tells the webhook" } else { "another server tells the webhook" });
        }
        if has_duty {
            send_due(&webhook, &services, &mut sent).await;
        }
    }
}

/// What the store answers; none where it fails.
async fn asked<T: Send + 'static>(
    services: &Arc<Services>,
    ask: impl FnOnce(&Services) -> Result<T, StoreError> + Send + 'static,
) -> Option<T> {
    let services = Arc::clone(services);
    tokio::task::spawn_blocking(move || ask(&services)).await.ok()?.ok()
}

/// Sends what is due, until one fails as all others would.
async fn send_due(webhook: &Webhook, services: &Arc<Services>, sent: &mut Sent) {
    if sent.open.len() < MAX_OPEN {
        let after = sent.seen;
        let new = asked(services, move |services| services.decider.store().all_tenants_waiting(after)).await;
        sent.add(&new.unwrap_or_default(), Instant::now());
    }
    let signer = services.decider.key().signer();
    for (tenant, place) in sent.due(Instant::now()) {
        // While this one waited for the receiver, another server may have taken over.
        if !services.verifications.is_renewed() {
            return;
        }
        let (notice, named) = match asked(services, move |services| Named::at(services, &tenant, place)).await {
            Some(Some(found)) => found,
            Some(None) => {
                sent.forget(place);
                continue;
            }
            None => {
                sent.fail(place, Instant::now());
                continue;
            }
        };
        let (id, seconds) = (&*notice.first, clock::now().unix_seconds());
        match webhook.send(id, &event(&notice, &named, signer), seconds).await {
            Ok(()) => {
                info!(decision = id, "the webhook has taken that it waits");
                sent.forget(place);
            }
            Err(Failed::Answered(status)) => {
                sent.fail(place, Instant::now());
                warn!(decision = id, status = status.as_u16(), "the webhook did not take that it waits");
            }
            Err(Failed::Lost(cause)) => {
                sent.fail(place, Instant::now());
                warn!(decision = id, cause, "the webhook cannot be reached");
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification of Standard Webhooks.
    #[test]
    fn the_signature_is_that_of_standard_webhooks() {
        let secret = Base64::decode_vec("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let body = r#"{"test": 2432232314}"#;
        let signature = signature(&secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body);
        assert_eq!(signature.unwrap(), "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn an_address_is_the_operators_and_a_secret_is_long() {
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        for url in ["", "/hook", "ftp://h/hook", "https://u:p@h/hook", "https://h/#a"] {
            assert!(matches!(Webhook::new(url, secret), Err(WebhookError::Url(_))), "{url}");
        }
        for url in ["http://example.org/hook", "http://localhost.example.org/hook", "http://169.254.169.254/hook"] {
            assert!(matches!(Webhook::new(url, secret), Err(WebhookError::Plain(_))), "{url}");
        }
        for secret in ["", "whsec_", "whsec_c2hvcnQ=", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_%%%"] {
            assert!(matches!(Webhook::new("http://localhost/hook", secret), Err(WebhookError::Secret)), "{secret}");
        }
        assert!(Webhook::new("http://127.0.0.1:9/hook", &format!("{secret}\n")).is_ok());
    }

    #[test]
    fn what_failed_is_sent_again_later_and_later() {
        let (mut sent, begun) = (Sent::default(), Instant::now());
        let [place, later]: [Cursor; 2] = ["s3", "s4"].map(|text| text.parse().unwrap());
        let notice = |place| WaitingNotice {
            tenant: Tenant::LOCAL,
            place,
            decision_id: String::new(),
            first: String::new(),
            since: 0,
        };
        sent.add(&[notice(place)], begun);
        let is_due = |sent: &Sent, at| sent.due(at).iter().any(|(_, due)| *due == place);
        assert!(is_due(&sent, begun));
        for seconds in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
            sent.fail(place, begun);
            let (before, after) = (Duration::from_millis(seconds * 1_000 - 1), Duration::from_secs(seconds));
            assert!(!is_due(&sent, begun + before) && is_due(&sent, begun + after), "{seconds}");
        }
        sent.add(&[notice(later)], begun);
        assert_eq!(sent.due(begun), [(Tenant::LOCAL, later)], "others do not wait for it");
        sent.forget(place);
        assert!(!is_due(&sent, begun + MAX_DELAY * 9));
        assert_eq!(sent.seen, Some(later), "what was taken is behind what was seen");
    }
}
