//! A judgment checked offline: what its reader knows of keys, roles and receipts decides whether it counts.

use proofmark_receipt::{
    Answer, Profile, Receipt, Sha256Digest, SignatureStatus, SignerId, Timestamp, Trust, verify_receipt,
};

use crate::error::TierError;
use crate::judgment::Judgment;
use crate::quorum::TIER as QUORUM_TIER;

/// The keys of the people who hold a role.
pub type RoleKeys<'a> = &'a dyn Fn(&str) -> Vec<SignerId>;

/// What the reader of a judgment gives.
#[derive(Clone, Copy)]
pub struct Given<'a> {
    /// `None` where the reader has no policy; trust is then unknown.
    pub roles: Option<RoleKeys<'a>>,
    /// Receipts of any kind. A key that has signed a valid one of tier 0 to 2 is that of a program, and counts in no role.
    pub issued: &'a [Receipt],
    /// Receipts that the judgment may rest on. Others are ignored.
    pub on: &'a [Receipt],
    /// The bytes that were on the screen, if the reader has them.
    pub shown: Option<&'a [u8]>,
    pub now: &'a Timestamp,
}

/// The result of checking a judgment.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgmentCheck {
    /// About the receipt.
    pub answer: Answer,
    /// `Untrusted` where the signer does not hold the role, or the judgment has expired.
    pub trust: Trust,
    /// Why the answer is not valid, or why it is untrusted.
    pub error: Option<TierError>,
    /// Who signed it, where the signature is valid.
    pub signer: Option<SignerId>,
    /// What the receipt says, where it has the form.
    pub judgment: Option<Judgment>,
}

/// Checks a judgment: the receipt, its form, what it rests on and what was shown as far as they are given, the role, and the time.
#[must_use]
pub fn check_judgment(receipt: &Receipt, given: &Given<'_>) -> JudgmentCheck {
    let verification = verify_receipt(receipt, Profile::Vrf, &[]);
    let mut check = JudgmentCheck {
        answer: Answer::from(&verification.answer),
        trust: Trust::Unknown,
        error: None,
        signer: verification.signer,
        judgment: None,
    };
    let Some(signer) = verification.signer else {
        check.error = Some(TierError::Receipt(verification.answer));
        return check;
    };
    if let Err(error) = check.judge(receipt, signer, given) {
        check.answer = error.answer();
        check.trust = if check.answer == Answer::Valid { Trust::Untrusted } else { Trust::Unknown };
        check.error = Some(error);
    }
    check
}

impl JudgmentCheck {
    /// Judges a receipt whose signature is valid.
    fn judge(&mut self, receipt: &Receipt, signer: SignerId, given: &Given<'_>) -> Result<(), TierError> {
        let judgment = self.judgment.insert(Judgment::read(receipt)?);
        rests_on(receipt, judgment, given.on)?;
        if given.shown.is_some_and(|bytes| judgment.shown != Some(Sha256Digest::of(bytes))) {
            return Err(TierError::ShownMismatch);
        }
        judgment.not_expired(given.now)?;
        let refused = |why| Err(TierError::RoleNotHeld { role: judgment.role.clone(), why });
        if given.issued.iter().any(|issued| is_of_a_program(issued, signer)) {
            return refused("the key has signed receipts of programs");
        }
        match given.roles {
            Some(roles) if !roles(&judgment.role).contains(&signer) => {
                refused("the key is not among those of the role")
            }
            Some(_) => {
                self.trust = Trust::Trusted;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

/// Whether the receipts that were given are those that the judgment names, and are over the same output.
fn rests_on(receipt: &Receipt, judgment: &Judgment, given: &[Receipt]) -> Result<(), TierError> {
    for reference in &judgment.on {
        let receipt_id = reference.receipt_id;
        let mut candidates = given.iter().filter(|other| other.receipt_id() == receipt_id).peekable();
        if candidates.peek().is_none() {
            continue;
        }
        // A changed copy beside the receipt does not spoil it.
        let named = candidates.find(|other| other.hash() == reference.hash);
        let field = match named {
            None => "hash",
            Some(named) if named.hashes().output != receipt.hashes().output => "hashes.output",
            Some(_) => continue,
        };
        return Err(TierError::MemberMismatch { receipt_id, field });
    }
    Ok(())
}

/// Whether the key of a person has signed this receipt as a program does. A receipt that does not verify shows nothing: anyone can
/// write a key into it.
fn is_of_a_program(receipt: &Receipt, signer: SignerId) -> bool {
    let names = |id: &str| id.parse() == Ok(signer);
    receipt.tier() <= QUORUM_TIER
        && receipt.signature().is_some_and(|signature| names(&signature.signer_id))
        && Profile::ALL
            .into_iter()
            .any(|profile| verify_receipt(receipt, profile, &[]).answer == SignatureStatus::Valid)
}
