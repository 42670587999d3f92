//! The verification block of a step.

use proofmark_evidence::Path;
use proofmark_predicate::{FieldType, Schema};
use proofmark_receipt::Json;
use proofmark_receipt::document::{Cause, DocumentError, Field};

use super::Known;
use super::approvals::ApprovalRule;
use super::calls::ToolRule;
use super::receipts::ReceiptRule;
use super::schema::with;
use crate::expect::Expect;
use crate::read::{self, Limit, RuleIds, list, read_message, read_path};
use crate::vocabulary;

/// The most rules of one kind a step may have.
pub const MAX_RULES: usize = 200;
/// The same, with what to do about more.
const LIMIT: Limit = Limit { max: MAX_RULES, help: "split the step" };

/// The most approval rules of a step: a person reads all of them with what they approve.
const LIMIT_OF_APPROVALS: Limit = Limit { max: 16, help: "ask fewer roles, or split the step" };

/// What proves a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Verification {
    pub on_missing: OnMissing,
    pub retry_prompt: Option<String>,
    pub evidence: Vec<EvidenceRule>,
    pub tool_calls: Vec<ToolRule>,
    pub receipts: Vec<ReceiptRule>,
    pub approvals: Vec<ApprovalRule>,
    /// Whether a mutating call that no rule lists rejects the attempt; `None` is yes for mutating steps.
    pub no_other_mutations: Option<bool>,
    /// The block as written.
    pub document: Json,
}

/// What happens when a rule is not met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnMissing {
    RejectAndRetry,
    RejectAndAbort,
    Warn,
}

/// A rule about the payload.
#[derive(Clone, Debug, PartialEq)]
pub struct EvidenceRule {
    /// Unique in the step.
    pub id: String,
    pub path: Path,
    pub expect: Expect,
    pub reject_message: Option<String>,
}

impl OnMissing {
    /// `reject-and-retry`, `reject-and-abort` or `warn`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RejectAndRetry => "reject-and-retry",
            Self::RejectAndAbort => "reject-and-abort",
            Self::Warn => "warn",
        }
    }
}

impl Verification {
    /// The number of rules, of all kinds.
    pub fn rules(&self) -> usize {
        self.evidence.len() + self.tool_calls.len() + self.receipts.len() + self.approvals.len()
    }

    pub(super) fn read(field: &Field<'_>, Known { facts, logs }: Known<'_>) -> Result<Self, DocumentError> {
        let fields = field.fields()?;
        fields.only(vocabulary::VERIFICATION)?;
        let facts_and_value = with(facts, "value", FieldType::Any);
        // One set for all kinds of rules: receipts and retry prompts name a rule by its id alone.
        let mut names = RuleIds::default();
        let on_missing =
            fields.get("onMissingEvidence").map_or(Ok(OnMissing::RejectAndRetry), |field| on_missing(&field))?;
        if let (OnMissing::Warn, Some(approvals)) = (on_missing, fields.get("approvals")) {
            // What only warns is accepted without the approval.
            let error =
                approvals.error(Cause::ConflictingFields, "a step with `onMissingEvidence: warn` waits for nobody");
            return Err(error.with_help("write `reject-and-retry` or `reject-and-abort`, or leave `approvals` out"));
        }
        Ok(Self {
            on_missing,
            retry_prompt: fields.get("retryPrompt").map(|field| read::word(&field)).transpose()?,
            evidence: list(&fields, "evidence", LIMIT, |item| EvidenceRule::read(item, &facts_and_value, &mut names))?,
            tool_calls: list(&fields, "toolCalls", LIMIT, |item| {
                ToolRule::read(item, facts, &facts_and_value, &mut names)
            })?,
            receipts: list(&fields, "receipts", LIMIT, |item| ReceiptRule::read(item, logs, &mut names))?,
            approvals: list(&fields, "approvals", LIMIT_OF_APPROVALS, |item| ApprovalRule::read(item, &mut names))?,
            no_other_mutations: fields.get("noOtherMutations").map(|field| field.boolean()).transpose()?,
            document: field.json.clone(),
        })
    }
}

impl EvidenceRule {
    fn read(field: &Field<'_>, schema: &Schema, names: &mut RuleIds) -> Result<Self, DocumentError> {
        let fields = field.fields()?;
        fields.only(vocabulary::EVIDENCE)?;
        let path = fields.need("path", "write where in the result block to look, as in `report.url`")?;
        let path = read_path(&path, path.text()?)?;
        let expect = fields.need("expect", "write a value, `present`, `absent` or `{predicate: …}`")?;
        Ok(Self {
            id: names.take(&fields, &format!("evidence:{}", path.text()))?,
            expect: Expect::read(&expect, schema)?,
            reject_message: read_message(&fields)?,
            path,
        })
    }
}

fn on_missing(field: &Field<'_>) -> Result<OnMissing, DocumentError> {
    field.choice(&[
        ("reject-and-retry", OnMissing::RejectAndRetry),
        ("reject-and-abort", OnMissing::RejectAndAbort),
        ("warn", OnMissing::Warn),
    ])
}
