//! Who is signed in to the pages: a random token in a cookie stands for an API key.
//!
//! Browsers send a cookie to every port of a host. Over TLS its name begins with `__Host-`, so that nothing without TLS sets or
//! receives it. Without TLS any program that listens on another port of the host can receive it. A token counts only where it was
//! given out: for the host and port that the sign-in was addressed to, and under the same name.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, header};
use proofmark_receipt::Sha256Digest;

use crate::problem::Problem;

/// Where the pages begin. Without TLS the cookie is sent there alone.
pub const START: &str = "/ui";
/// How long a sign-in lasts.
const LASTS: Duration = Duration::from_secs(12 * 60 * 60);
/// The most there are; the oldest ends for one more.
const MAX_SIGN_INS: usize = 4_096;
/// The most of one API key; the oldest of them ends for one more.
const MAX_OF_ONE_KEY: usize = 64;
/// The longest note that is kept, in bytes: no longer one can be stored either.
const MAX_DRAFT: usize = 4_096;
/// The name of the cookie over TLS: browsers take it from a host alone, over TLS, for all of its paths (RFC 6265bis, section 4.1.3.2).
const OVER_TLS: &str = "__Host-proofmark";
/// How the name begins without TLS. The port follows, so that two servers of one host do not end each other's sign-ins.
const WITHOUT_TLS: &str = "proofmark-";

/// They are in memory: a restart ends them, and with a revoked key ends what it signed in.
#[derive(Default)]
pub struct SignIns {
    // By the digest of the token: what is looked up reveals nothing about a token by the time it takes.
    all: Mutex<HashMap<Sha256Digest, SignIn>>,
}

struct SignIn {
    /// SHA-256 of the API key.
    key: Sha256Digest,
    until: Instant,
    /// What was typed when the sign-in before this one had ended.
    draft: Option<Draft>,
}

/// A review that was typed and not stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    pub decision_id: String,
    pub note: String,
}

/// The host and port that a request is addressed to, and whether it came over TLS.
pub struct Place {
    host: String,
    tls: bool,
}

/// The token of a request, by its digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Of the token, the name of its cookie, and the host and port that it came to.
    digest: Sha256Digest,
    name: String,
}

impl Place {
    /// None without one `Host`.
    pub fn of(headers: &HeaderMap, tls: bool) -> Option<Self> {
        let host = headers.get(header::HOST)?.to_str().ok()?.to_ascii_lowercase();
        Some(Self { host, tls })
    }

    /// The name of the cookie.
    fn name(&self) -> String {
        if self.tls {
            return OVER_TLS.to_owned();
        }
        let port = self.host.rsplit_once(':').map(|(_, port)| port);
        let port = port.filter(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()));
        format!("{WITHOUT_TLS}{}", port.unwrap_or("80"))
    }

    fn token(&self, token: &str) -> Token {
        let name = self.name();
        // A cookie has none of these line ends.
        Token { digest: Sha256Digest::of(format!("{name}\n{}\n{token}", self.host).as_bytes()), name }
    }
}

impl Token {
    /// That of the one cookie of this name; over TLS, of the name that it has there.
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let pairs = cookies.flat_map(|cookies| cookies.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let pairs: Vec<_> = pairs.collect();
        let places = [true, false].into_iter().filter_map(|tls| Place::of(headers, tls));
        let mut found = places.map(|place| {
            let name = place.name();
            let tokens: Vec<_> = pairs.iter().filter(|(known, _)| *known == name).map(|(_, token)| *token).collect();
            (place, tokens)
        });
        let (place, tokens) = found.find(|(_, tokens)| !tokens.is_empty())?;
        match tokens.as_slice() {
            [token] => Some(place.token(token)),
            // Of two, another page of this host may have set one.
            _ => None,
        }
    }
}

impl SignIns {
    /// Signs in the holder of the key with this digest; the value of `Set-Cookie`.
    pub fn begin(&self, key: Sha256Digest, draft: Option<Draft>, place: &Place) -> Result<String, Problem> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|error| Problem::internal().cause(error))?;
        // The digest is as hard to guess as the bytes, and has the spelling of a token.
        let token = Sha256Digest::of(&bytes).bare_hex();
        let now = Instant::now();
        let mut all = self.lock();
        all.retain(|_, sign_in| sign_in.until > now);
        // One holder of a key must not end the sign-ins of others.
        if all.values().filter(|sign_in| sign_in.key == key).count() >= MAX_OF_ONE_KEY {
            end_oldest(&mut all, |sign_in| sign_in.key == key);
        }
        if all.len() >= MAX_SIGN_INS {
            end_oldest(&mut all, |_| true);
        }
        let draft = draft.filter(|draft| draft.note.len() <= MAX_DRAFT);
        let known = place.token(&token);
        all.insert(known.digest, SignIn { key, until: now + LASTS, draft });
        Ok(cookie(&known.name, &token, LASTS))
    }

    /// The digest of the API key that a token stands for.
    pub fn key(&self, token: &Token) -> Option<Sha256Digest> {
        self.lock().get(&token.digest).filter(|sign_in| sign_in.until > Instant::now()).map(|sign_in| sign_in.key)
    }

    /// What was typed about this decision before the sign-in.
    pub fn draft(&self, token: &Token, decision_id: &str) -> Option<String> {
        let draft = self.lock().get(&token.digest)?.draft.clone()?;
        (draft.decision_id == decision_id).then_some(draft.note)
    }

    /// Forgets what was typed: it is stored, or was given up.
    pub fn forget_draft(&self, token: &Token) {
        if let Some(sign_in) = self.lock().get_mut(&token.digest) {
            sign_in.draft = None;
        }
    }

    /// Ends a sign-in; the value of `Set-Cookie` that removes the cookie.
    pub fn end(&self, token: &Token) -> String {
        self.lock().remove(&token.digest);
        cookie(&token.name, "", Duration::ZERO)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Sha256Digest, SignIn>> {
        // Nothing panics while it is locked, so its content is whole.
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The value of `Set-Cookie`.
fn cookie(name: &str, token: &str, lasts: Duration) -> String {
    let (path, secure) = if name == OVER_TLS { ("/", "; Secure") } else { (START, "") };
    format!("{name}={token}; Path={path}; Max-Age={}; HttpOnly; SameSite=Strict{secure}", lasts.as_secs())
}

fn end_oldest(all: &mut HashMap<Sha256Digest, SignIn>, of: impl Fn(&SignIn) -> bool) {
    let those = all.iter().filter(|(_, sign_in)| of(sign_in));
    if let Some(oldest) = those.min_by_key(|(_, sign_in)| sign_in.until).map(|(token, _)| *token) {
        all.remove(&oldest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent_to(host: &str, cookie: &str) -> Option<Token> {
        let headers = [(header::COOKIE, cookie), (header::HOST, host)];
        Token::of(&headers.map(|(name, value)| (name, value.parse().unwrap())).into_iter().collect())
    }

    fn sent(cookie: &str) -> Option<Token> {
        sent_to("proofmark.example:8700", cookie)
    }

    fn place(tls: bool) -> Place {
        Place { host: "proofmark.example:8700".to_owned(), tls }
    }

    #[test]
    fn a_token_stands_for_its_key_until_it_ends() {
        let (all, key) = (SignIns::default(), Sha256Digest::of(b"key"));
        let draft = Draft { decision_id: "d".to_owned(), note: "why".to_owned() };
        let cookie = all.begin(key, Some(draft), &place(true)).unwrap();
        assert!(cookie.starts_with("__Host-proofmark=") && cookie.contains("; Path=/; "), "{cookie}");
        assert!(cookie.ends_with("; HttpOnly; SameSite=Strict; Secure"), "{cookie}");
        let pair = cookie.split(';').next().unwrap();
        let token = sent(&format!("other=1; {pair}")).unwrap();
        assert_eq!(all.key(&token), Some(key));
        assert_eq!((all.draft(&token, "d").as_deref(), all.draft(&token, "e")), (Some("why"), None));
        all.forget_draft(&token);
        assert_eq!(all.draft(&token, "d"), None);
        assert_eq!(sent(&format!("{pair}; {pair}")), None, "which of two is meant is a guess");
        assert_eq!(all.key(&sent("proofmark-8700=0").unwrap()), None);
        let removed = all.end(&token);
        assert!(removed.starts_with("__Host-proofmark=; Path=/; Max-Age=0;"), "{removed}");
        assert_eq!(all.key(&token), None);
    }

    #[test]
    fn a_token_counts_only_where_it_was_given_out() {
        let (all, key) = (SignIns::default(), Sha256Digest::of(b"key"));
        let cookie = all.begin(key, None, &place(false)).unwrap();
        let pair = cookie.split(';').next().unwrap();
        assert_eq!(all.key(&sent(pair).unwrap()), Some(key));
        let (name, token) = pair.split_once('=').unwrap();
        assert_eq!(name, "proofmark-8700");
        assert_eq!(sent_to("proofmark.example:8701", pair), None);
        assert_eq!(all.key(&sent_to("proofmark.example:8701", &format!("proofmark-8701={token}")).unwrap()), None);
        assert_eq!(all.key(&sent_to("localhost:8700", pair).unwrap()), None);
        assert_eq!(all.key(&sent(&format!("__Host-proofmark={token}")).unwrap()), None);
    }

    #[test]
    fn the_oldest_ends_where_there_are_too_many() {
        let (all, key, other) = (SignIns::default(), Sha256Digest::of(b"key"), Sha256Digest::of(b"other"));
        let token = |cookie: String| sent(cookie.split(';').next().unwrap()).unwrap();
        let (first, others) = (
            token(all.begin(key, None, &place(false)).unwrap()),
            token(all.begin(other, None, &place(false)).unwrap()),
        );
        for _ in 1..MAX_OF_ONE_KEY {
            all.begin(key, None, &place(false)).unwrap();
        }
        assert_eq!(all.key(&first), Some(key));
        let last = token(all.begin(key, None, &place(false)).unwrap());
        assert_eq!((all.key(&first), all.key(&last), all.key(&others)), (None, Some(key), Some(other)));
        for number in 0..MAX_SIGN_INS as u64 {
            all.begin(Sha256Digest::of(&number.to_be_bytes()), None, &place(false)).unwrap();
        }
        assert_eq!((all.key(&last), all.lock().len()), (None, MAX_SIGN_INS));
    }
}
