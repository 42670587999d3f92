//! Receipts as facts: what is known about each document.

use std::cmp::Reverse;

use proofmark_passkey::{Approved, Passkey};
use proofmark_quorum::Votes;
use proofmark_receipt::document::{DocumentError, Fields};
use proofmark_receipt::{
    DecidedBy, Json, Receipt, Sha256Digest, SignatureStatus, SignerId, Timestamp, Trust, Verdict, Verification,
};

use crate::approval_fact::ApprovalFact;
use crate::judgment_fact::JudgmentFact;
use crate::logged::Logged;
use crate::share::Share;
use crate::status::EvidenceStatus;
use crate::suite::suite_digest;

/// How far in the future a document may be dated, in milliseconds, because clocks differ.
pub const MAX_AHEAD_MILLIS: i64 = 60_000;

/// What a receipt is about. One kind never counts as another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReceiptKind {
    /// Work was verified.
    Verification,
    /// A step of a workflow was judged by its contract.
    StepAcceptance,
    /// A human approved one action.
    Approval,
    /// Several verifiers agreed.
    Quorum,
    /// A person judged work.
    Judgment,
}

/// Where it was decided whether answers are those expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Comparison {
    /// For at least one check inside the submission's process, which could have decided otherwise; also where a receipt does
    /// not say so.
    InProcess,
    /// For every check outside of it.
    External,
}

/// What is known about one receipt. The caller vouches for all of it, `valid`, `trust` and `spent` included.
#[derive(Clone, Debug, PartialEq)]
pub struct ReceiptFact {
    pub receipt_id: String,
    /// SHA-256 of the document without its signature, so that the spelling of the signature does not matter.
    pub content: Sha256Digest,
    /// `None` when its signed content names two kinds, or an unknown one.
    pub kind: Option<ReceiptKind>,
    /// `None` when it names an unknown one.
    pub comparison: Option<Comparison>,
    /// The share of mutants that failed the tests, of those that loaded; `None` where it was not measured.
    pub strength: Option<Share>,
    /// The share of the passed tests that failed with a wrong expectation; `None` where there was no counter-run.
    pub counter_run: Option<Share>,
    /// The digest of what a project's tests could import beside the work; `None` where it is not known.
    pub environment: Option<Sha256Digest>,
    /// Where these packages came from, as in `lock`; `None` where the receipt does not say it.
    pub environment_from: Option<String>,
    pub verdict: Verdict,
    pub tier: u8,
    /// `hashes.output`.
    pub output: Sha256Digest,
    /// `hashes.specification`.
    pub specification: Sha256Digest,
    /// `hashes.tests`, if there are tests.
    pub tests: Option<Sha256Digest>,
    /// The suite, if the receipt says which tests ran ([`crate::suite_digest`]).
    pub suite: Option<Sha256Digest>,
    /// The commit that the tests of a project come from, or the digest of the tests where they come from elsewhere; `None` where they may
    /// be the submission's own.
    pub tests_from: Option<String>,
    /// When the work was verified, by the issuer's clock.
    pub verified_at: Timestamp,
    /// The signer, if the signature is valid.
    pub signer: Option<SignerId>,
    pub valid: bool,
    pub trust: Trust,
    /// Who voted in a quorum; `None` where its members were not presented, or do not come to its verdict.
    pub votes: Option<Votes>,
    pub judgment: Option<JudgmentFact>,
    /// The log that a proof shows it to be in; `None` where none was presented that is valid and by a log of the policy.
    pub logged: Option<Logged>,
    pub spent: bool,
    /// What used it up, if known: a decision, a run, or who redeemed it.
    pub spent_by: Option<String>,
    /// Whether the signer is the server that decides, whose statement about who approved counts.
    pub vouched: bool,
    /// The passkey that has signed the approval. The identity of the document (`content`) is then what the passkey signed.
    pub passkey: Option<Passkey>,
    pub approval: Option<ApprovalFact>,
}

/// A document to use up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spend {
    pub receipt_id: String,
    /// SHA-256 of its content ([`Receipt::content`]).
    pub content: Sha256Digest,
}

/// All documents that were presented: each once, in an order that does not depend on the order of presentation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    documents: Vec<ReceiptFact>,
}

/// The word for packages of a lock file.
pub(crate) const LOCK: &str = "lock";

/// What a receipt says of what a project's tests could import.
fn environment<'a>(receipt: &'a Receipt, name: &str) -> Option<&'a str> {
    receipt.metadata().get("environment")?.as_object()?.get(name)?.as_str()
}

/// Where the tests come from that were held against a submission.
fn tests_from(said: &Json) -> Option<String> {
    let said = said.as_object()?;
    let text = |name: &str| said.get(name).and_then(Json::as_str);
    let held = text("digest").filter(|_| !said.contains("submission"))?;
    Some(text("commit").unwrap_or(held).to_owned())
}

impl ReceiptKind {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::Verification, Self::StepAcceptance, Self::Approval, Self::Quorum, Self::Judgment];
    /// Those that a rule about receipts can ask for. An approval has a role, an action and an expiry, which only a rule about approvals
    /// checks.
    const OF_RULES: [Self; 4] = [Self::Verification, Self::StepAcceptance, Self::Quorum, Self::Judgment];

    /// The kind that a rule about receipts, or a receipt of a case, names as `kind`, or that another of its fields is about; by default a
    /// verification.
    ///
    /// # Errors
    /// [`DocumentError`] for another word.
    pub fn read(fields: &Fields<'_>) -> Result<Self, DocumentError> {
        match fields.get("kind") {
            Some(field) => field.choice(&Self::OF_RULES.map(|kind| (kind.as_str(), kind))),
            None if fields.get("quorum").is_some() => Ok(Self::Quorum),
            None if fields.get("judgment").is_some() => Ok(Self::Judgment),
            None => Ok(Self::Verification),
        }
    }

    /// The word: `verification`, `step_acceptance`, `approval`, `quorum` or `judgment`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Verification => "verification",
            Self::StepAcceptance => "step_acceptance",
            Self::Approval => "approval",
            Self::Quorum => "quorum",
            Self::Judgment => "judgment",
        }
    }

    /// The kind with this word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// The kind that a receipt names in what its signature covers: `metadata.kind`, `metadata.approval` and
    /// `task.task_type`. One that names none is a verification. One that names two, an unknown one, or has an incomplete
    /// approval has no kind.
    #[must_use]
    pub fn of(receipt: &Receipt) -> Option<Self> {
        let metadata = receipt.metadata();
        let named = match metadata.get("kind") {
            // An unknown word is no kind at all; taken as a verification, the receipt would count for something else.
            Some(word) => Some(Self::from_word(word.as_str()?)?),
            None => None,
        };
        // Any other `task_type` is free text of the client and names no kind.
        let typed = receipt.task().and_then(|task| task.task_type.as_deref()).and_then(Self::from_word);
        let approval = match metadata.get("approval") {
            Some(approval) => ApprovalFact::read(approval).map(|_| Self::Approval).map(Some)?,
            None => None,
        };
        let mut kinds = [named, typed, approval].into_iter().flatten();
        let kind = kinds.next().unwrap_or(Self::Verification);
        let whole = match kind {
            Self::Verification => true,
            // The client chooses the task's type, the issuer the metadata.
            Self::StepAcceptance | Self::Quorum => named.is_some(),
            Self::Approval => approval.is_some(),
            Self::Judgment => named.is_some() && JudgmentFact::of(receipt).is_some(),
        };
        (kinds.all(|other| other == kind) && whole).then_some(kind)
    }
}

impl Comparison {
    /// `in_process` or `external`, as a rule writes it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InProcess => "in_process",
            Self::External => "external",
        }
    }

    /// The comparison with this word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::InProcess, Self::External].into_iter().find(|comparison| comparison.as_str() == word)
    }

    /// What a receipt says (`metadata.comparison`, `metadata.decided` and `decided` of each check); `None` when it has a word
    /// that is unknown. A receipt that does not say who decided is not taken to say that the verifier did.
    #[must_use]
    pub fn of(receipt: &Receipt) -> Option<Self> {
        let word = |name| receipt.metadata().get(name).map(Json::as_str);
        let in_process = match word("comparison") {
            None => false,
            Some(Some("in-process")) => true,
            Some(_) => return None,
        };
        let by_verifier = match word("decided") {
            None => false,
            Some(word) => word?.parse::<DecidedBy>().ok()? == DecidedBy::Verifier,
        };
        let details = &receipt.results().details;
        let each = details.iter().all(|detail| detail.decided == Some(DecidedBy::Verifier));
        Some(if by_verifier && each && !in_process { Self::External } else { Self::InProcess })
    }
}

impl ReceiptFact {
    /// The approval, which the holder of a passkey has signed.
    #[must_use]
    pub fn with_passkey(self, approved: Approved) -> Self {
        // Whoever signs another receipt around the same assertion has the same approval, which counts once.
        Self { content: approved.statement, passkey: Some(approved.passkey), ..self }
    }

    /// The fact from a document and its verification.
    #[must_use]
    pub fn new(receipt: &Receipt, verification: &Verification, spent: bool) -> Self {
        let kind = ReceiptKind::of(receipt);
        let approval = receipt.metadata().get("approval").and_then(ApprovalFact::read);
        Self {
            receipt_id: receipt.receipt_id().to_string(),
            content: receipt.content(),
            kind,
            // An approval compares no answers, and a decision records none for it: a replay has to find the same.
            comparison: match kind {
                Some(ReceiptKind::Approval) => Some(Comparison::External),
                _ => Comparison::of(receipt),
            },
            strength: Share::strength_of(receipt),
            counter_run: Share::counter_run_of(receipt),
            environment: environment(receipt, "digest").and_then(|digest| digest.parse().ok()),
            environment_from: environment(receipt, "from").map(str::to_owned),
            verdict: receipt.verdict(),
            tier: receipt.tier(),
            output: receipt.hashes().output,
            specification: receipt.hashes().specification,
            tests: receipt.hashes().tests,
            suite: receipt.hashes().tests.map(|tests| suite_digest(&receipt.hashes().specification, &tests)),
            tests_from: receipt.metadata().get("tests_from").and_then(tests_from),
            verified_at: receipt.verified_at().clone(),
            signer: verification.signer,
            valid: verification.answer == SignatureStatus::Valid,
            trust: verification.trust,
            // Other documents show it, and neither the receipt nor its signature.
            votes: None,
            logged: None,
            judgment: (kind == Some(ReceiptKind::Judgment)).then(|| JudgmentFact::of(receipt)).flatten(),
            spent,
            spent_by: None,
            vouched: false,
            passkey: None,
            // A document that is marked as two kinds counts as neither, so its approval is not read.
            approval: approval.filter(|_| kind == Some(ReceiptKind::Approval)),
        }
    }

    /// A document without content, valid, trusted and not used up, for cases and hypotheses to fill in.
    #[must_use]
    pub fn blank(name: &str, now: &Timestamp) -> Self {
        Self {
            receipt_id: name.to_owned(),
            content: Sha256Digest::of(name.as_bytes()),
            kind: Some(ReceiptKind::Verification),
            comparison: Some(Comparison::External),
            strength: None,
            counter_run: None,
            environment: None,
            environment_from: None,
            verdict: Verdict::Pass,
            tier: 0,
            output: Sha256Digest::of(b""),
            specification: Sha256Digest::of(b""),
            tests: None,
            tests_from: None,
            suite: None,
            verified_at: now.clone(),
            signer: None,
            valid: true,
            trust: Trust::Trusted,
            votes: None,
            judgment: None,
            logged: None,
            spent: false,
            spent_by: None,
            vouched: false,
            passkey: None,
            approval: None,
        }
    }

    /// Whether it is dated further in the future than clocks may differ.
    pub(crate) fn ahead_of(&self, now: &Timestamp) -> bool {
        self.verified_at.unix_millis() > now.unix_millis().saturating_add(MAX_AHEAD_MILLIS)
    }

    pub(crate) fn older_than(&self, max_age_millis: Option<i64>, now: &Timestamp) -> bool {
        // Negative for a document dated less than `MAX_AHEAD_MILLIS` in the future, which is never too old.
        let age = now.unix_millis().saturating_sub(self.verified_at.unix_millis());
        max_age_millis.is_some_and(|max| age > max)
    }

    /// Whether a project's tests could import what a lock file names, and nothing else beside the work.
    pub(crate) fn is_locked(&self) -> bool {
        self.environment_from.as_deref() == Some(LOCK)
    }

    /// How far it can be relied on by itself: a valid one is verified, unless its signer is known not to be trusted.
    #[must_use]
    pub fn status(&self) -> EvidenceStatus {
        if self.valid && self.trust != Trust::Untrusted {
            EvidenceStatus::Verified
        } else {
            EvidenceStatus::SelfReported
        }
    }

    /// Whether it is an approval that reaches beyond one action, and is not used up.
    #[must_use]
    pub fn is_grant(&self) -> bool {
        self.approval.as_ref().is_some_and(|approval| approval.scope.is_some())
    }

    /// The entry that uses up the document.
    #[must_use]
    pub fn spend(&self) -> Spend {
        Spend { receipt_id: self.receipt_id.clone(), content: self.content }
    }
}

impl Evidence {
    /// The evidence of these documents. Of several spellings of one document a valid one remains, and it is spent if any
    /// of them is.
    #[must_use]
    pub fn new(mut documents: Vec<ReceiptFact>) -> Self {
        documents.sort_by(|left, right| {
            // By content first, so that the order of presentation does not matter; then the one that counts most.
            let key = |fact: &ReceiptFact| {
                let logged = Reverse(fact.logged.as_ref().map(Logged::order));
                (fact.content, !fact.valid, fact.trust != Trust::Trusted, fact.signer, fact.votes.is_none(), logged)
            };
            key(left).cmp(&key(right))
        });
        // `dedup_by` passes the later document first.
        documents.dedup_by(|other, first| {
            let same = other.content == first.content;
            if same {
                // A document that is spent under one spelling of its signature is spent under all.
                first.spent |= other.spent;
                first.spent_by = first.spent_by.take().or_else(|| other.spent_by.take());
            }
            same
        });
        Self { documents }
    }

    /// The documents, in an order that does not depend on how they were presented.
    #[must_use]
    pub fn documents(&self) -> &[ReceiptFact] {
        &self.documents
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use proofmark_receipt::{Detail, Draft, Hashes, Object, ReceiptId, Results, SigningKey, Status};

    use super::*;

    fn comparison(members: &[(&str, Json)], details: &[Option<DecidedBy>]) -> Option<Comparison> {
        let digest = Sha256Digest::of(b"");
        let details = details.iter().map(|by| Detail { decided: *by, ..Detail::new("a", Status::Pass) }).collect();
        let mut metadata = Object::new();
        for (name, value) in members {
            metadata.insert(*name, value.clone());
        }
        let draft = Draft {
            receipt_id: ReceiptId::from_random_bytes([7; 16]),
            verified_at: Timestamp::from_unix_millis(0),
            tier: 0,
            verdict: Verdict::Pass,
            task: None,
            results: Results::from_details(details),
            hashes: Hashes { specification: digest, output: digest, tests: None },
            metadata,
        };
        Comparison::of(&draft.sign(&SigningKey::from_seed([7; 32])).unwrap())
    }

    #[test]
    fn only_a_receipt_that_says_so_throughout_was_decided_by_the_verifier() {
        use Comparison::{External, InProcess};
        let (verifier, submission) = (Some(DecidedBy::Verifier), Some(DecidedBy::Submission));
        let decided = |word: &str| ("decided", Json::from(word));
        let compared = |word: &str| ("comparison", Json::from(word));
        for (members, details, expected) in [
            (vec![decided("verifier")], vec![verifier, verifier], Some(External)),
            (vec![decided("verifier")], vec![], Some(External)),
            (vec![decided("verifier")], vec![verifier, submission], Some(InProcess)),
            (vec![decided("verifier")], vec![verifier, None], Some(InProcess)),
            (vec![decided("submission")], vec![verifier], Some(InProcess)),
            (vec![], vec![verifier], Some(InProcess)),
            (vec![], vec![], Some(InProcess)),
            (vec![compared("in-process"), decided("verifier")], vec![verifier], Some(InProcess)),
            (vec![compared("in-process")], vec![submission], Some(InProcess)),
            (vec![compared("elsewhere"), decided("verifier")], vec![verifier], None),
            (vec![decided("nobody")], vec![verifier], None),
            (vec![("decided", Json::from(true))], vec![verifier], None),
        ] {
            assert_eq!(comparison(&members, &details), expected, "{members:?} {details:?}");
        }
    }
}
