//! Attempts at steps, receipts to check and terms of redeeming, as clients send them over either door.

use proofmark_receipt::document::{self, Cause, DocumentError, Field, Format};
use proofmark_receipt::{Json, ParseDigestError, Receipt, ReceiptError, Sha256Digest, SignerId, Verdict};
use proofmark_verifier::contract::Workflow;
use proofmark_verifier::{Subject, Terms, TrustError, signers_in};

/// The longest id of a step, in bytes.
const MAX_STEP: usize = 200;
/// The most receipts presented with one attempt.
const MAX_RECEIPTS: usize = 100;

/// What an attempt at a step consists of.
pub(crate) struct AttemptBody {
    pub(crate) workflow: Workflow,
    pub(crate) step: String,
    pub(crate) run: Option<String>,
    pub(crate) number: Option<u32>,
    pub(crate) response: String,
    pub(crate) trace: Option<String>,
    pub(crate) context: Option<Json>,
    pub(crate) receipts: Vec<Receipt>,
}

/// Why what was sent cannot be read, completing "failed to …".
#[derive(Debug, thiserror::Error)]
pub(crate) enum AttemptBodyError {
    #[error("read the arguments: {0}")]
    Fields(#[from] DocumentError),
    #[error("read the workflow: {0}")]
    Workflow(DocumentError),
    #[error("read the receipts: there are more than {MAX_RECEIPTS}; present fewer")]
    TooMany,
    #[error("read `{at}`: {error}")]
    Receipt { at: String, error: ReceiptError },
    #[error("judge step `{}`: its id has to have 1 to {MAX_STEP} bytes without `/` and control characters", document::shown(.0))]
    Step(String),
    #[error(transparent)]
    Trust(#[from] TrustError),
}

impl AttemptBodyError {
    /// A short stable name.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Fields(error) | Self::Workflow(error) => error.code(),
            Self::TooMany => "too_many",
            Self::Step(_) => "invalid_step",
            Self::Receipt { error, .. } => error.code(),
            Self::Trust(_) => "invalid_signer",
        }
    }
}

/// What somebody who redeems a receipt may accept beside a `pass` by a trusted signer; none stands for any signer.
const ACCEPTED: [(&str, Option<Verdict>); 4] = [
    ("fail", Some(Verdict::Fail)),
    ("partial", Some(Verdict::Partial)),
    ("error", Some(Verdict::Error)),
    ("untrusted", None),
];

/// An attempt: `{workflow, step, run?, attempt?, response, trace?, context?, receipts?}`.
pub(crate) fn attempt(arguments: &Json) -> Result<AttemptBody, AttemptBodyError> {
    let fields = Field::root(arguments).fields()?;
    fields.only(&["workflow", "step", "run", "attempt", "response", "trace", "context", "receipts"])?;
    let workflow = fields.need("workflow", "write the workflow, as its text in YAML or JSON or as an object")?;
    let attempt = fields.get("attempt").map(|field| field.positive()).transpose()?;
    let receipts = fields.get("receipts").map(|field| field.items()).transpose()?.unwrap_or_default();
    if receipts.len() > MAX_RECEIPTS {
        return Err(AttemptBodyError::TooMany);
    }
    Ok(AttemptBody {
        workflow: read_workflow(workflow.json)?,
        step: step(fields.need("step", "name the step that was worked on")?.text()?)?,
        run: fields.get("run").map(|field| field.text().map(str::to_owned)).transpose()?,
        // An attempt past this is past the awaited one, too.
        number: attempt.map(|number| u32::try_from(number).unwrap_or(u32::MAX)),
        response: fields.need("response", "write the agent's whole response")?.text()?.to_owned(),
        trace: fields.get("trace").map(|field| written(field.json)),
        context: fields.get("context").map(|field| field.json.clone()),
        receipts: receipts.iter().map(read_receipt).collect::<Result<_, _>>()?,
    })
}

/// A receipt that is presented, and whom to trust instead of those trusted here: `{receipt, trust?}`.
pub(crate) fn presented(arguments: &Json) -> Result<(String, Option<Vec<SignerId>>), AttemptBodyError> {
    let fields = Field::root(arguments).fields()?;
    fields.only(&["receipt", "trust"])?;
    let receipt = fields.need("receipt", "write the receipt, best as its text, which keeps every byte")?;
    let Some(trust) = fields.get("trust") else { return Ok((written(receipt.json), None)) };
    let mut signers = Vec::new();
    for item in trust.items()? {
        signers.extend(signers_in(item.text()?)?);
    }
    Ok((written(receipt.json), Some(signers)))
}

/// The terms under which a receipt is redeemed: `{accept?, task_id?, specification?, tests?, output?}`.
pub(crate) fn terms(arguments: &Json) -> Result<Terms, AttemptBodyError> {
    let fields = Field::root(arguments).fields()?;
    fields.only(&["accept", "task_id", "specification", "tests", "output"])?;
    let digest = |name: &str| fields.get(name).map(|field| read_digest(&field)).transpose();
    let about = Subject {
        task_id: fields.get("task_id").map(|field| field.text().map(str::to_owned)).transpose()?,
        specification: digest("specification")?,
        tests: digest("tests")?,
        output: digest("output")?,
    };
    let mut terms = Terms { about, ..Terms::default() };
    for word in fields.get("accept").map(|field| field.items()).transpose()?.unwrap_or_default() {
        match word.choice(&ACCEPTED)? {
            Some(verdict) => terms.verdicts.push(verdict),
            None => terms.untrusted = true,
        }
    }
    Ok(terms)
}

fn read_digest(field: &Field<'_>) -> Result<Sha256Digest, DocumentError> {
    let text = field.text()?;
    text.parse().map_err(|error: ParseDigestError| field.error(Cause::InvalidValue, error.to_string()))
}

/// The id of a step: chains are named by run and step, with a slash between them.
pub(crate) fn step(id: &str) -> Result<String, AttemptBodyError> {
    match !id.is_empty() && id.len() <= MAX_STEP && !id.contains(|c: char| c == '/' || c.is_control()) {
        true => Ok(id.to_owned()),
        false => Err(AttemptBodyError::Step(id.to_owned())),
    }
}

fn read_workflow(json: &Json) -> Result<Workflow, AttemptBodyError> {
    let parsed = match json.as_str() {
        Some(text) => &document::parse(text.as_bytes(), Format::Yaml).map_err(AttemptBodyError::Workflow)?,
        None => json,
    };
    Workflow::read(parsed).map_err(AttemptBodyError::Workflow)
}

fn read_receipt(field: &Field<'_>) -> Result<Receipt, AttemptBodyError> {
    let read = Receipt::parse(written(field.json).as_bytes());
    read.map_err(|error| AttemptBodyError::Receipt { at: field.at.to_string(), error })
}

/// A document as it was written, or the text of one.
fn written(json: &Json) -> String {
    json.as_str().map_or_else(|| json.to_text(), str::to_owned)
}
