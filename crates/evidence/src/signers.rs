//! Whose signatures count, each key for the documents that it may vouch for, and until when.
//!
//! The functions that verify a signature take a list of keys. Here the list can only be had for one kind of document, so nobody asks
//! whether a key is trusted without saying for what.

use std::fmt;
use std::str::FromStr;

use proofmark_receipt::{Json, Object, Receipt, SignerId, Timestamp, Trust, Verification};

use crate::receipt::ReceiptKind;

/// The latest end of a key that is read, in milliseconds: the year 9999.
const MAX_END_MILLIS: f64 = 253_402_300_799_999.0;

/// What a key may vouch for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Capability {
    /// Receipts of verified work, and of verifiers that agreed.
    Verification,
    /// Receipts of accepted steps.
    Acceptance,
    /// Approvals and judgments of people.
    Approval,
    /// Decisions, and records of sessions.
    Decision,
}

/// Some capabilities, at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// One bit for each ([`Capability::bit`]).
    bits: u8,
}

/// A text does not name capabilities.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write one or more of verification, acceptance, approval and decision, with commas between them")]
pub struct ParseCapabilitiesError;

/// A key, and when it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatedKey {
    pub signer: SignerId,
    /// What is dated at this moment or later does not count.
    pub until: Option<Timestamp>,
}

/// A key, and what it may vouch for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedKey {
    pub key: DatedKey,
    pub may: Capabilities,
}

/// Keys that are known, each for what it may vouch for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signers {
    keys: Vec<TrustedKey>,
}

impl Capability {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Verification, Self::Acceptance, Self::Approval, Self::Decision];

    /// The word: `verification`, `acceptance`, `approval` or `decision`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Verification => "verification",
            Self::Acceptance => "acceptance",
            Self::Approval => "approval",
            Self::Decision => "decision",
        }
    }

    const fn bit(self) -> u8 {
        match self {
            Self::Verification => 1,
            Self::Acceptance => 2,
            Self::Approval => 4,
            Self::Decision => 8,
        }
    }

    /// What a key needs that vouches for this receipt; `None` for a receipt that names two kinds or another one.
    #[must_use]
    pub fn of_receipt(receipt: &Receipt) -> Option<Self> {
        ReceiptKind::of(receipt).map(Self::of_kind)
    }

    /// What a key needs that vouches for a receipt of this kind.
    #[must_use]
    pub const fn of_kind(kind: ReceiptKind) -> Self {
        match kind {
            ReceiptKind::Verification | ReceiptKind::Quorum => Self::Verification,
            ReceiptKind::StepAcceptance => Self::Acceptance,
            ReceiptKind::Approval | ReceiptKind::Judgment => Self::Approval,
        }
    }
}

impl Capabilities {
    /// All of them.
    pub const ALL: Self = Self { bits: 15 };

    /// This one alone.
    #[must_use]
    pub const fn only(capability: Capability) -> Self {
        Self { bits: capability.bit() }
    }

    /// These; `None` where there are none.
    #[must_use]
    pub fn of(capabilities: impl IntoIterator<Item = Capability>) -> Option<Self> {
        let bits = capabilities.into_iter().fold(0, |bits, capability| bits | capability.bit());
        (bits != 0).then_some(Self { bits })
    }

    /// Whether this one is among them.
    #[must_use]
    pub fn has(self, capability: Capability) -> bool {
        self.bits & capability.bit() != 0
    }

    /// Them, in the order of [`Capability::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Capability> {
        Capability::ALL.into_iter().filter(move |capability| self.has(*capability))
    }
}

impl fmt::Display for Capabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<_> = self.iter().map(Capability::as_str).collect();
        f.write_str(&words.join(","))
    }
}

impl FromStr for Capability {
    type Err = ParseCapabilitiesError;

    fn from_str(text: &str) -> Result<Self, ParseCapabilitiesError> {
        Self::ALL.into_iter().find(|capability| capability.as_str() == text).ok_or(ParseCapabilitiesError)
    }
}

impl FromStr for Capabilities {
    type Err = ParseCapabilitiesError;

    fn from_str(text: &str) -> Result<Self, ParseCapabilitiesError> {
        let named = text.split(',').map(str::parse).collect::<Result<Vec<_>, _>>()?;
        Self::of(named).ok_or(ParseCapabilitiesError)
    }
}

impl DatedKey {
    /// A key without an end.
    #[must_use]
    pub fn endless(signer: SignerId) -> Self {
        Self { signer, until: None }
    }

    /// Reads a JWK (RFC 7517). Its end is `exp`, in seconds, as OpenID Federation 1.0 has it for keys of the past. A key whose end
    /// cannot be read is not taken for one without an end.
    #[must_use]
    pub fn from_jwk(jwk: &Object) -> Option<Self> {
        let until = match jwk.get("exp") {
            Some(exp) => {
                let millis = (exp.as_number()?.as_f64()? * 1_000.0).round();
                if !(0.0..MAX_END_MILLIS).contains(&millis) {
                    return None;
                }
                Some(Timestamp::from_unix_millis(millis as i64))
            }
            None => None,
        };
        Some(Self { signer: SignerId::from_jwk(jwk).ok()?, until })
    }

    /// The form that [`DatedKey::from_jwk`] reads.
    #[must_use]
    pub fn jwk(&self) -> Object {
        let mut jwk = self.signer.jwk();
        if let Some(millis) = self.until.as_ref().map(Timestamp::unix_millis) {
            let (seconds, rest) = (millis.div_euclid(1_000), millis.rem_euclid(1_000));
            let exp = if rest == 0 { seconds.to_string() } else { format!("{seconds}.{rest:03}") };
            // It is a number as written, so none is dropped here.
            jwk.insert("exp", Json::parse(exp.as_bytes()).unwrap_or(Json::Null));
        }
        jwk
    }

    /// Whether this signer's document counts that is dated so. One without a date counts only if the key has no end.
    #[must_use]
    pub fn signs(&self, signer: &SignerId, dated: Option<&Timestamp>) -> bool {
        let until = self.until.as_ref().map(Timestamp::unix_millis);
        self.signer == *signer && until.is_none_or(|until| dated.is_some_and(|dated| dated.unix_millis() < until))
    }
}

impl Signers {
    /// These keys, for documents of any kind: somebody names them for the documents at hand.
    #[must_use]
    pub fn of_any_kind(signers: impl IntoIterator<Item = SignerId>) -> Self {
        signers.into_iter().fold(Self::default(), |all, signer| all.with(DatedKey::endless(signer), Capabilities::ALL))
    }

    /// With this key. A key that is there already may do both.
    #[must_use]
    pub fn with(mut self, key: DatedKey, may: Capabilities) -> Self {
        let trusted = TrustedKey { key, may };
        if !self.keys.contains(&trusted) {
            self.keys.push(trusted);
        }
        self
    }

    /// With all keys of others.
    #[must_use]
    pub fn and(self, others: &Self) -> Self {
        others.keys.iter().fold(self, |all, TrustedKey { key, may }| all.with(key.clone(), *may))
    }

    /// All keys, in the order in which they were added.
    #[must_use]
    pub fn keys(&self) -> &[TrustedKey] {
        &self.keys
    }

    /// Whether the key is known, for whatever.
    #[must_use]
    pub fn knows(&self, signer: &SignerId) -> bool {
        self.keys.iter().any(|trusted| trusted.key.signer == *signer)
    }

    /// What a key may vouch for, whatever its end.
    #[must_use]
    pub fn may(&self, signer: &SignerId) -> Option<Capabilities> {
        let of_key = self.keys.iter().filter(|trusted| trusted.key.signer == *signer);
        Capabilities::of(of_key.flat_map(|trusted| trusted.may.iter()))
    }

    /// Who may vouch for documents of this kind that are dated so. For one without a date, keys that end are left out.
    #[must_use]
    pub fn of(&self, kind: Capability, dated: Option<&Timestamp>) -> Vec<SignerId> {
        self.all_that(dated, |may| may.has(kind))
    }

    fn all_that(&self, dated: Option<&Timestamp>, may: impl Fn(Capabilities) -> bool) -> Vec<SignerId> {
        let counts = |trusted: &&TrustedKey| may(trusted.may) && trusted.key.signs(&trusted.key.signer, dated);
        self.keys.iter().filter(counts).map(|trusted| trusted.key.signer).collect()
    }

    /// Who may vouch for this receipt. For one that names two kinds or another kind, as a reviewer's note in the chain of a step, only
    /// keys that may vouch for all kinds: no rule counts it.
    #[must_use]
    pub fn of_receipt(&self, receipt: &Receipt) -> Vec<SignerId> {
        let dated = Some(receipt.verified_at());
        match Capability::of_receipt(receipt) {
            Some(kind) => self.of(kind, dated),
            None => self.all_that(dated, |may| may == Capabilities::ALL),
        }
    }

    /// Who may sign the end of a chain: those who issue receipts or decisions.
    #[must_use]
    pub fn of_head(&self, signed_at: Option<&Timestamp>) -> Vec<SignerId> {
        let kinds = [Capability::Verification, Capability::Acceptance, Capability::Decision];
        kinds.into_iter().flat_map(|kind| self.of(kind, signed_at)).collect()
    }

    /// A verification by some of these keys, where none may vouch for the document: its signer is then not trusted, and not unknown.
    /// Where no keys are known at all, nobody asked for trust.
    #[must_use]
    pub fn judged(&self, verification: Verification) -> Verification {
        match verification.trust {
            Trust::Unknown if verification.signer.is_some() && !self.keys.is_empty() => {
                Verification { trust: Trust::Untrusted, ..verification }
            }
            _ => verification,
        }
    }

    /// What is known of the signer of an approval or a judgment: a key that is known for other documents only is not trusted; a stranger is
    /// unknown, and counts where the policy lists the key.
    #[must_use]
    pub fn in_approver(&self, found: Trust, signer: Option<&SignerId>) -> Trust {
        match (found, signer) {
            (Trust::Trusted, _) => Trust::Trusted,
            (_, Some(signer)) if self.knows(signer) => Trust::Untrusted,
            _ => Trust::Unknown,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    fn signer(number: u8) -> SignerId {
        SignerId::from_bytes([number; 32])
    }

    #[test]
    fn a_key_vouches_for_what_it_may_and_for_nothing_else() {
        for held in Capability::ALL {
            let signers = Signers::default().with(DatedKey::endless(signer(1)), Capabilities::only(held));
            for asked in Capability::ALL {
                assert_eq!(signers.of(asked, None), if held == asked { vec![signer(1)] } else { vec![] });
            }
            assert_eq!(signers.of_head(None).is_empty(), held == Capability::Approval);
        }
    }

    #[test]
    fn a_key_counts_up_to_its_end() {
        let at = |text: &str| Some(text.parse::<Timestamp>().unwrap());
        let key = DatedKey { signer: signer(1), until: at("2026-03-01T12:00:00Z") };
        let signers = Signers::default().with(key, Capabilities::ALL);
        for (dated, counts) in [
            (at("2026-03-01T11:59:59.999Z"), true),
            (at("2026-03-01T12:00:00Z"), false),
            (at("2026-03-02T12:00:00Z"), false),
            (None, false),
        ] {
            assert_eq!(!signers.of(Capability::Decision, dated.as_ref()).is_empty(), counts, "{dated:?}");
        }
        assert!(signers.knows(&signer(1)));
    }

    #[test]
    fn an_end_is_in_the_jwk_to_the_millisecond() {
        for end in
            [None, Some("2026-03-01T12:00:00Z"), Some("2026-03-01T12:00:00.123Z"), Some("1970-01-01T00:00:00.001Z")]
        {
            let until = end.map(|end| end.parse::<Timestamp>().unwrap());
            let key = DatedKey { signer: signer(1), until };
            let read = DatedKey::from_jwk(&key.jwk()).unwrap();
            let millis = |key: &DatedKey| key.until.as_ref().map(Timestamp::unix_millis);
            assert_eq!((read.signer, millis(&read)), (key.signer, millis(&key)));
        }
        for exp in ["\"2026\"", "null", "1e300", "-1", "{}"] {
            let mut jwk = signer(1).jwk();
            jwk.insert("exp", Json::parse(exp.as_bytes()).unwrap());
            assert_eq!(DatedKey::from_jwk(&jwk), None, "{exp}");
        }
    }

    #[test]
    fn capabilities_are_words_with_commas() {
        for text in ["verification", "acceptance,decision", "verification,acceptance,approval,decision"] {
            assert_eq!(text.parse::<Capabilities>().unwrap().to_string(), text);
        }
        for text in ["", ",", "verification,", "verify", "Verification", "all", "verification decision"] {
            assert!(text.parse::<Capabilities>().is_err(), "{text}");
        }
    }
}
