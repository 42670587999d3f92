//! What the tests build their worlds of.

use proofmark_boundary::{ActionPolicy, Cases, Decision, History, Moment, Request, decide};
use proofmark_evidence::Evidence;
use proofmark_evidence::{ApprovalFact, AskedBy, ReceiptFact, ReceiptKind, Reviewer, shown};
use proofmark_receipt::document::{Format, parse};
use proofmark_receipt::{Json, Sha256Digest, SignerId, Timestamp};

pub(crate) const NOW: &str = "2026-03-01T12:00:00Z";

pub(crate) fn yaml(text: &str) -> Json {
    parse(text.as_bytes(), Format::Yaml).unwrap()
}

pub(crate) fn policy(text: &str) -> ActionPolicy {
    ActionPolicy::read(&yaml(text)).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

pub(crate) fn request(text: &str) -> Request {
    Request::read(&yaml(text)).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

pub(crate) fn moment(denied: u64) -> Moment {
    Moment { now: now(), history: History { denied, ..History::default() } }
}

pub(crate) fn now() -> Timestamp {
    NOW.parse().unwrap()
}

pub(crate) fn decided(policy: &ActionPolicy, request: &Request, documents: Vec<ReceiptFact>) -> Decision {
    decide(policy, request, &Evidence::new(documents), &moment(0))
}

pub(crate) fn codes(decision: &Decision) -> Vec<String> {
    decision.reasons().map(|reason| reason.code.to_string()).collect()
}

pub(crate) fn causes(decision: &Decision) -> Vec<&'static str> {
    decision.reasons().filter_map(|reason| reason.cause).collect()
}

/// A good receipt over the text.
pub(crate) fn receipt(name: &str, over: &str) -> ReceiptFact {
    ReceiptFact {
        output: Sha256Digest::of(over.as_bytes()),
        specification: Sha256Digest::of(b"spec"),
        verified_at: "2026-03-01T11:30:00Z".parse().unwrap(),
        signer: Some(reviewer(200)),
        ..ReceiptFact::blank(name, &now())
    }
}

/// A good approval of the request's action, by somebody to whom the server that decides gives the role.
pub(crate) fn approval(number: u8, role: &str, of: &Request) -> ReceiptFact {
    ReceiptFact {
        kind: Some(ReceiptKind::Approval),
        tier: 3,
        output: of.action_hash(),
        signer: Some(reviewer(number)),
        vouched: true,
        approval: Some(ApprovalFact {
            role: role.to_owned(),
            subject: of.subject(),
            asked_by: AskedBy::default(),
            shown: Some(shown(&of.subject(), &AskedBy::default())),
            reviewer: Some(Reviewer { roles: vec![role.to_owned()], ..Reviewer::of_key(reviewer(number)) }),
            expires_at: "2026-03-01T12:30:00Z".parse().unwrap(),
            scope: None,
        }),
        ..receipt(&format!("approval {number} as {role}"), "")
    }
}

/// The same approval where nobody vouches for its reviewer: it is its signer's.
pub(crate) fn own(approval: ReceiptFact) -> ReceiptFact {
    ReceiptFact { vouched: false, ..approval }
}

pub(crate) fn reviewer(number: u8) -> SignerId {
    SignerId::from_bytes([number; 32])
}

/// How the decision on a case differs from this outcome. Its receipt, over what the action applies, has these fields, too.
pub(crate) fn run_case(policy: &ActionPolicy, receipt: &str, outcome: &str) -> Result<Vec<String>, String> {
    let text = format!(
        "cases: [{{name: c, request: {{action: {{tool: apply, class: system_change, args: {{patch: p}}}}}}, receipts: [{{of: p{receipt}}}], expect: {{outcome: {outcome}}}}}]"
    );
    let cases = Cases::read(&yaml(&text)).map_err(|error| error.to_string())?;
    Ok(cases.cases[0].run(policy).differences)
}
