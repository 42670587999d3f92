use proofmark_boundary::{DecisionReceipt, Disposition};
use proofmark_evidence::{Comparison, ReceiptKind, suite_digest};
use proofmark_receipt::{Json, Object, Receipt, Sha256Digest, Verdict, object};

/// What a document claims. Its signature is valid, so its signer claims it; whether it is true depends on the signer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claims {
    Receipt(ReceiptClaims),
    /// What a decision receipt decided.
    Decision(Disposition),
}

/// What a receipt claims about the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiptClaims {
    /// `None` when its signed content names two kinds, or an unknown one.
    pub kind: Option<ReceiptKind>,
    pub verdict: Verdict,
    /// How many checks passed, of how many.
    pub passed: u64,
    pub total: u64,
    pub tier: u8,
    /// Where answers were compared with what was expected; `None` when it names an unknown place.
    pub comparison: Option<Comparison>,
    /// `hashes.output`.
    pub output: Sha256Digest,
    /// `hashes.specification`.
    pub specification: Sha256Digest,
    /// The suite, if the receipt says which tests ran ([`suite_digest`]).
    pub suite: Option<Sha256Digest>,
}

impl Claims {
    pub(crate) fn of_receipt(receipt: &Receipt) -> Self {
        let (hashes, results) = (receipt.hashes(), receipt.results());
        Self::Receipt(ReceiptClaims {
            kind: ReceiptKind::of(receipt),
            verdict: receipt.verdict(),
            passed: results.passed,
            total: results.total,
            tier: receipt.tier(),
            comparison: Comparison::of(receipt),
            output: hashes.output,
            specification: hashes.specification,
            suite: hashes.tests.map(|tests| suite_digest(&hashes.specification, &tests)),
        })
    }

    pub(crate) fn of_decision(decision: &DecisionReceipt) -> Self {
        Self::Decision(decision.disposition())
    }

    /// The word for what the document is: a kind of receipt, `decision`, or `unknown`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Receipt(claims) => claims.kind.map_or("unknown", ReceiptKind::as_str),
            Self::Decision(_) => "decision",
        }
    }

    pub(crate) fn to_json(self) -> Json {
        let kind = self.kind();
        let document: Object = match self {
            Self::Receipt(claims) => object! {
                "kind": kind,
                "verdict": claims.verdict.as_str(),
                "passed": claims.passed,
                "total": claims.total,
                "tier": u64::from(claims.tier),
                "comparison"?: claims.comparison.map(Comparison::as_str),
                "suite"?: claims.suite.map(|digest| digest.to_string()),
                "specification": claims.specification.to_string(),
                "output": claims.output.to_string(),
            },
            Self::Decision(disposition) => object! { "kind": kind, "outcome": disposition.outcome().as_str() },
        };
        document.into()
    }
}
