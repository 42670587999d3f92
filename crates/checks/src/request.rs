//! The request: a submission and how it is to be verified.
//!
//! The reference of the format is `docs/requests.md`.

use std::collections::BTreeMap;

use proofmark_receipt::json::{Json, Profile};
use proofmark_receipt::{Hashes, Object, Sha256Digest, Task, object};

use crate::budget::DetailBudget;
use crate::caps::MAX_REQUEST_BYTES;
use crate::command::{self, Command, Packages};
use crate::constraint::{self, Constraint};
use crate::content::Content;
use crate::fields::{self, Outside};
use crate::files::{self, Files, Room};
use crate::suite::{Reveal, Suite};

mod embedded;
mod rules;
mod salt;
mod suite;
mod test;

pub(crate) use proofmark_receipt::document::Cause as Code;
use proofmark_receipt::document::{self, Field, Fields, one_of, shown};
pub use proofmark_receipt::document::{DocumentError as RequestError, Format, Place};

/// The longest `task_id` or `task_type`, in bytes: stores find receipts by them.
const MAX_TASK_NAME_BYTES: usize = 1_000;

/// A request that has been read: everything in it is known, of the right type and fits together.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// What the work was, where the request says so.
    pub task: Option<Task>,
    /// The submission, where it is one text; a project's files are with its command.
    pub output: String,
    /// What it must pass.
    pub checks: Checks,
    /// Digests of what the receipt is about.
    pub hashes: Hashes,
    /// The digest of the bytes it was read from; `None` where it was not read from bytes.
    pub bytes: Option<Sha256Digest>,
    /// What the program that made the request knows of it, which the receipt has in its metadata. No document says it.
    pub known: Object,
}

/// What a submission must pass.
#[derive(Clone, Debug, PartialEq)]
pub enum Checks {
    /// Tests of a program (tier 0).
    Suite(Suite),
    /// A project's own tests (tier 0).
    Command(Box<Command>),
    /// Constraints on a text (tier 1).
    Constraints {
        /// The constraints, in the order of the request.
        constraints: Vec<Constraint>,
        /// What of them the receipt shows.
        reveal: Reveal,
    },
}

impl Checks {
    /// The tier of the checks (VRF 1.0, "Verification Tiers").
    pub fn tier(&self) -> u8 {
        match self {
            Checks::Suite(_) | Checks::Command(_) => 0,
            Checks::Constraints { .. } => 1,
        }
    }

    /// What of the checks the receipt shows.
    pub fn reveal(&self) -> Reveal {
        match self {
            Checks::Suite(suite) => suite.reveal,
            Checks::Command(command) => command.reveal,
            Checks::Constraints { reveal, .. } => *reveal,
        }
    }
}

impl Request {
    /// Reads a request that is whole in itself.
    ///
    /// A `submission` fills `output.content`; the request must not give one then.
    ///
    /// # Errors
    ///
    /// [`RequestError`] with the place, and what to write instead.
    pub fn read(bytes: &[u8], format: Format, submission: Option<&str>) -> Result<Request, RequestError> {
        Request::read_with(bytes, format, &Outside { submission, file: &refuse_file })
    }

    /// Reads a request that may name files.
    ///
    /// # Errors
    ///
    /// [`RequestError`] with the place, and what to write instead.
    pub fn read_with(bytes: &[u8], format: Format, outside: &Outside<'_>) -> Result<Request, RequestError> {
        let request = Request::from_document(&document::parse(bytes, format)?, outside)?;
        Ok(Request { bytes: Some(Sha256Digest::of(bytes)), ..request })
    }

    /// Reads a request that was parsed before, and names no files.
    ///
    /// # Errors
    ///
    /// [`RequestError`] with the place, and what to write instead.
    pub fn from_json(document: &Json) -> Result<Request, RequestError> {
        Request::from_document(document, &Outside { submission: None, file: &refuse_file })
    }

    /// The request that runs a command in a project, whose files are not in a document and so may be more: at most
    /// [`MAX_PROJECT_FILES`](crate::MAX_PROJECT_FILES). The document has the `verification`, whose `files` may name `stored` content by
    /// its digest.
    ///
    /// # Errors
    ///
    /// [`RequestError`] with the place, and what to write instead.
    pub fn from_project(
        files: BTreeMap<String, Content>,
        stored: &[Content],
        document: &Json,
    ) -> Result<Request, RequestError> {
        // The caller may have taken the paths of these files from outside input.
        if let Some(why) = files.keys().find_map(|path| files::check(path).err()) {
            return Err(RequestError::new(Place::Whole, Code::InvalidValue, why).with_help(files::PATH_HELP));
        }
        Request::from_parts(document, &Outside { submission: None, file: &refuse_file }, Some((files, stored)))
    }

    /// Reads a request that was parsed before, and may name files.
    ///
    /// # Errors
    ///
    /// [`RequestError`] with the place, and what to write instead.
    pub fn from_document(document: &Json, outside: &Outside<'_>) -> Result<Request, RequestError> {
        Request::from_parts(document, outside, None)
    }

    fn from_parts(
        document: &Json,
        outside: &Outside<'_>,
        project: Option<(Files, &[Content])>,
    ) -> Result<Request, RequestError> {
        let root = Field::root(document).fields()?;
        root.only(&["task", "task_id", "task_type", "tier", "specification", "output", "verification"])?;
        let task = task(&root)?;
        let verification =
            root.need("verification", "write the suite as an object with `kind`, `language` and `tests`")?;
        let kind = kind(&verification.fields()?)?;
        // With the schemas in place of the names of their files: other content is another suite.
        let resolved = match kind {
            Kind::Constraints => constraint::with_schemas(&verification, outside)?,
            Kind::Suite | Kind::Command => None,
        };
        let json = resolved.as_ref().unwrap_or(verification.json);
        let verification = Field { at: verification.at.clone(), json };
        let block = verification.fields()?;
        let (output, output_digest, checks) = match kind {
            Kind::Command => {
                let is_project = project.is_some();
                let (submitted, stored, room) = match project {
                    Some((files, stored)) => (files, stored, Room::OF_PROJECT),
                    None => (files::read(&submitted_files(&root)?, &[], Room::OF_REQUEST)?, &[][..], Room::OF_REQUEST),
                };
                let (command, digest) = command::read(&block, submitted, stored, room)?;
                if let (Packages::Lock(_), Some(packages), false) =
                    (&command.packages, block.get("packages"), is_project)
                {
                    let error =
                        packages.error(Code::Unsupported, "only a folder has its packages installed from a lock file");
                    return Err(error.with_help("use `proofmark verify --dir`, or write `packages: true`"));
                }
                (String::new(), digest, Checks::Command(Box::new(command)))
            }
            Kind::Suite => with_text(&root, outside, suite::read(&verification).map(Checks::Suite))?,
            Kind::Constraints => {
                let reveal = fields::reveal(block.get("reveal"))?;
                let constraints = constraint::read(&block);
                with_text(&root, outside, constraints.map(|constraints| Checks::Constraints { constraints, reveal }))?
            }
        };
        // It is refused before anything runs: judging never cuts names, so it relies on their room in a receipt.
        if DetailBudget::beside(task.as_ref(), names(&checks)).is_none() {
            let message = "the names of the tests, with the task, are more than a receipt can hold";
            let error = verification.error(Code::TooLarge, message);
            return Err(error.with_help("shorten them, or split the suite"));
        }
        tier(&root, &checks)?;
        let salt = salt::read(&block, checks.reveal())?;
        let hashes = Hashes {
            specification: specification(&root, task.as_ref(), salt.as_deref())?,
            output: output_digest,
            tests: Some(digest(&verification)?),
        };
        Ok(Request { task, output, checks, hashes, bytes: None, known: Object::new() })
    }
}

/// What a request holds work to, whatever the work: the digests that every receipt of the suite has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuiteHashes {
    /// `hashes.specification`.
    pub specification: Sha256Digest,
    /// `hashes.tests`.
    pub tests: Sha256Digest,
}

impl SuiteHashes {
    /// Reads a request for what it holds work to; it need not have an `output`, and one that is there is not looked at.
    ///
    /// # Errors
    /// [`RequestError`] when it is not a request, or names files: the digest of the tests covers only their names.
    pub fn read(bytes: &[u8], format: Format) -> Result<SuiteHashes, RequestError> {
        let mut document = document::parse(bytes, format)?;
        if let Json::Object(root) = &mut document {
            let mode = root.get("verification").and_then(|block| block.as_object()?.get("mode")?.as_str());
            // The output is no part of these digests, so an empty one in the mode's form stands in for it.
            let text = if mode == Some("command") { r#"{"files":{"any":""}}"# } else { r#"{"content":""}"# };
            root.insert("output", Json::parse(text.as_bytes()).unwrap_or(Json::Null));
        }
        let file = |_: &str| Err("a digest does not cover the files a suite names; write the content here".to_owned());
        let hashes = Request::from_document(&document, &Outside { submission: None, file: &file })?.hashes;
        Ok(SuiteHashes { specification: hashes.specification, tests: hashes.tests.unwrap_or(hashes.specification) })
    }
}

fn refuse_file(_: &str) -> Result<String, String> {
    Err("a file cannot be named here; write its content instead".to_owned())
}

enum Kind {
    Suite,
    Command,
    Constraints,
}

const KINDS: &str = "the kinds supported are `test_suite`, `schema_check` and `constraint_check`";

fn kind(block: &Fields<'_>) -> Result<Kind, RequestError> {
    if constraint::is_reference_form(block) {
        return Ok(Kind::Constraints);
    }
    let kind = block.need("kind", &format!("write `test_suite`; {KINDS}"))?;
    // Only looked at: a mode of the wrong type is refused by the reader of the suite.
    let command = block.get("mode").is_some_and(|mode| mode.json.as_str() == Some("command"));
    match kind.text()? {
        "test_suite" if command => Ok(Kind::Command),
        "test_suite" => Ok(Kind::Suite),
        "schema_check" | "constraint_check" => Ok(Kind::Constraints),
        other => {
            Err(kind.error(Code::Unsupported, format!("the kind `{}` is not supported", shown(other))).with_help(KINDS))
        }
    }
}

/// Errors of the checks come before those of the output.
fn with_text(
    root: &Fields<'_>,
    outside: &Outside<'_>,
    checks: Result<Checks, RequestError>,
) -> Result<(String, Sha256Digest, Checks), RequestError> {
    let checks = checks?;
    let output = output(root, outside.submission)?;
    let digest = Sha256Digest::of(output.as_bytes());
    Ok((output, digest, checks))
}

fn submitted_files<'a>(root: &Fields<'a>) -> Result<Field<'a>, RequestError> {
    const HELP: &str = "write the project's files as an object of paths and their text";
    let output = root.need("output", HELP)?.fields()?;
    output.only(&["files"])?;
    output.need("files", HELP)
}

fn names(checks: &Checks) -> Vec<&str> {
    match checks {
        Checks::Suite(suite) => suite.tests.iter().map(|test| test.name.as_str()).collect(),
        Checks::Constraints { constraints, .. } => {
            // `DetailBudget::fit` cuts neither of the two.
            constraints.iter().flat_map(|constraint| [constraint.name.as_str(), constraint.text.as_str()]).collect()
        }
        // The names are those of the report, known after the run; `conclude` makes them fit.
        Checks::Command(_) => Vec::new(),
    }
}

fn task(root: &Fields<'_>) -> Result<Option<Task>, RequestError> {
    let inner = root.get("task").map(|task| task.fields()).transpose()?;
    if let Some(inner) = &inner {
        inner.only(&["task_id", "task_type", "description"])?;
    }
    let inner_field = |name: &str| inner.as_ref().and_then(|inner| inner.get(name));
    let text = |field: Option<Field<'_>>| field.map(|field| field.text().map(str::to_owned)).transpose();
    let name = |field: Option<Field<'_>>| field.map(|field| task_name(&field)).transpose();
    let task = Task {
        task_id: name(one_of(root.get("task_id"), inner_field("task_id"))?)?,
        task_type: name(one_of(root.get("task_type"), inner_field("task_type"))?)?,
        description: text(inner_field("description"))?,
    };
    let is_given = task.task_id.is_some() || task.task_type.is_some() || task.description.is_some();
    Ok(is_given.then_some(task))
}

/// A text that receipts are found by. What no store could hold is refused before anything runs.
fn task_name(field: &Field<'_>) -> Result<String, RequestError> {
    let text = field.text()?;
    if text.contains('\0') {
        let error = field.error(Code::InvalidValue, "the text has the character U+0000, which no store takes");
        return Err(error.with_help("leave the character out"));
    }
    if text.len() > MAX_TASK_NAME_BYTES {
        let message =
            format!("the text has {} bytes, more than the {MAX_TASK_NAME_BYTES} that can be searched for", text.len());
        return Err(field
            .error(Code::InvalidValue, message)
            .with_help("write a shorter one; `description` may be long"));
    }
    Ok(text.to_owned())
}

/// The tier follows from the kind; a request may say it, but not otherwise.
fn tier(root: &Fields<'_>, checks: &Checks) -> Result<(), RequestError> {
    let Some(field) = root.get("tier") else { return Ok(()) };
    let number = field.json.as_number().ok_or_else(|| field.wrong_type("an integer"))?;
    if number.as_u64() == Some(u64::from(checks.tier())) {
        return Ok(());
    }
    let message = format!("`{}` is not the tier of these checks", shown(number.as_str()));
    let help = format!("write {}, or leave the field out", checks.tier());
    Err(field.error(Code::InvalidValue, message).with_help(help))
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
            let error = content.error(Code::ConflictingFields, "the submission is given here and as a file");
            return Err(error.with_help("leave one of the two out"));
        }
        (None, None) => {
            let place = Place::Field("output.content".to_owned());
            let error = RequestError::new(place, Code::MissingField, "missing field");
            return Err(error.with_help("write the submission here, or give it as a file with `--submission`"));
        }
    };
    // A submission from outside has not passed the limit on the request's own bytes.
    if text.len() > MAX_REQUEST_BYTES {
        let message = format!("{} bytes are more than the {MAX_REQUEST_BYTES} a submission may have", text.len());
        return Err(RequestError::new(Place::Field("output.content".to_owned()), Code::TooLarge, message));
    }
    Ok(text.to_owned())
}

/// The byte before the canonical JSON of a specification that is not a text. It stands in no text of UTF-8, so a text and a value
/// never have the same digest.
const VALUE: u8 = 0xFF;
/// The same before the canonical JSON of a specification with its salt.
const SALTED: u8 = 0xFE;

/// Of the text; or of a byte 0xFF and the canonical JSON; or of the task's description; or of nothing, where there is none. With a
/// salt, of a byte 0xFE and the canonical JSON of `{"salt": …, "specification": …}`, the latter being that text or value.
fn specification(root: &Fields<'_>, task: Option<&Task>, salt: Option<&str>) -> Result<Sha256Digest, RequestError> {
    let description = || task.and_then(|task| task.description.as_deref()).unwrap_or_default();
    let field = root.get("specification");
    let of_kind = |kind: u8, json: &Json| {
        let canonical = json.canonical(Profile::Vrf).map_err(|error| {
            let place = if field.is_some() { "specification" } else { "task.description" };
            RequestError::new(Place::Field(place.to_owned()), Code::InvalidValue, error.to_string())
        })?;
        Ok(Sha256Digest::of(&[&[kind], canonical.as_slice()].concat()))
    };
    let given = field.as_ref().map_or_else(|| Json::from(description()), |field| field.json.clone());
    match (salt, &given) {
        (Some(salt), _) => of_kind(SALTED, &object! { "salt": salt, "specification": given }.into()),
        (None, Json::String(text)) => Ok(Sha256Digest::of(text.as_bytes())),
        (None, value) => of_kind(VALUE, value),
    }
}

fn digest(field: &Field<'_>) -> Result<Sha256Digest, RequestError> {
    canonical(field.json).map_err(|error| field.error(Code::InvalidValue, error))
}

fn canonical(json: &Json) -> Result<Sha256Digest, String> {
    json.canonical(Profile::Vrf).map(|bytes| Sha256Digest::of(&bytes)).map_err(|error| error.to_string())
}
