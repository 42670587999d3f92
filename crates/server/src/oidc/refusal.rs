//! Why a token does not count.

use crate::problem::Problem;

/// Why a token does not count. These texts have no part of the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    TooLong,
    Form,
    Encrypted,
    Header,
    Algorithm,
    Critical,
    OwnKey,
    Type,
    NoKeyId,
    UnknownKey,
    OtherAlgorithm,
    Signature,
    Claims,
    Issuer,
    Audience,
    Party,
    Subject,
    Times,
    Expired,
    NotYet,
    TooLasting,
    Bound,
    Event,
}

impl Refusal {
    /// The label of the metric, and the message for the client. The text has no quotation mark and no backslash (RFC 6750, section 3).
    pub(super) fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::TooLong => ("too_long", "the token is too long"),
            Self::Form => ("form", "the token is not a signed JWT in its compact form"),
            Self::Encrypted => ("encrypted", "the token is encrypted; this server takes signed ones"),
            Self::Header => ("header", "the header of the token cannot be read, or has a member twice"),
            Self::Algorithm => ("algorithm", "the token is not signed with RS256, PS256, ES256 or EdDSA"),
            Self::Critical => ("critical", "the header of the token has an extension that this server does not know"),
            Self::OwnKey => ("own_key", "the header of the token brings or names a key of its own"),
            Self::Type => ("type", "the type of the token is neither JWT nor at+jwt"),
            Self::NoKeyId => ("no_key_id", "the header of the token names no key of the issuer"),
            Self::UnknownKey => ("unknown_key", "the token names a key that the issuer does not have"),
            Self::OtherAlgorithm => ("other_algorithm", "the key that the token names is for another algorithm"),
            Self::Signature => ("signature", "the signature of the token is invalid"),
            Self::Claims => ("claims", "the claims of the token cannot be read, or there is one twice"),
            Self::Issuer => ("issuer", "the token is of another issuer"),
            Self::Audience => ("audience", "the token is for another audience"),
            Self::Party => ("party", "the token is for several audiences, and was not issued to this one"),
            Self::Subject => ("subject", "the token names no subject, or one that is too long"),
            Self::Times => ("times", "the token lacks the times exp and iat, or they cannot be"),
            Self::Expired => ("expired", "the token has expired"),
            Self::NotYet => ("not_yet", "the token is not valid yet"),
            Self::TooLasting => ("too_lasting", "the token is valid for more than a day"),
            Self::Bound => ("bound", "the token is bound to a key of its holder, which this server does not check"),
            Self::Event => ("event", "the token reports an event, and is not for access"),
        }
    }

    /// The message for the client.
    pub(super) fn problem(self) -> Problem {
        let (cause, text) = self.words();
        Problem::invalid_token(text).cause(cause)
    }
}
