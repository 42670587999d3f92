//! Workflows: their steps, what each has to prove, and where each leads.

mod calls;
mod failure;
mod next;
mod receipts;
mod step;
mod verification;

pub use calls::{Count, CountedStatus, Part, ToolRule};
pub use failure::{Action, Jitter, MAX_ATTEMPTS, MAX_DELAY_MS, OnFailure, Strategy};
pub(crate) use failure::{attempts, delay};
pub use next::{ABORT, Branch, MAX_BRANCHES, Next, RETRIES_EXHAUSTED, When};
pub use receipts::{Binding, ReceiptRule};
pub use step::Step;
pub use verification::{EvidenceRule, MAX_RULES, OnMissing, Verification};

use proofmark_evidence::CallStatus;
use proofmark_predicate::{FieldType, Schema};
use proofmark_receipt::Json;
use proofmark_receipt::document::{Cause, DocumentError, Field, shown};

use crate::tools::{self, ToolClasses};
use crate::vocabulary;

/// The most steps a workflow may have.
pub const MAX_STEPS: usize = 1_000;

/// Whether what is done changes something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// It only reads.
    Readonly,
    /// It changes something.
    Mutating,
}

/// A workflow as its author wrote it.
#[derive(Clone, Debug, PartialEq)]
pub struct Workflow {
    /// Its name.
    pub name: String,
    /// Whether its steps change something, where they do not say themselves.
    pub class: Class,
    /// What the orchestrator provides under `context`, with the types.
    pub context: Vec<(String, FieldType)>,
    /// Which tools change something.
    pub tools: ToolClasses,
    /// What happens to a step that is not accepted, where it does not say itself.
    pub on_failure: Option<OnFailure>,
    /// The steps, in the order of the document.
    pub steps: Vec<Step>,
    /// The document.
    pub document: Json,
}

impl Class {
    /// The word: `mutating` or `readonly`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Readonly => "readonly",
            Self::Mutating => "mutating",
        }
    }

    pub(crate) fn read(field: &Field<'_>) -> Result<Self, DocumentError> {
        field.choice(&[("mutating", Self::Mutating), ("readonly", Self::Readonly)])
    }
}

impl Workflow {
    /// Reads a workflow from its document.
    ///
    /// # Errors
    /// [`DocumentError`] names the place, what is wrong and the mend. A condition that cannot be read is not an
    /// error here: [`crate::lint::lint`] names all of them, and [`crate::Contract::of`] refuses them.
    pub fn read(document: &Json) -> Result<Self, DocumentError> {
        let fields = Field::root(document).fields()?;
        fields.only(vocabulary::WORKFLOW)?;
        if let Some(field) = fields.get("description") {
            field.text()?;
        }
        let context = fields.get("context").map_or(Ok(Vec::new()), |field| read_context(&field))?;
        let steps = fields.need("steps", "list the steps")?;
        Ok(Self {
            name: tools::word(&fields.need("name", "write the workflow's name")?)?,
            class: Class::read(&fields.need("class", "write `mutating` or `readonly`")?)?,
            tools: fields.get("tools").map_or(Ok(ToolClasses::default()), |field| ToolClasses::read(&field))?,
            on_failure: fields.get("onFailure").map(|field| OnFailure::read(&field)).transpose()?,
            steps: read_steps(&steps, &facts_schema(&context))?,
            context,
            document: document.clone(),
        })
    }

    /// The step with this id.
    pub fn step(&self, id: &str) -> Option<&Step> {
        self.steps.iter().find(|step| step.id == id)
    }

    /// Where the step stands in the list, from 0.
    pub fn position(&self, id: &str) -> Option<usize> {
        self.steps.iter().position(|step| step.id == id)
    }

    /// The class of a step, as the workflow gives it.
    pub fn class_of(&self, step: &Step) -> Class {
        step.class.unwrap_or(self.class)
    }

    /// What happens to a step that is not accepted, if anything says.
    pub fn on_failure_of<'w>(&'w self, step: &'w Step) -> Option<&'w OnFailure> {
        step.on_failure.as_ref().or(self.on_failure.as_ref())
    }

    /// Where a step leads: the ids it names, or the step after it in the document. Ends lead nowhere.
    pub fn ways_on(&self, position: usize) -> Vec<&str> {
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

fn read_steps(field: &Field<'_>, facts: &Schema) -> Result<Vec<Step>, DocumentError> {
    let items = field.items()?;
    if items.is_empty() {
        return Err(field.error(Cause::Empty, "there are no steps; write at least one"));
    }
    if items.len() > MAX_STEPS {
        let message = format!("{} steps are more than the {MAX_STEPS} a workflow may have; split it", items.len());
        return Err(field.error(Cause::TooMany, message));
    }
    let mut steps: Vec<Step> = Vec::new();
    for item in items {
        let step = Step::read(&item, facts)?;
        if steps.iter().any(|other| other.id == step.id) {
            let message = format!("another step is called `{}` too; give each its own id", shown(&step.id));
            return Err(item.error(Cause::DuplicateName, message));
        }
        steps.push(step);
    }
    Ok(steps)
}

fn read_context(field: &Field<'_>) -> Result<Vec<(String, FieldType)>, DocumentError> {
    let fields = field.fields()?;
    fields.iter().map(|(name, field)| Ok((name.to_owned(), read_type(&field)?))).collect()
}

fn read_type(field: &Field<'_>) -> Result<FieldType, DocumentError> {
    let word = field.choice(&[
        ("string", "string"),
        ("number", "number"),
        ("integer", "integer"),
        ("boolean", "boolean"),
        ("list", "list"),
        ("object", "object"),
        ("any", "any"),
    ])?;
    Ok(match word {
        "string" => FieldType::String,
        "number" => FieldType::Number,
        "integer" => FieldType::Int,
        "boolean" => FieldType::Bool,
        "list" => FieldType::List(Box::new(FieldType::Any)),
        "object" => FieldType::Map(Box::new(FieldType::Any)),
        _ => FieldType::Any,
    })
}

/// What conditions of a step may read: `payload`, `context` and `calls`.
fn facts_schema(context: &[(String, FieldType)]) -> Schema {
    let call: Schema = [
        ("tool", FieldType::String),
        ("name", FieldType::String),
        ("args", FieldType::Any),
        ("result", FieldType::Any),
        ("status", FieldType::OneOf(CallStatus::ALL.map(|status| status.as_str().into()).to_vec())),
        ("index", FieldType::Int),
    ]
    .into_iter()
    .collect();
    let declared: Schema = context.iter().map(|(name, of)| (name.as_str(), of.clone())).collect();
    [
        ("payload", FieldType::Any),
        ("context", FieldType::Object(declared)),
        ("calls", FieldType::List(Box::new(FieldType::Object(call)))),
    ]
    .into_iter()
    .collect()
}

/// The schema with one name more.
fn with(schema: &Schema, name: &str, of: FieldType) -> Schema {
    let known = schema.names().filter_map(|name| Some((name.to_owned(), schema.get(name)?.clone())));
    known.chain([(name.to_owned(), of)]).collect()
}
