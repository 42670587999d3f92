//! Decision receipts. What a receipt says about continuing is derived from one disposition.

mod evidence;
mod guidance;
mod read;
mod routing;

use proofmark_evidence::Subject;
use proofmark_receipt::{
    ChainEnd, ChainTip, Json, Link, Object, Prepared, ReceiptId, Sha256Digest, SignError, SignedLink, SignerId,
    SigningKey, Verification, object, sign_document, verify_document,
};
use proofmark_session::SessionHead;

pub(crate) use evidence::documents;
pub use read::ParseDecisionError;

use crate::asker::{Asker, Separation};
use crate::counted::LimitUse;
use crate::decide::Decision;
use crate::disposition::Disposition;
use crate::judge::Reason;
use crate::request::Request;

/// The engine's name and version, as receipts bind them. The number behind `+` is raised whenever the same arguments give
/// another receipt.
pub const ENGINE: &str = concat!("proofmark-boundary/", env!("CARGO_PKG_VERSION"), "+1");

/// What `receipt_type` always is.
pub(crate) const RECEIPT_TYPE: &str = "verifiedx_decision_receipt";

/// The receipt of one decision.
#[derive(Clone, Debug, PartialEq)]
pub struct DecisionReceipt {
    document: Object,
    decision_id: ReceiptId,
    disposition: Disposition,
}

/// What a decision receipt knows beside its document.
#[derive(Clone, Copy, Debug)]
pub struct SignedDecision {
    decision_id: ReceiptId,
    disposition: Disposition,
}

impl SignedDecision {
    /// The receipt that was prepared, now that it is signed, and its text.
    #[must_use]
    pub fn receipt(self, signed: SignedLink) -> (DecisionReceipt, String) {
        let (document, text) = signed.into_parts();
        (DecisionReceipt { document, decision_id: self.decision_id, disposition: self.disposition }, text)
    }
}

impl DecisionReceipt {
    /// The unsigned receipt of a decision, linked to the chain that ends in `tip`; `None` starts a chain.
    #[must_use]
    pub fn draft(decision: &Decision, request: &Request, id: ReceiptId, tip: Option<&ChainTip>) -> Self {
        Self::unchained(decision, request, id).link(tip)
    }

    /// Appends the receipt, which is not signed yet, to the chain with this end; without a tip it starts one.
    #[must_use]
    pub fn link<'a>(mut self, end: impl Into<ChainEnd<'a>>) -> Self {
        if let Some(Json::Object(metadata)) = self.document.get_mut("metadata") {
            ChainTip::write_link(end, metadata);
        }
        self
    }

    /// Signs it like a VRF receipt.
    ///
    /// # Errors
    /// [`SignError`] when readers would refuse it: it is too long, or nested too deep.
    pub fn sign(mut self, key: &SigningKey) -> Result<Self, SignError> {
        sign_document(&mut self.document, key)?;
        Ok(self)
    }

    /// Prepares it for this key's signature, before its place in a chain is known; and what makes the signed receipt of what
    /// is signed then ([`SignedDecision::receipt`]).
    ///
    /// # Errors
    /// [`SignError`] when readers would refuse it: it is nested too deep.
    pub fn prepare(self, key: &SigningKey) -> Result<(Prepared, SignedDecision), SignError> {
        let Self { document, decision_id, disposition } = self;
        Ok((Prepared::new(decision_id, document, key)?, SignedDecision { decision_id, disposition }))
    }

    /// Verifies its signature.
    #[must_use]
    pub fn verify(&self, trusted: &[SignerId]) -> Verification {
        verify_document(&self.document, trusted)
    }

    /// The document.
    #[must_use]
    pub fn document(&self) -> &Object {
        &self.document
    }

    /// Its id, of the form of receipt ids.
    #[must_use]
    pub fn decision_id(&self) -> ReceiptId {
        self.decision_id
    }

    /// SHA-256 of the whole document, signature included, in canonical form `vrf`: what the next decision links to.
    #[must_use]
    pub fn hash(&self) -> Sha256Digest {
        Sha256Digest::of(&self.document.canonical_vrf())
    }

    /// The document on one line.
    #[must_use]
    pub fn to_text(&self) -> String {
        self.document.to_text()
    }

    /// The disposition of the decision.
    #[must_use]
    pub fn disposition(&self) -> Disposition {
        self.disposition
    }

    /// Who asked, as the decider knew it. A receipt that does not say it is of an unknown one.
    #[must_use]
    pub fn asker(&self) -> Asker {
        Asker {
            separation: self.bound("separation").and_then(Separation::from_word).unwrap_or_default(),
            account: self.bound("account").map(str::to_owned),
            policy: self.bound("policy").map(str::to_owned),
            session: self.member("binding", "session").and_then(SessionHead::read),
        }
    }

    /// This receipt as the end of its chain.
    #[must_use]
    pub fn tip(&self) -> Option<ChainTip> {
        Link { id: self.decision_id, document: &self.document }.tip()
    }

    /// A text at the top.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.document.get(name)?.as_str()
    }

    /// What was decided on: the action, the environment and the agent; none where the receipt does not say it.
    #[must_use]
    pub fn subject(&self) -> Option<Subject> {
        Subject::read(self.document.get("binding")?.as_object()?)
    }

    /// A member of an object at the top.
    #[must_use]
    pub fn member(&self, object: &str, name: &str) -> Option<&Json> {
        self.document.get(object)?.as_object()?.get(name)
    }

    /// The receipt of a decision, neither linked nor signed.
    #[must_use]
    pub fn unchained(decision: &Decision, request: &Request, id: ReceiptId) -> Self {
        let disposition = decision.disposition;
        let steps = guidance::safe_next_steps(decision);
        let unread = decision.unread.iter().map(evidence::unread);
        // The order of members is part of the signed bytes.
        let document = object! {
            "receipt_type": RECEIPT_TYPE,
            "decision_id": id.to_string(),
            "outcome": disposition.outcome().as_str(),
            "action_class": request.action_class().map_or(Json::Null, Json::from),
            "safe_to_execute": disposition.allows(),
            "human_review_terminal": disposition == Disposition::HumanReview,
            "must_not_retry_same_action": decision.must_not_retry_same_action(),
            "reasons": reasons(decision),
            "safe_next_steps": steps.clone(),
            "viewer_guidance": guidance::viewer_guidance(decision),
            "what_would_change_this": texts(decision.changes.all.iter().map(|change| change.words())),
            "disposition": disposition_object(disposition),
            "routing": routing::routing(disposition, request),
            "resume_contract": resume_contract(decision, &steps),
            "runtime_loopback": guidance::loopback(decision, &steps),
            "metadata": metadata(decision),
            "binding": binding(decision, request),
            "evidence": decision.evidence().map(evidence::item).chain(unread).collect::<Vec<_>>(),
        };
        Self { document, decision_id: id, disposition }
    }
}

fn disposition_object(disposition: Disposition) -> Object {
    object! {
        "mode": disposition.mode(),
        "downstream_allowed": disposition.allows(),
        "local_replan_recommended": disposition == Disposition::LocalReplan,
        "upstream_replan_required": disposition == Disposition::UpstreamReplan,
    }
}

fn resume_contract(decision: &Decision, steps: &[Json]) -> Object {
    let upstream = decision.disposition == Disposition::UpstreamReplan;
    // A human review is resumed by an approval, not by the node's own retry.
    let retry = decision.disposition.replans() && !decision.must_not_retry_same_action();
    let resume_when = if decision.changes.all.is_empty() {
        steps.iter().filter_map(|step| step.as_object()?.get("message").cloned()).collect()
    } else {
        texts(decision.changes.all.iter().map(|change| change.words()))
    };
    let conditions: Vec<_> = decision.changes.all.iter().map(|change| change.condition()).collect();
    object! {
        "retry_this_node": retry,
        "pass_receipt_upstream": upstream,
        "pass_new_upstream_context_on_retry": upstream && retry,
        "resume_when": resume_when,
        "conditions": conditions,
    }
}

fn binding(decision: &Decision, request: &Request) -> Object {
    let mut binding = Object::new();
    decision.subject.write(&mut binding);
    request.asker().write(&mut binding);
    binding.insert("policy_hash", decision.policy_hash.to_string());
    binding.insert("facts_hash", decision.facts_hash.to_string());
    binding.insert("fingerprint", decision.fingerprint.to_string());
    binding.insert("engine", ENGINE);
    binding.insert("steps", decision.steps);
    binding.insert("denied_before", decision.denied_before);
    // A replay has no store, so the denial that decided is part of the receipt.
    if let Some(denial) = &decision.denial {
        binding.insert("denial", denial.to_json());
    }
    // Neither has it what was counted, of which the store asks again before the decision counts.
    if !decision.limits.is_empty() {
        binding.insert("limits", decision.limits.iter().map(LimitUse::to_json).collect::<Vec<_>>());
    }
    binding.insert("decided_at", decision.decided_at.as_str());
    binding.insert("expires_at", decision.expires_at.as_str());
    binding
}

fn metadata(decision: &Decision) -> Object {
    let shadow = decision.shadowed.map(|disposition| {
        object! { "outcome": disposition.outcome().as_str(), "mode": disposition.mode() }
    });
    object! { "shadow"?: shadow }
}

fn reasons(decision: &Decision) -> Vec<Json> {
    decision.reasons().map(|reason| Json::Object(reason_object(reason))).collect()
}

fn reason_object(reason: &Reason) -> Object {
    let mut object = coded(&reason.code, &reason.message);
    object.insert("rule", &*reason.rule);
    if let Some(cause) = reason.cause {
        object.insert("cause", cause);
    }
    if let Some(detail) = &reason.detail {
        object.insert("detail", detail.as_str());
    }
    object
}

/// `{code, message}`.
fn coded(code: &str, message: &str) -> Object {
    object! { "code": code, "message": message }
}

fn texts<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<Json> {
    texts.map(Json::from).collect()
}
