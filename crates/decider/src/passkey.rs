//! Approvals that a reviewer's passkey has signed.

use proofmark_boundary::ActionPolicy;
use proofmark_passkey::{Assertion, AssertionError, Origin, Passkey, challenge, statement};
use proofmark_receipt::{Draft, Object, ReceiptId, Sha256Digest, SignError, Timestamp};

/// How long a reviewer may take between asking for what is to be signed and sending it signed, in milliseconds.
const MAX_SIGNING: i64 = 10 * 60_000;

/// What a reviewer's passkey has signed: the approval that [`crate::Decider::statement`] gave.
#[derive(Clone, Debug)]
pub struct SignedApproval {
    /// The id of the receipt.
    pub receipt_id: ReceiptId,
    /// From when on it counts.
    pub verified_at: Timestamp,
    pub assertion: Assertion,
    /// The origin of the page on which it was signed.
    pub origin: Origin,
}

/// Why what a passkey signed does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PasskeyRefusal {
    #[error("{0}")]
    Assertion(#[from] AssertionError),
    #[error("the policy gives the role to no passkey of this origin that has signed it")]
    NotListed,
    #[error("it was begun more than ten minutes ago, or in the future")]
    TooLate,
    #[error("the authenticator counts backwards: there may be a copy of it")]
    Counter,
}

impl PasskeyRefusal {
    /// What to do about it.
    #[must_use]
    pub fn help(self) -> &'static str {
        match self {
            Self::NotListed => {
                "list the passkey, with `proofmark reviewer add NAME --passkey PASSKEY --role ROLE --policy FILE`; `/ui/passkey` \
                 shows how"
            }
            Self::Counter => "take the passkey out of the policy, and make another one",
            Self::Assertion(_) | Self::TooLate => "approve again",
        }
    }
}

impl SignedApproval {
    /// Reads `{receipt_id, verified_at}` of the statement, and the assertion, in one object. `origin` is that of the page that sent
    /// it; without one, it is what the browser wrote. `None` where something is missing, or nothing that it can be.
    #[must_use]
    pub fn read(object: &Object, origin: Option<Origin>) -> Option<Self> {
        let text = |name: &str| object.get(name)?.as_str();
        let assertion = Assertion::read(object).ok()?;
        Some(Self {
            receipt_id: text("receipt_id")?.parse().ok()?,
            verified_at: text("verified_at")?.parse().ok()?,
            origin: origin.or_else(|| assertion.origin())?,
            assertion,
        })
    }

    /// From when on it counts, if that is not long ago.
    pub(crate) fn begins(&self, now: &Timestamp) -> Result<Timestamp, PasskeyRefusal> {
        let age = now.unix_millis().saturating_sub(self.verified_at.unix_millis());
        if (0..=MAX_SIGNING).contains(&age) { Ok(self.verified_at.clone()) } else { Err(PasskeyRefusal::TooLate) }
    }

    /// The passkey that has signed this statement, with the name of its holder, of those to which the policy gives the role.
    pub(crate) fn holder<'p>(
        &self,
        policy: &'p ActionPolicy,
        role: &str,
        statement: &Object,
    ) -> Result<(&'p str, &'p Passkey), PasskeyRefusal> {
        let mut listed = policy.passkeys(role).filter(|(_, passkey)| passkey.origin == self.origin);
        let holder = listed.find(|(_, passkey)| self.assertion.is_signed_by(&passkey.key));
        let (name, passkey) = holder.ok_or(PasskeyRefusal::NotListed)?;
        self.assertion.verify(passkey, &Sha256Digest::of(&statement.canonical_vrf()))?;
        Ok((name, passkey))
    }

    /// Refuses an authenticator whose counter does not rise above the one of its approval before: one of two copies has given
    /// that. One that does not count has always 0.
    pub(crate) fn counts_on(&self, before: u32) -> Result<(), PasskeyRefusal> {
        let now = self.assertion.counter();
        if now > before || (now == 0 && before == 0) { Ok(()) } else { Err(PasskeyRefusal::Counter) }
    }
}

/// What a passkey signs, and how it is asked to.
#[derive(Clone, Debug)]
pub struct Statement {
    /// The document, in the canonical form whose digest is the challenge.
    pub text: String,
    /// The challenge, as WebAuthn writes it.
    pub challenge: String,
}

impl From<Object> for Statement {
    fn from(statement: Object) -> Self {
        // The canonical form is JSON, which is UTF-8.
        let text = String::from_utf8_lossy(&statement.canonical_vrf()).into_owned();
        Self { text, challenge: challenge(&statement) }
    }
}

/// What a passkey signs of an approval.
pub(crate) fn statement_of(draft: Draft) -> Result<Object, SignError> {
    let receipt = draft.unsigned()?;
    // A draft of an approval has all that a statement is made of.
    Ok(receipt.document().as_object().and_then(statement).unwrap_or_default())
}
