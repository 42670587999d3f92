//! The request: a submission and how it is to be verified.
//!
//! The reference of the format is `docs/requests.md`.

use std::time::Duration;

use proofmark_receipt::json::{Json, Profile};
use proofmark_receipt::{Hashes, Sha256Digest, Task};

use crate::caps::MAX_REQUEST_BYTES;
use crate::job::Language;
use crate::judge::Room;
use crate::value::Value;

mod embedded;
mod entrypoint;
mod suite;

pub(crate) use proofmark_receipt::document::Cause as Code;
use proofmark_receipt::document::{self, Field, Fields, one_of, shown};
pub use proofmark_receipt::document::{DocumentError as RequestError, Format, Place};

/// A request that has been read: everything in it is known, of the right type and fits together.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// What the work was, where the request says so.
    pub task: Option<Task>,
    /// The submission.
    pub output: String,
    /// The tests it must pass.
    pub suite: Suite,
    /// The tier of the check, 0 for a test suite.
    pub tier: u8,
    /// Digests of what the receipt is about.
    pub hashes: Hashes,
}

/// A suite of tests.
#[derive(Clone, Debug, PartialEq)]
pub struct Suite {
    /// The language of the submission.
    pub language: Language,
    /// The runtime demanded, for example `python3.12`.
    pub runtime: Option<String>,
    /// How the submission is run.
    pub mode: Mode,
    /// The tests: at least one, their names all different.
    pub tests: Vec<Test>,
    /// The limits asked for.
    pub limits: AskedLimits,
    /// What of the tests the receipt shows.
    pub reveal: Reveal,
}

/// How a submission is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A function of it is called with JSON arguments.
    Call {
        /// The name of the function, a plain identifier of the language.
        entrypoint: String,
    },
    /// Expressions are evaluated in its namespace.
    Expression,
    /// It reads standard input and writes standard output.
    Stdio,
}

/// One test of a suite.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// Its name, unique in the suite.
    pub name: String,
    /// JSON text of the arguments, an expression, or standard input, as the [`Mode`] has it.
    pub input: String,
    /// What the right answer is.
    pub expected: Expected,
    /// The time it asks for.
    pub timeout: Option<Duration>,
    /// By how much numbers may differ, at most.
    pub tolerance: Option<f64>,
}

/// What the right answer of a test is.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    /// A JSON document, in the mode `call`.
    Json(Json),
    /// An expression, in the mode `expression`.
    Expression(String),
    /// The value of an expression that is a plain literal, which needs no interpreter.
    Value(Value),
    /// Standard output, in the mode `stdio`.
    Text(String, TextRule),
}

/// When standard output is the one expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextRule {
    /// When the bytes are the same.
    Exact,
    /// When they are the same but for white space at the end.
    Trimmed,
    /// When the words between white space are the same.
    Tokens,
}

/// Limits as a request asks for them; `None` takes the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AskedLimits {
    /// Memory of one check, in MiB.
    pub memory_mb: Option<u32>,
    /// Wall time of one check.
    pub timeout: Option<Duration>,
    /// Wall time of all checks together.
    pub total_timeout: Option<Duration>,
    /// Output of one check, in bytes.
    pub output_bytes: Option<usize>,
    /// Processes of one check.
    pub processes: Option<u32>,
    /// Scratch disk of one check, in MiB.
    pub disk_mb: Option<u32>,
}

/// What of the tests a receipt shows; names, states and times always are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reveal {
    /// Expected and actual answers of every check.
    All,
    /// Those of the checks that did not pass.
    Failures,
    /// Those of none, nor any text the submission chose.
    None,
}

impl Request {
    /// Reads a request.
    ///
    /// A `submission` fills `output.content`; the request must not give one then.
    ///
    /// # Errors
    ///
    /// [`RequestError`], which names the place and the mend.
    pub fn read(bytes: &[u8], format: Format, submission: Option<&str>) -> Result<Request, RequestError> {
        let document = document::parse(bytes, format)?;
        let root = Field::root(&document).fields()?;
        root.only(&["task", "task_id", "task_type", "tier", "specification", "output", "verification"])?;
        let task = task(&root)?;
        let verification =
            root.need("verification", "write the suite as an object with `kind`, `language` and `tests`")?;
        let suite = suite::read(&verification)?;
        if Room::beside(task.as_ref(), &suite.tests).is_none() {
            let message = "the names of the tests, with the task, are more than a receipt can hold; shorten them, or split the suite";
            return Err(verification.error(Code::TooLarge, message));
        }
        let tier = tier(&root)?;
        let output = output(&root, submission)?;
        let hashes = Hashes {
            specification: specification(&root, task.as_ref())?,
            output: Sha256Digest::of(output.as_bytes()),
            tests: Some(digest(&verification)?),
        };
        Ok(Request { task, output, suite, tier, hashes })
    }
}

fn task(root: &Fields<'_>) -> Result<Option<Task>, RequestError> {
    let inner = root.get("task").map(|task| task.fields()).transpose()?;
    if let Some(inner) = &inner {
        inner.only(&["task_id", "task_type", "description"])?;
    }
    let inner_field = |name: &str| inner.as_ref().and_then(|inner| inner.get(name));
    let text = |field: Option<Field<'_>>| field.map(|field| field.text().map(str::to_owned)).transpose();
    let task = Task {
        task_id: text(one_of(root.get("task_id"), inner_field("task_id"))?)?,
        task_type: text(one_of(root.get("task_type"), inner_field("task_type"))?)?,
        description: text(inner_field("description"))?,
    };
    let said = task.task_id.is_some() || task.task_type.is_some() || task.description.is_some();
    Ok(said.then_some(task))
}

/// The tier follows from the kind; a request may say it, but not otherwise.
fn tier(root: &Fields<'_>) -> Result<u8, RequestError> {
    const TEST_SUITE: u8 = 0;
    let Some(field) = root.get("tier") else {
        return Ok(TEST_SUITE);
    };
    let number = field.json.as_number().ok_or_else(|| field.wrong_type("an integer"))?;
    match number.as_u64() {
        Some(0) => Ok(TEST_SUITE),
        Some(_) | None => {
            let message = format!(
                "`{}` is not the tier of a test suite; write 0, or leave the field out",
                shown(number.as_str())
            );
            Err(field.error(Code::InvalidValue, message))
        }
    }
}

fn output(root: &Fields<'_>, submission: Option<&str>) -> Result<String, RequestError> {
    let output = root.get("output").map(|output| output.fields()).transpose()?;
    if let Some(output) = &output {
        output.only(&["content"])?;
    }
    let content = output.as_ref().and_then(|output| output.get("content"));
    let text = match (content, submission) {
        (Some(content), None) => content.text()?,
        (None, Some(submission)) => submission,
        (Some(content), Some(_)) => {
            let message = "the submission is given here and as a file; leave one of the two out";
            return Err(content.error(Code::ConflictingFields, message));
        }
        (None, None) => {
            let place = Place::Field("output.content".to_owned());
            let message = "the field is missing; write the submission here, or give it as a file with `--submission`";
            return Err(RequestError::new(place, Code::MissingField, message));
        }
    };
    if text.len() > MAX_REQUEST_BYTES {
        let message = format!("{} bytes are more than the {MAX_REQUEST_BYTES} a submission may have", text.len());
        return Err(RequestError::new(Place::Field("output.content".to_owned()), Code::TooLarge, message));
    }
    Ok(text.to_owned())
}

/// Of the text; or of the canonical JSON; or of the task's description; or of nothing, where there is none.
fn specification(root: &Fields<'_>, task: Option<&Task>) -> Result<Sha256Digest, RequestError> {
    let description = || task.and_then(|task| task.description.as_deref()).unwrap_or_default();
    match root.get("specification") {
        None => Ok(Sha256Digest::of(description().as_bytes())),
        Some(field) => match field.json.as_str() {
            Some(text) => Ok(Sha256Digest::of(text.as_bytes())),
            None => digest(&field),
        },
    }
}

fn digest(field: &Field<'_>) -> Result<Sha256Digest, RequestError> {
    match field.json.canonical(Profile::Vrf) {
        Ok(bytes) => Ok(Sha256Digest::of(&bytes)),
        Err(error) => Err(field.error(Code::InvalidValue, error.to_string())),
    }
}
