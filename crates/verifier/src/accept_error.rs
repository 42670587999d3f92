//! Why a step is not judged, or not reopened.

use proofmark_contract::response::ResponseError;
use proofmark_contract::{ContractError, StateError, TransitionError};
use proofmark_evidence::trace::TraceError;
use proofmark_receipt::SignError;
use proofmark_receipt::document::shown;
use proofmark_receipt::json::JsonError;
use proofmark_store::StoreError;

use crate::approval::AwaitedApproval;
use crate::issue::IssueError;
use crate::presented::PresentedError;

/// The longest name of a run, in bytes.
pub const MAX_RUN_NAME: usize = 80;

/// Why an attempt was not judged. Nothing was stored, and nothing is accepted.
#[derive(Debug, thiserror::Error)]
pub enum AcceptError {
    /// The step has no contract that could be judged by.
    #[error("judge step `{step}`: {error}")]
    Contract { step: String, error: ContractError },
    /// The response cannot be judged at all.
    #[error("read the response: {0}")]
    Response(ResponseError),
    /// The trace is damaged or of no known form.
    #[error("read the trace: {0}")]
    Trace(#[from] TraceError),
    /// The step needs calls, and the attempt has no trace.
    #[error("judge step `{0}`: it needs recorded tool calls, and no trace was given")]
    NoTrace(String),
    /// The step reads a fact of the context that the attempt does not have, or has as another type.
    #[error("judge step `{step}`: it reads `context.{name}`, which was not given as the workflow declares it")]
    NoContext { step: String, name: String },
    /// The run is not at the step, and the caller asked for the order of the workflow.
    #[error("judge step `{step}` in run `{run}`: no step that leads to it was accepted in this run")]
    OutOfOrder { step: String, run: String },
    /// Presented receipts cannot be read.
    #[error(transparent)]
    Presented(#[from] PresentedError),
    /// The caller no longer waits for it.
    #[error("judge step `{0}`: the caller no longer waited for it, so nothing was stored")]
    Stopped(String),
    /// Nobody can be asked to approve it.
    #[error("ask for the approval of step `{step}`: {message}")]
    Ask { step: String, message: String, help: Option<String> },
    /// The step waits for an approval, and the response has no result that could be accepted once it is there.
    #[error("judge step `{step}`: attempt {attempt} waits for an approval, and this response has no result")]
    Awaits { step: String, attempt: u32, awaited: AwaitedApproval },
    /// The attempt does not fit the state of the run.
    #[error("judge attempt of step `{step}` in run `{run}`: {refusal}")]
    Refused { run: String, step: String, refusal: TransitionError },
    /// The run is another's.
    #[error("judge an attempt in run `{run}`: `{begun_by}` began it")]
    OfAnother {
        run: String,
        /// Who began it; empty where it was not recorded.
        begun_by: String,
    },
    /// The sender named began no such run.
    #[error("judge an attempt in run `{run}`: `{begun_by}` began no run of that name")]
    NotBegun { run: String, begun_by: String },
    /// An invalid name of a run.
    #[error("use `{}` as the name of a run", shown(.0))]
    RunName(String),
    /// A step is reopened by people whom the workflow or its policy lists.
    #[error("reopen step `{step}`: the key is of nobody whom the workflow or its policy lists as a reviewer")]
    NotAReviewer {
        step: String,
        /// The names of those who are listed.
        listed: Vec<String>,
    },
    /// The note is empty or too long.
    #[error("reopen a step: the note is empty or has more than {0} bytes")]
    Note(usize),
    /// The stored state of a step is not what its last receipt says.
    #[error(
        "read step `{step}` of run `{run}`: its stored state is not that of its last receipt, or the receipt is not valid"
    )]
    OtherState { run: String, step: String },
    /// The stored state of a step is signed by a key that may not accept it, or not reopen it.
    #[error("read step `{step}` of run `{run}`: the key that signed its state may not accept or reopen it here")]
    OtherSigner { run: String, step: String },
    /// The stored state of the run cannot be read.
    #[error("read the state of run `{run}`: {error}")]
    State { run: String, error: StoredStateError },
    /// The receipt cannot be signed.
    #[error("sign the receipt of the judgment: {0}")]
    Sign(#[from] SignError),
    /// The store refused, or failed.
    #[error(transparent)]
    Store(StoreError),
    /// The system gave no randomness.
    #[error("draw an id ({0})")]
    Randomness(#[from] getrandom::Error),
}

/// Why a stored state cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum StoredStateError {
    #[error(transparent)]
    Json(#[from] JsonError),
    #[error(transparent)]
    State(#[from] StateError),
}

impl AcceptError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        Some(match self {
            Self::Presented(error) => return error.help(),
            Self::Store(error) => return error.help(),
            Self::Stopped(_) => "send it again".to_owned(),
            Self::OfAnother { .. } => {
                "send the attempt with the key that began the run or with an `admin` key, or choose another name for the run"
                    .to_owned()
            }
            Self::NotBegun { .. } => "name who began it, or begin a run of your own".to_owned(),
            Self::RunName(_) => format!("write 1 to {MAX_RUN_NAME} letters, digits, `-`, `_`, `.`, `:`"),
            Self::Contract { error, .. } => return error.help(),
            Self::Response(error) => return error.help(),
            Self::Trace(error) => return error.help(),
            Self::Sign(error) => return error.help(),
            Self::NoTrace(_) => "give the recorded calls as `trace`; an empty list states that none was made".to_owned(),
            Self::NoContext { name, .. } => format!("give `{name}` in `context`"),
            Self::Ask { help, .. } => return help.clone(),
            Self::Awaits { awaited, .. } => {
                format!("it {}; then send the same result again", awaited.words())
            }
            Self::OutOfOrder { .. } => "have the step before it accepted first, in the same run".to_owned(),
            Self::Refused { refusal, .. } => refusal.help(),
            Self::NotAReviewer { listed, .. } if listed.is_empty() => {
                "list who may reopen steps under `reviewers`, as `{name: ann, key: KEY, roles: [owner]}`".to_owned()
            }
            Self::NotAReviewer { listed, .. } => format!("it takes the key of {}", listed.join(" or ")),
            Self::Note(_) => "say why".to_owned(),
            Self::OtherState { .. } => "verify the store with `proofmark store check`".to_owned(),
            Self::OtherSigner { .. } => {
                "add the key with `proofmark trust add --for acceptance` if it is yours, or find out who has changed the store"
                    .to_owned()
            }
            Self::State { .. } | Self::Randomness(_) => return None,
        })
    }
}

impl From<StoreError> for AcceptError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Sign(error) => Self::Sign(error),
            error => Self::Store(error),
        }
    }
}

impl From<IssueError> for AcceptError {
    fn from(error: IssueError) -> Self {
        match error {
            IssueError::Sign(error) => Self::Sign(error),
            IssueError::Store(error) => Self::Store(error),
            // A head of a chain is not signed here, and chains of steps are ours.
            IssueError::NoChain(chain) | IssueError::Reserved(chain) => Self::Store(StoreError::ChainName(chain)),
        }
    }
}
