//! Attempts at steps, as HTTP and MCP clients send them.

use proofmark_contract::Workflow;
use proofmark_receipt::document::{self, DocumentError, Field, Format, shown};
use proofmark_receipt::{Json, Receipt, ReceiptError};
use proofmark_verifier::PresentedProof;

use crate::proofs_body::{self, ProofsBodyError};

/// The longest id of a step, in bytes.
const MAX_STEP: usize = 200;
/// The most receipts presented with one attempt.
const MAX_RECEIPTS: usize = 100;

pub(crate) struct AttemptBody {
    pub(crate) workflow: Workflow,
    pub(crate) step: String,
    pub(crate) run: Option<String>,
    pub(crate) number: Option<u32>,
    pub(crate) response: String,
    pub(crate) trace: Option<String>,
    pub(crate) context: Option<Json>,
    pub(crate) receipts: Vec<Receipt>,
    pub(crate) proofs: Vec<PresentedProof>,
}

/// Why an attempt cannot be read, completing "failed to …".
#[derive(Debug, thiserror::Error)]
pub(crate) enum AttemptBodyError {
    #[error("read the arguments: {0}")]
    Fields(#[from] DocumentError),
    #[error("read the workflow: {0}")]
    Workflow(DocumentError),
    #[error("read the receipts: there are more than {MAX_RECEIPTS}")]
    TooManyReceipts,
    #[error("read `{at}`: {error}")]
    Receipt { at: String, error: ReceiptError },
    #[error(transparent)]
    Proofs(#[from] ProofsBodyError),
    #[error("judge step `{}`: invalid id", shown(.0))]
    Step(String),
}

impl AttemptBodyError {
    /// A short stable name.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Fields(error) | Self::Workflow(error) => error.code(),
            Self::TooManyReceipts => "too_many",
            Self::Proofs(error) => error.code(),
            Self::Step(_) => "invalid_step",
            Self::Receipt { error, .. } => error.code(),
        }
    }

    /// What to do about it.
    pub(crate) fn help(&self) -> Option<String> {
        match self {
            Self::TooManyReceipts => Some("present fewer".to_owned()),
            Self::Proofs(error) => error.help(),
            Self::Step(_) => {
                Some(format!("the id of a step has 1 to {MAX_STEP} bytes, without `/` and control characters"))
            }
            Self::Fields(error) | Self::Workflow(error) => error.help(),
            Self::Receipt { error, .. } => error.help(),
        }
    }
}

impl AttemptBody {
    /// Reads `{workflow, step, run?, attempt?, response, trace?, context?, receipts?, proofs?}`.
    pub(crate) fn read(arguments: &Json) -> Result<Self, AttemptBodyError> {
        let fields = Field::root(arguments).fields()?;
        fields.only(&["workflow", "step", "run", "attempt", "response", "trace", "context", "receipts", "proofs"])?;
        let workflow = fields.need("workflow", "write the workflow, as its text in YAML or JSON or as an object")?;
        let attempt = fields.get("attempt").map(|field| field.positive()).transpose()?;
        let receipts = fields.get("receipts").map(|field| field.items()).transpose()?.unwrap_or_default();
        // Before they are parsed, and later verified: signatures are the expensive part.
        if receipts.len() > MAX_RECEIPTS {
            return Err(AttemptBodyError::TooManyReceipts);
        }
        Ok(Self {
            workflow: read_workflow(workflow.json)?,
            step: step_id(fields.need("step", "name the step that was worked on")?.text()?)?,
            run: fields.get("run").map(|field| field.text().map(str::to_owned)).transpose()?,
            // A number past the largest is past the expected attempt, too.
            number: attempt.map(|number| u32::try_from(number).unwrap_or(u32::MAX)),
            response: fields.need("response", "write the agent's whole response")?.text()?.to_owned(),
            trace: fields.get("trace").map(|field| as_text(field.json)),
            context: fields.get("context").map(|field| field.json.clone()),
            receipts: receipts.iter().map(read_receipt).collect::<Result<_, _>>()?,
            proofs: fields.get("proofs").map_or(Ok(Vec::new()), |field| proofs_body::read(&field))?,
        })
    }
}

/// The id of a step. The names of chains are a run and a step with a slash between them, so an id has none.
pub(crate) fn step_id(id: &str) -> Result<String, AttemptBodyError> {
    if !id.is_empty() && id.len() <= MAX_STEP && !id.contains(|c: char| c == '/' || c.is_control()) {
        Ok(id.to_owned())
    } else {
        Err(AttemptBodyError::Step(id.to_owned()))
    }
}

/// A document as written: a string is its text, anything else is the document itself.
pub(crate) fn as_text(json: &Json) -> String {
    json.as_str().map_or_else(|| json.to_text(), str::to_owned)
}

pub(crate) fn read_workflow(json: &Json) -> Result<Workflow, AttemptBodyError> {
    let parsed = match json.as_str() {
        // Text is read as YAML, which includes JSON.
        Some(text) => &document::parse(text.as_bytes(), Format::Yaml).map_err(AttemptBodyError::Workflow)?,
        None => json,
    };
    Workflow::read(parsed).map_err(|error| {
        // The server reads no files of its callers, so a path is only a text.
        let error =
            if parsed.as_str().is_some() { error.with_help("give the workflow itself, not its path") } else { error };
        AttemptBodyError::Workflow(error)
    })
}

fn read_receipt(field: &Field<'_>) -> Result<Receipt, AttemptBodyError> {
    // A receipt sent as an object verifies, too: `to_text` keeps its numbers as written.
    let read = Receipt::parse(as_text(field.json).as_bytes());
    read.map_err(|error| AttemptBodyError::Receipt { at: field.at.to_string(), error })
}
