//! Workflows: their steps, what each has to prove, and where each leads.

mod approvals;
mod calls;
mod failure;
mod next;
mod receipts;
mod schema;
mod step;
mod verification;

pub use approvals::ApprovalRule;
pub use calls::{Count, CountedStatus, PartRule, ToolRule};
pub use failure::{Action, Jitter, MAX_ATTEMPTS, MAX_DELAY_MS, OnFailure, Strategy};
pub(crate) use failure::{attempts, delay};
pub use next::{ABORT, Branch, MAX_BRANCHES, Next, RETRIES_EXHAUSTED, When};
pub use receipts::{Binding, ReceiptRule};
pub use step::Step;
pub use verification::{EvidenceRule, MAX_RULES, OnMissing, Verification};

use proofmark_evidence::{AcceptedWarnings, ListedReviewer, LogPolicy};
use proofmark_predicate::{FieldType, Schema};
use proofmark_receipt::Json;
use proofmark_receipt::document::{Cause, DocumentError, Field, shown};

use crate::class::Class;
use crate::tools::ToolClasses;
use crate::warnings::warning_codes;
use crate::{read, vocabulary};
use schema::{facts_schema, read_context};

/// The most steps a workflow may have.
pub const MAX_STEPS: usize = 1_000;

/// A workflow as its author wrote it.
#[derive(Clone, Debug, PartialEq)]
pub struct Workflow {
    pub name: String,
    /// The class of steps that have none of their own.
    pub class: Class,
    /// The facts that the orchestrator provides under `context`, with their types.
    pub context: Vec<(String, FieldType)>,
    pub tools: ToolClasses,
    /// For steps that have none of their own.
    pub on_failure: Option<OnFailure>,
    /// Who may approve attempts, and reopen a step that was aborted.
    pub reviewers: Vec<ListedReviewer>,
    /// The logs and witnesses by which a receipt counts as logged.
    pub log_policy: Option<LogPolicy>,
    pub steps: Vec<Step>,
    /// The warnings of lint that the author means.
    pub accepted: AcceptedWarnings,
    pub document: Json,
}

/// What the whole workflow tells the readers of its steps.
#[derive(Clone, Copy)]
struct Known<'a> {
    facts: &'a Schema,
    logs: Option<&'a LogPolicy>,
}

impl Workflow {
    /// Reads a workflow from its document.
    ///
    /// # Errors
    /// [`DocumentError`] names the place. A condition that cannot be read is not an error here: [`crate::lint::lint`]
    /// names all of them, and [`crate::Contract::of`] refuses them.
    pub fn read(document: &Json) -> Result<Self, DocumentError> {
        let fields = Field::root(document).fields()?;
        fields.only(vocabulary::WORKFLOW)?;
        if let Some(field) = fields.get("description") {
            field.text()?;
        }
        let context = fields.get("context").map_or(Ok(Vec::new()), |field| read_context(&field))?;
        let log_policy = fields.get("logPolicy").map(|field| LogPolicy::read(&field)).transpose()?;
        let steps = fields.need("steps", "list the steps")?;
        let (mut accepted, known) = (AcceptedWarnings::default(), warning_codes());
        accepted.read(&fields, "", &known)?;
        for step in steps.items()? {
            accepted.read(&step.fields()?, &step.at, &known)?;
        }
        Ok(Self {
            name: read::word(&fields.need("name", "write the workflow's name")?)?,
            class: Class::read(&fields.need("class", "write `mutating` or `readonly`")?)?,
            tools: fields.get("tools").map_or(Ok(ToolClasses::default()), |field| ToolClasses::read(&field))?,
            on_failure: fields.get("onFailure").map(|field| OnFailure::read(&field)).transpose()?,
            reviewers: fields.get("reviewers").map_or(Ok(Vec::new()), |field| ListedReviewer::read_all(&field))?,
            steps: read_steps(&steps, Known { facts: &facts_schema(&context), logs: log_policy.as_ref() })?,
            log_policy,
            context,
            accepted,
            document: document.clone(),
        })
    }

    /// The step with this id.
    pub fn step(&self, id: &str) -> Option<&Step> {
        self.steps.iter().find(|step| step.id == id)
    }

    /// The position of the step with this id, from 0.
    pub fn position(&self, id: &str) -> Option<usize> {
        self.steps.iter().position(|step| step.id == id)
    }

    /// The class of a step without regard to a policy.
    pub fn class_of(&self, step: &Step) -> Class {
        step.class.unwrap_or(self.class)
    }

    /// The step's own `onFailure`, or the workflow's.
    pub fn on_failure_of<'w>(&'w self, step: &'w Step) -> Option<&'w OnFailure> {
        step.on_failure.as_ref().or(self.on_failure.as_ref())
    }

    /// The ids of the steps that may follow: those it names, or the step after it in the document.
    pub fn next_steps(&self, position: usize) -> Vec<&str> {
        let Some(step) = self.steps.get(position) else {
            return Vec::new();
        };
        match &step.next {
            Next::End => Vec::new(),
            Next::Following => {
                self.steps.get(position.saturating_add(1)).map(|next| next.id.as_str()).into_iter().collect()
            }
            Next::Step(id) => vec![id],
            Next::Branches(branches) => branches.iter().map(|branch| branch.goto.as_str()).collect(),
        }
    }

    /// Whether the workflow ends with this step.
    pub fn is_terminal(&self, position: usize) -> bool {
        self.steps.get(position).is_some_and(|step| match &step.next {
            Next::End => true,
            Next::Following => position.saturating_add(1) == self.steps.len(),
            Next::Step(_) | Next::Branches(_) => false,
        })
    }
}

fn read_steps(field: &Field<'_>, known: Known<'_>) -> Result<Vec<Step>, DocumentError> {
    let items = field.items()?;
    if items.is_empty() {
        return Err(field.error(Cause::Empty, "the list has no steps").with_help("write at least one"));
    }
    if items.len() > MAX_STEPS {
        let message = format!("{} steps are more than the {MAX_STEPS} a workflow may have", items.len());
        return Err(field.error(Cause::TooMany, message).with_help("split it"));
    }
    let mut steps: Vec<Step> = Vec::new();
    for item in items {
        let step = Step::read(&item, known)?;
        if steps.iter().any(|other| other.id == step.id) {
            let message = format!("another step has the id `{}`", shown(&step.id));
            return Err(item.error(Cause::DuplicateName, message).with_help("give each its own id"));
        }
        steps.push(step);
    }
    Ok(steps)
}
