//! The verification block of a step.

use proofmark_predicate::{FieldType, Schema};
use proofmark_receipt::Json;
use proofmark_receipt::document::{Cause, DocumentError, Field, Fields, shown};

use super::calls::ToolRule;
use super::receipts::ReceiptRule;
use super::with;
use crate::expect::Expect;
use crate::tools;
use crate::vocabulary;
use proofmark_evidence::Path;

/// The most rules of one kind a step may have.
pub const MAX_RULES: usize = 200;

/// What proves a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Verification {
    /// What happens when a rule is not met.
    pub on_missing: OnMissing,
    /// What the next attempt is told.
    pub retry_prompt: Option<String>,
    /// The rules about the payload.
    pub evidence: Vec<EvidenceRule>,
    /// The rules about the recorded tool calls.
    pub tool_calls: Vec<ToolRule>,
    /// The rules about receipts.
    pub receipts: Vec<ReceiptRule>,
    /// Whether a mutating call that no rule lists rejects; as the class of the step where it is not said.
    pub no_other_mutations: Option<bool>,
    /// The block as written.
    pub document: Json,
}

/// What happens when a rule is not met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnMissing {
    /// Another attempt, while there are any.
    RejectAndRetry,
    /// The end.
    RejectAndAbort,
    /// The step is accepted with warnings.
    Warn,
}

/// A rule about the payload.
#[derive(Clone, Debug, PartialEq)]
pub struct EvidenceRule {
    /// The rule's name, unique in the step.
    pub id: String,
    /// Where it looks.
    pub path: Path,
    /// What has to be there.
    pub expect: Expect,
    /// What to say when it is not.
    pub reject_message: Option<String>,
}

impl OnMissing {
    /// The word: `reject-and-retry`, `reject-and-abort` or `warn`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RejectAndRetry => "reject-and-retry",
            Self::RejectAndAbort => "reject-and-abort",
            Self::Warn => "warn",
        }
    }
}

impl Verification {
    /// How many rules there are.
    pub fn rules(&self) -> usize {
        self.evidence.len() + self.tool_calls.len() + self.receipts.len()
    }

    pub(super) fn read(field: &Field<'_>, facts: &Schema) -> Result<Self, DocumentError> {
        let fields = field.fields()?;
        fields.only(vocabulary::VERIFICATION)?;
        let facts_and_value = with(facts, "value", FieldType::Any);
        let mut names = Names::default();
        Ok(Self {
            on_missing: fields
                .get("onMissingEvidence")
                .map_or(Ok(OnMissing::RejectAndRetry), |field| on_missing(&field))?,
            retry_prompt: fields.get("retryPrompt").map(|field| tools::word(&field)).transpose()?,
            evidence: list(&fields, "evidence", |item| EvidenceRule::read(item, &facts_and_value, &mut names))?,
            tool_calls: list(&fields, "toolCalls", |item| ToolRule::read(item, facts, &facts_and_value, &mut names))?,
            receipts: list(&fields, "receipts", |item| ReceiptRule::read(item, &mut names))?,
            no_other_mutations: fields.get("noOtherMutations").map(|field| field.boolean()).transpose()?,
            document: field.json.clone(),
        })
    }
}

impl EvidenceRule {
    fn read(field: &Field<'_>, schema: &Schema, names: &mut Names) -> Result<Self, DocumentError> {
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

/// The names of rules that are taken.
#[derive(Debug, Default)]
pub(super) struct Names(Vec<String>);

impl Names {
    /// The rule's own `id`, or `default`, made unique.
    pub(super) fn take(&mut self, fields: &Fields<'_>, default: &str) -> Result<String, DocumentError> {
        let name = match fields.get("id") {
            Some(field) => {
                let id = tools::word(&field)?;
                if self.0.contains(&id) {
                    let message = format!("another rule is called `{}` too; give each its own id", shown(&id));
                    return Err(field.error(Cause::DuplicateName, message));
                }
                id
            }
            None => self.unique(default),
        };
        self.0.push(name.clone());
        Ok(name)
    }

    fn unique(&self, default: &str) -> String {
        let free = |name: &String| !self.0.contains(name);
        let numbered = (2..).map(|number: u32| format!("{default}#{number}"));
        std::iter::once(default.to_owned()).chain(numbered).find(free).unwrap_or_default()
    }
}

pub(super) fn read_path(field: &Field<'_>, text: &str) -> Result<Path, DocumentError> {
    Path::read(text).ok_or_else(|| {
        let message = format!("`{}` is no path; write it as `order.items[0].sku`, or JSONPath from `$`", shown(text));
        field.error(Cause::InvalidValue, message)
    })
}

pub(super) fn read_message(fields: &Fields<'_>) -> Result<Option<String>, DocumentError> {
    fields.get("rejectMessage").map(|field| tools::word(&field)).transpose()
}

fn on_missing(field: &Field<'_>) -> Result<OnMissing, DocumentError> {
    field.choice(&[
        ("reject-and-retry", OnMissing::RejectAndRetry),
        ("reject-and-abort", OnMissing::RejectAndAbort),
        ("warn", OnMissing::Warn),
    ])
}

fn list<'a, T>(
    fields: &Fields<'a>,
    name: &str,
    mut read: impl FnMut(&Field<'a>) -> Result<T, DocumentError>,
) -> Result<Vec<T>, DocumentError> {
    let Some(field) = fields.get(name) else {
        return Ok(Vec::new());
    };
    let items = field.items()?;
    if items.len() > MAX_RULES {
        let message = format!("{} rules are more than the {MAX_RULES} there may be; split the step", items.len());
        return Err(field.error(Cause::TooMany, message));
    }
    items.iter().map(&mut read).collect()
}
