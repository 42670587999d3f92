//! One token: its header, the signature, and its claims. Values in, values out.

use base64ct::{Base64UrlUnpadded, Encoding};
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, Validation, decode};
use proofmark_receipt::{Json, Object};
use serde::de::IgnoredAny;

use super::key_set::{IssuerKey, MAX_KEY_ID, algorithm};
use super::refusal::Refusal;

/// The longest token, in bytes.
const MAX_TOKEN: usize = 16 << 10;
/// The longest subject, in bytes (OpenID Connect Core, section 2).
const MAX_SUBJECT: usize = 255;
/// The most audiences of one token.
const MAX_AUDIENCES: usize = 64;
/// How far the clock of an issuer may be from this one, in seconds.
const LEEWAY: f64 = 30.0;
/// The longest time that a token may be valid, in seconds. Nothing else ends a token.
const MAX_LIFETIME: f64 = 24.0 * 60.0 * 60.0;
/// Members of a header that bring a key, or say where one is.
const OWN_KEYS: [&str; 4] = ["jku", "jwk", "x5c", "x5u"];
/// Members of a header that change what the rest means.
const EXTENSIONS: [&str; 4] = ["b64", "crit", "enc", "zip"];
/// The types of tokens that are accepted (RFC 7519, section 5.1; RFC 9068, section 2.1), in lower case.
const TYPES: [&str; 4] = ["jwt", "at+jwt", "application/jwt", "application/at+jwt"];

/// Whether a bearer is a token rather than an API key: `proofmark api-key add` makes no key with a dot.
pub(super) fn is_token(bearer: &str) -> bool {
    bearer.bytes().filter(|byte| *byte == b'.').count() >= 2
}

/// The issuer and the audience of tokens that count.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) issuer: String,
    pub(super) audience: String,
}

/// What the header of a token says, before its signature is checked.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) key_id: String,
    algorithm: Algorithm,
}

/// The claims of a token that counts.
#[derive(Clone, Debug)]
pub(super) struct Claims {
    pub(super) all: Object,
    pub(super) subject: String,
    /// When it stops counting, in seconds after 1970.
    pub(super) until: f64,
}

impl Header {
    /// Reads the header of a token.
    pub(super) fn read(token: &str) -> Result<Self, Refusal> {
        if token.len() > MAX_TOKEN {
            return Err(Refusal::TooLong);
        }
        let parts: Vec<_> = token.split('.').collect();
        let header = match parts.as_slice() {
            [header, _, _] => decoded(header).map_err(|_| Refusal::Header)?,
            [_, _, _, _, _] => return Err(Refusal::Encrypted),
            _ => return Err(Refusal::Form),
        };
        let has = |names: &[&str]| names.iter().any(|name| header.contains(name));
        let algorithm = header.get("alg").and_then(Json::as_str).and_then(algorithm).ok_or(Refusal::Algorithm)?;
        if has(&EXTENSIONS) {
            return Err(Refusal::Critical);
        }
        if has(&OWN_KEYS) {
            return Err(Refusal::OwnKey);
        }
        let is_type = |json: &Json| json.as_str().is_some_and(|one| TYPES.contains(&one.to_ascii_lowercase().as_str()));
        if !header.get("typ").is_none_or(is_type) {
            return Err(Refusal::Type);
        }
        let key_id = header.get("kid").and_then(Json::as_str).filter(|id| (1..=MAX_KEY_ID).contains(&id.len()));
        Ok(Self { key_id: key_id.ok_or(Refusal::NoKeyId)?.to_owned(), algorithm })
    }

    /// The claims of the token with this header, if this key of the issuer has signed it and it counts at this time, in seconds after
    /// 1970.
    pub(super) fn claims(&self, token: &str, key: &IssuerKey, wanted: &Wanted, now: f64) -> Result<Claims, Refusal> {
        // The key says which algorithm it is for. If the token chose, a public key could be taken as a secret.
        if self.algorithm != key.algorithm {
            return Err(Refusal::OtherAlgorithm);
        }
        let mut validation = Validation::new(key.algorithm);
        validation.set_issuer(&[&wanted.issuer]);
        validation.set_audience(&[&wanted.audience]);
        validation.set_required_spec_claims(&["aud", "iss"]);
        // The times are compared below, by the clock of the store: what has expired stays expired when the host's clock is set back.
        (validation.validate_exp, validation.validate_nbf) = (false, false);
        decode::<IgnoredAny>(token, &key.key, &validation).map_err(|error| refusal(error.kind()))?;
        let all = token.split('.').nth(1).ok_or(Refusal::Form)?;
        Claims::check(decoded(all).map_err(|_| Refusal::Claims)?, wanted, now)
    }
}

impl Claims {
    /// Checks what has been signed.
    fn check(all: Object, wanted: &Wanted, now: f64) -> Result<Self, Refusal> {
        let text = |name: &str| all.get(name).and_then(Json::as_str);
        // A list of issuers is not an issuer.
        if text("iss") != Some(&wanted.issuer) {
            return Err(Refusal::Issuer);
        }
        check_audience(all.get("aud"), text("azp"), &wanted.audience)?;
        // The sender of such a token may not be its holder (RFC 7800).
        if all.contains("cnf") {
            return Err(Refusal::Bound);
        }
        if all.contains("events") {
            return Err(Refusal::Event);
        }
        let is_subject = |subject: &&str| {
            // Without spaces: two names that differ in one at the end look alike.
            (1..=MAX_SUBJECT).contains(&subject.len()) && subject.bytes().all(|byte| byte.is_ascii_graphic())
        };
        let subject = text("sub").filter(is_subject).ok_or(Refusal::Subject)?.to_owned();
        let until = check_times(&all, now)?;
        Ok(Self { all, subject, until })
    }
}

/// The audience is one of the token's; of several, the token has to be issued to it (OpenID Connect Core, section 3.1.3.7).
fn check_audience(claim: Option<&Json>, party: Option<&str>, wanted: &str) -> Result<(), Refusal> {
    let is_wanted = |json: &Json| json.as_str() == Some(wanted);
    match claim {
        Some(Json::Array(several)) if several.len() > MAX_AUDIENCES => Err(Refusal::Audience),
        Some(Json::Array(several)) if !several.iter().any(is_wanted) => Err(Refusal::Audience),
        Some(Json::Array(several)) if several.len() > 1 && party != Some(wanted) => Err(Refusal::Party),
        Some(Json::Array(_)) => Ok(()),
        Some(one) if is_wanted(one) => Ok(()),
        Some(_) | None => Err(Refusal::Audience),
    }
}

/// The end of a token that counts now.
fn check_times(all: &Object, now: f64) -> Result<f64, Refusal> {
    let time = |name: &str| match all.get(name) {
        None => Ok(None),
        Some(json) => {
            let seconds = json.as_number().and_then(|number| number.as_f64());
            seconds.filter(|seconds| *seconds >= 0.0).map(Some).ok_or(Refusal::Times)
        }
    };
    let (Some(end), Some(issued)) = (time("exp")?, time("iat")?) else { return Err(Refusal::Times) };
    let begin = time("nbf")?;
    if end <= issued {
        return Err(Refusal::Times);
    }
    if end - begin.map_or(issued, |begin| begin.min(issued)) > MAX_LIFETIME {
        return Err(Refusal::TooLasting);
    }
    if now >= end + LEEWAY {
        return Err(Refusal::Expired);
    }
    if begin.unwrap_or(issued).max(issued) > now + LEEWAY {
        return Err(Refusal::NotYet);
    }
    Ok(end + LEEWAY)
}

/// A part of a token, in which no name appears twice.
fn decoded(part: &str) -> Result<Object, ()> {
    let bytes = Base64UrlUnpadded::decode_vec(part).map_err(drop)?;
    match Json::parse(&bytes).map_err(drop)? {
        Json::Object(object) => Ok(object),
        _ => Err(()),
    }
}

fn refusal(kind: &ErrorKind) -> Refusal {
    match kind {
        ErrorKind::InvalidSignature => Refusal::Signature,
        ErrorKind::InvalidIssuer => Refusal::Issuer,
        ErrorKind::InvalidAudience => Refusal::Audience,
        ErrorKind::MissingRequiredClaim(name) if name == "iss" => Refusal::Issuer,
        ErrorKind::MissingRequiredClaim(_) => Refusal::Audience,
        ErrorKind::InvalidAlgorithm => Refusal::OtherAlgorithm,
        _ => Refusal::Form,
    }
}
