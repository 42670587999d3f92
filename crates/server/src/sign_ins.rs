//! Who is signed in to the pages: a random token in a cookie stands for an API key.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, header};
use proofmark_receipt::Sha256Digest;

use crate::problem::Problem;

/// Where the pages begin. The cookie is sent there alone.
pub const START: &str = "/ui";
/// How long a sign-in lasts.
const LASTS: Duration = Duration::from_secs(12 * 60 * 60);
/// The most there are; the oldest ends for one more.
const MAX_SIGN_INS: usize = 4_096;
/// The most of one API key; the oldest of them ends for one more.
const MAX_OF_ONE_KEY: usize = 64;
/// The longest note that is kept, in bytes: no longer one can be stored either.
const MAX_DRAFT: usize = 4_096;
/// The name of the cookie.
const COOKIE: &str = "proofmark";

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

/// The token of a request, by its digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token(Sha256Digest);

impl Token {
    /// That of the one cookie of this name.
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let pairs = cookies.flat_map(|cookies| cookies.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let mut tokens = pairs.filter(|(name, _)| *name == COOKIE).map(|(_, token)| token);
        // Of two, another page of this host may have set one.
        let (Some(token), None) = (tokens.next(), tokens.next()) else { return None };
        Some(Self(Sha256Digest::of(token.as_bytes())))
    }
}

impl SignIns {
    /// Signs in the holder of the key with this digest; the value of `Set-Cookie`. Over TLS the cookie goes over TLS alone.
    pub fn begin(&self, key: Sha256Digest, draft: Option<Draft>, tls: bool) -> Result<String, Problem> {
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
        all.insert(Sha256Digest::of(token.as_bytes()), SignIn { key, until: now + LASTS, draft });
        let secure = if tls { "; Secure" } else { "" };
        Ok(format!("{COOKIE}={token}; Path={START}; Max-Age={}; HttpOnly; SameSite=Strict{secure}", LASTS.as_secs()))
    }

    /// The digest of the API key that a token stands for.
    pub fn key(&self, token: Token) -> Option<Sha256Digest> {
        self.lock().get(&token.0).filter(|sign_in| sign_in.until > Instant::now()).map(|sign_in| sign_in.key)
    }

    /// What was typed about this decision before the sign-in.
    pub fn draft(&self, token: Token, decision_id: &str) -> Option<String> {
        let draft = self.lock().get(&token.0)?.draft.clone()?;
        (draft.decision_id == decision_id).then_some(draft.note)
    }

    /// Forgets what was typed: it is stored, or was given up.
    pub fn forget_draft(&self, token: Token) {
        if let Some(sign_in) = self.lock().get_mut(&token.0) {
            sign_in.draft = None;
        }
    }

    /// Ends a sign-in; the value of `Set-Cookie` that removes the cookie.
    pub fn end(&self, token: Option<Token>) -> String {
        if let Some(token) = token {
            self.lock().remove(&token.0);
        }
        format!("{COOKIE}=; Path={START}; Max-Age=0; HttpOnly; SameSite=Strict")
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Sha256Digest, SignIn>> {
        // Nothing panics while it is locked, so its content is whole.
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
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

    fn sent(cookie: &str) -> Option<Token> {
        Token::of(&[(header::COOKIE, cookie.parse().unwrap())].into_iter().collect())
    }

    #[test]
    fn a_token_stands_for_its_key_until_it_ends() {
        let (all, key) = (SignIns::default(), Sha256Digest::of(b"key"));
        let draft = Draft { decision_id: "d".to_owned(), note: "why".to_owned() };
        let cookie = all.begin(key, Some(draft), true).unwrap();
        assert!(cookie.ends_with("; HttpOnly; SameSite=Strict; Secure"), "{cookie}");
        let pair = cookie.split(';').next().unwrap();
        let token = sent(&format!("other=1; {pair}")).unwrap();
        assert_eq!(all.key(token), Some(key));
        assert_eq!((all.draft(token, "d").as_deref(), all.draft(token, "e")), (Some("why"), None));
        all.forget_draft(token);
        assert_eq!(all.draft(token, "d"), None);
        assert_eq!(sent(&format!("{pair}; {pair}")), None, "which of two is meant is a guess");
        assert_eq!(all.key(sent("proofmark=0").unwrap()), None);
        all.end(Some(token));
        assert_eq!(all.key(token), None);
    }

    #[test]
    fn the_oldest_ends_where_there_are_too_many() {
        let (all, key, other) = (SignIns::default(), Sha256Digest::of(b"key"), Sha256Digest::of(b"other"));
        let token = |cookie: String| sent(cookie.split(';').next().unwrap()).unwrap();
        let (first, others) =
            (token(all.begin(key, None, false).unwrap()), token(all.begin(other, None, false).unwrap()));
        for _ in 1..MAX_OF_ONE_KEY {
            all.begin(key, None, false).unwrap();
        }
        assert_eq!(all.key(first), Some(key));
        let last = token(all.begin(key, None, false).unwrap());
        assert_eq!((all.key(first), all.key(last), all.key(others)), (None, Some(key), Some(other)));
        for number in 0..MAX_SIGN_INS as u64 {
            all.begin(Sha256Digest::of(&number.to_be_bytes()), None, false).unwrap();
        }
        assert_eq!((all.key(last), all.lock().len()), (None, MAX_SIGN_INS));
    }
}
