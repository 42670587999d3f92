use proofmark_receipt::{
    Json, Object, Profile, Receipt, Sha256Digest, SignatureStatus, SignerId, Timestamp, Verification, verify_document,
    verify_receipt,
};

use crate::ExportError;

/// What `receipt_type` of a decision is (`docs/decisions.md`).
const DECISION: &str = "verifiedx_decision_receipt";

/// Kinds of receipts other than that of verified work; a client that names one as its task's type makes no such receipt.
const OTHER_KINDS: [&str; 3] = ["step_acceptance", "approval", "quorum"];

/// A signed document that an export wraps.
#[derive(Clone, Debug, PartialEq)]
pub enum Document {
    /// A VRF receipt.
    Receipt(Box<Receipt>),
    /// The receipt of a decision. Its signature is verified here. The caller checks its form.
    Decision(Decision),
}

/// The receipt of a decision, as far as an export reads it.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    document: Object,
    action: Sha256Digest,
    policy: Sha256Digest,
    decided_at: Timestamp,
    allows: bool,
}

impl Decision {
    /// Reads what an export says of a decision: the digests of its action and its policy, when it was made, and whether it allows.
    ///
    /// # Errors
    /// [`ExportError::MalformedStatement`] when a member is missing.
    pub fn read(document: Object) -> Result<Self, ExportError> {
        Self::find(document).ok_or(ExportError::MalformedStatement("the document is not the receipt of a decision"))
    }

    /// The document as written.
    #[must_use]
    pub fn document(&self) -> &Object {
        &self.document
    }

    /// SHA-256 of the action that was decided on.
    #[must_use]
    pub fn action(&self) -> Sha256Digest {
        self.action
    }

    /// SHA-256 of the policy that decided.
    #[must_use]
    pub fn policy(&self) -> Sha256Digest {
        self.policy
    }

    /// When it was decided, by the clock of the decider.
    #[must_use]
    pub fn decided_at(&self) -> &Timestamp {
        &self.decided_at
    }

    /// Whether the action may execute by a policy that is enforced: in shadow mode every action may.
    #[must_use]
    pub fn allows(&self) -> bool {
        self.allows
    }

    fn find(document: Object) -> Option<Self> {
        // With `vrf_version` it is a VRF receipt, whatever else it holds.
        if document.get("receipt_type").and_then(Json::as_str) != Some(DECISION) || document.contains("vrf_version") {
            return None;
        }
        let binding = document.get("binding").and_then(Json::as_object)?;
        let text = |name: &str| binding.get(name).and_then(Json::as_str);
        let (action, policy) = (text("action_hash")?.parse().ok()?, text("policy_hash")?.parse().ok()?);
        let decided_at = text("decided_at")?.parse().ok()?;
        let shadow = document.get("metadata").and_then(Json::as_object)?.contains("shadow");
        let allows = document.get("safe_to_execute").and_then(Json::as_bool)? && !shadow;
        Some(Self { document, action, policy, decided_at, allows })
    }
}

impl Document {
    /// Verifies the signature by the document's own rules.
    pub(crate) fn verify(&self, trusted: &[SignerId]) -> Verification {
        match self {
            Self::Receipt(receipt) => verify_receipt(receipt, Profile::Vrf, trusted),
            Self::Decision(decision) => verify_document(&decision.document, trusted),
        }
    }

    /// Who signed it.
    ///
    /// # Errors
    /// [`ExportError::Document`] when its signature is not valid.
    pub(crate) fn signer(&self) -> Result<SignerId, ExportError> {
        signer(self.verify(&[])).map(|(signer, _)| signer)
    }

    /// Whom the document names as its signer; nothing is verified.
    pub(crate) fn named_signer(&self) -> Option<SignerId> {
        let document = match self {
            Self::Receipt(receipt) => receipt.document().as_object()?,
            Self::Decision(decision) => &decision.document,
        };
        document.get("signature")?.as_object()?.get("signer_id")?.as_str()?.parse().ok()
    }

    /// What the document is about: the output of a receipt, the action of a decision.
    #[must_use]
    pub fn subject(&self) -> Sha256Digest {
        match self {
            Self::Receipt(receipt) => receipt.hashes().output,
            Self::Decision(decision) => decision.action,
        }
    }

    /// When its issuer says that it judged.
    pub(crate) fn judged_at(&self) -> &Timestamp {
        match self {
            Self::Receipt(receipt) => receipt.verified_at(),
            Self::Decision(decision) => &decision.decided_at,
        }
    }

    /// The document in canonical form `vrf`, its signature included.
    pub(crate) fn canonical(&self) -> Vec<u8> {
        match self {
            Self::Receipt(receipt) => receipt.document().canonical_vrf(),
            Self::Decision(decision) => decision.document.canonical_vrf(),
        }
    }
}

impl From<Receipt> for Document {
    fn from(receipt: Receipt) -> Self {
        Self::Receipt(Box::new(receipt))
    }
}

impl From<Decision> for Document {
    fn from(decision: Decision) -> Self {
        Self::Decision(decision)
    }
}

/// The signer and the verification of a valid document.
pub(crate) fn signer(verification: Verification) -> Result<(SignerId, Verification), ExportError> {
    match (verification.signer, &verification.answer) {
        (Some(signer), SignatureStatus::Valid) => Ok((signer, verification)),
        _ => Err(ExportError::Document(Box::new(verification.answer))),
    }
}

/// Refuses a receipt that is not of verified work (`docs/receipts.md`, "Kinds"): an acceptance, an approval, a quorum, a judgment. Their
/// `pass` says something else.
pub(crate) fn check_verified_work(receipt: &Receipt) -> Result<(), ExportError> {
    let metadata = receipt.metadata();
    let kind = metadata.get("kind").is_none_or(|kind| kind.as_str() == Some("verification"));
    let named = receipt.task().and_then(|task| task.task_type.as_deref());
    let named = named.is_some_and(|name| OTHER_KINDS.contains(&name));
    if kind && !named && !metadata.contains("approval") && receipt.tier() < 2 {
        return Ok(());
    }
    Err(ExportError::NoJudgment("the receipt is not of verified work (tier 0 or 1), and this format has only those"))
}
