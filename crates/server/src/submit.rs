//! Verifications for HTTP and MCP alike: submitted, followed while they run, and cancelled when nobody waits any more.

use std::sync::Arc;
use std::time::Duration;

use proofmark_checks::{Format, MAX_REQUEST_BYTES, Request};
use proofmark_jobs::{Following, JobState, JobView, Submitted, Work};
use proofmark_receipt::{Json, Receipt, ReceiptId, Sha256Digest};
use proofmark_store::Tenant;
use tokio::sync::watch;
use tracing::Span;

use crate::body;
use crate::problem::Problem;
use crate::services::Services;
use crate::share::{Place, Priority, Share};

/// How long a client waits for its receipt before it gets a job instead, where it does not say.
pub(crate) const DEFAULT_WAIT: Duration = Duration::from_secs(10);
/// The longest a client can ask to wait.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(300);

/// A verification that a client asks for.
pub(crate) struct Submission {
    pub(crate) tenant: Tenant,
    pub(crate) request: Source,
    /// The chain its receipt continues, among the tenant's own.
    pub(crate) chain: Option<String>,
    /// The receipt that its receipt supersedes.
    pub(crate) supersedes: Option<ReceiptId>,
    /// By which a repetition is recognised: the client's key, and the digest of path and body.
    pub(crate) replayable: Option<(String, Sha256Digest)>,
    /// How long the client waits for its receipt. Zero: it wants a job, however soon that is over.
    pub(crate) wait: Duration,
    /// Given back once it is read: then the queue counts it.
    pub(crate) held: Option<Held>,
}

/// What a submission takes of the server until it is read: memory, and a place for the thread that reads it.
pub(crate) type Held = (Share, Place);

/// A request as `docs/requests.md` has it.
pub(crate) enum Source {
    /// JSON as a client sent it; it is stored as it is.
    Text(String),
    /// JSON in another form, and what converts it.
    Foreign(String, fn(Json) -> Result<Json, Problem>),
    Document(Json),
}

/// The outcome so far.
pub(crate) enum Answer {
    Receipt(Arc<Receipt>),
    /// It goes on, also after a restart.
    Job(JobView),
}

/// The chain of verifications that name none.
const CHAIN: &str = "verifications";
/// The longest name of a chain, in bytes.
const MAX_CHAIN: usize = 80;

/// A verification that was submitted.
pub(crate) struct Pending {
    pub(crate) id: ReceiptId,
    tenant: Tenant,
    wait: Duration,
    views: Views,
    cancel: CancelOnDrop,
}

/// Submits a verification, which `submission` makes: it may read long texts, and runs on the same thread. When the result is
/// dropped before the end, and no idempotency key lets the client ask for the receipt again, the verification is cancelled.
pub(crate) async fn begin(
    services: &Arc<Services>,
    submission: impl FnOnce(&Services) -> Result<Submission, Problem> + Send + 'static,
) -> Result<Pending, Problem> {
    let shared = Arc::clone(services);
    let asked_in = Span::current();
    // The guard is made where the work is submitted: a client may be gone before this future learns of it.
    let begun = blocking(services, move |services| {
        let _asked_in = asked_in.entered();
        let submission = submission(services)?;
        let wait = submission.wait.min(MAX_WAIT);
        let priority = submission.held.as_ref().map_or(Priority::Normal, |(_, place)| place.priority());
        let cancel = priority.run(|| submit(&shared, submission))??;
        let (id, tenant) = (cancel.id, cancel.tenant.clone());
        let views = views(services, &tenant, id)?.ok_or_else(gone)?;
        Ok(Pending { id, tenant, wait, views, cancel })
    });
    begun.await?
}

impl Pending {
    /// Each state it comes to.
    pub(crate) fn views(&self) -> watch::Receiver<JobView> {
        self.views.states.clone()
    }

    /// Waits for the receipt.
    pub(crate) async fn receipt(&mut self) -> Result<Arc<Receipt>, Problem> {
        let ended = self.views.states.wait_for(|view| view.state.is_end()).await;
        let view = ended.map_err(|_| Problem::internal())?.clone();
        // It is over, so there is nothing left to cancel.
        self.cancel.services = None;
        match view.state {
            JobState::Done => view.receipt.ok_or_else(Problem::internal),
            JobState::Failed(cause) => Err(Problem::not_stored(&cause)),
            JobState::Waiting | JobState::Running | JobState::Cancelled => Err(Problem::cancelled()),
        }
    }
}

/// Submits a verification and waits for it, as long as its client does; then it goes on as a job.
pub(crate) async fn verify(
    services: &Arc<Services>,
    submission: impl FnOnce(&Services) -> Result<Submission, Problem> + Send + 'static,
) -> Result<Answer, Problem> {
    let mut pending = begin(services, submission).await?;
    let wait = pending.wait;
    if !wait.is_zero()
        && let Ok(receipt) = tokio::time::timeout(wait, pending.receipt()).await
    {
        return Ok(Answer::Receipt(receipt?));
    }
    let (tenant, id) = (pending.tenant.clone(), pending.id);
    // Before the guard is disarmed: no client gets a 202 for a job that is not on disk.
    blocking(services, move |services| services.verifications.persist(&tenant, &id)).await??;
    pending.cancel.services = None;
    Ok(Answer::Job(job(services, &pending.tenant, id).await?.ok_or_else(gone)?))
}

/// A job of this tenant.
pub(crate) async fn job(services: &Arc<Services>, tenant: &Tenant, id: ReceiptId) -> Result<Option<JobView>, Problem> {
    let tenant = tenant.clone();
    Ok(blocking(services, move |services| services.verifications.job(&tenant, &id)).await??)
}

/// A job's states, for as long as this lives.
pub(crate) struct Views {
    pub(crate) states: watch::Receiver<JobView>,
    _following: Following,
}

/// Each state a job comes to; none when there is no such job.
pub(crate) async fn follow(services: &Arc<Services>, tenant: &Tenant, id: ReceiptId) -> Result<Option<Views>, Problem> {
    let tenant = tenant.clone();
    blocking(services, move |services| views(services, &tenant, id)).await?
}

fn views(services: &Services, tenant: &Tenant, id: ReceiptId) -> Result<Option<Views>, Problem> {
    // Nobody sees this: `follow` of the verifier calls the listener with the state before it returns.
    let unknown =
        JobView { id, state: JobState::Waiting, done: 0, total: 0, created_at: 0, receipt: None, lacking: None };
    let (send, states) = watch::channel(unknown);
    // The listener is called under a lock (`jobs.rs`). `send_replace` does not wait, nor needs a receiver.
    let listener = move |view: &JobView| drop(send.send_replace(view.clone()));
    let following = services.verifications.follow(tenant, &id, Box::new(listener))?;
    Ok(following.map(|following| Views { states, _following: following }))
}

/// Does work that may wait for the disk on a thread for that.
pub(crate) async fn blocking<T: Send + 'static>(
    services: &Arc<Services>,
    work: impl FnOnce(&Services) -> T + Send + 'static,
) -> Result<T, Problem> {
    let services = Arc::clone(services);
    tokio::task::spawn_blocking(move || work(&services)).await.map_err(|_| Problem::internal())
}

/// The name of a chain that a client may choose. It has no slash, so it cannot be the chain of a step.
pub(crate) fn chain_name(name: Option<&str>) -> Result<String, Problem> {
    let name = name.unwrap_or(CHAIN);
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.:".contains(c));
    if name.is_empty() || name.len() > MAX_CHAIN || !is_plain {
        return Err(Problem::bad("invalid_chain", "invalid name of a chain")
            .help(format!("write 1 to {MAX_CHAIN} letters, digits, `-`, `_`, `.` and `:`")));
    }
    Ok(name.to_owned())
}

/// Submits a verification as a job, which goes on when no client waits for it.
pub(crate) fn begin_job(services: &Services, submission: Submission) -> Result<ReceiptId, Problem> {
    let submitted = services.verifications.submit(work(Submission { wait: Duration::ZERO, ..submission })?)?;
    let (Submitted::New(id) | Submitted::Same(id)) = submitted;
    Ok(id)
}

fn submit(services: &Arc<Services>, submission: Submission) -> Result<CancelOnDrop, Problem> {
    // With an idempotency key a client that was cut off sends the request again and gets this receipt, so it goes on.
    let (tenant, stays) = (submission.tenant.clone(), submission.wait.is_zero() || submission.replayable.is_some());
    Ok(match services.verifications.submit(work(submission)?)? {
        Submitted::New(id) => CancelOnDrop { services: (!stays).then(|| Arc::clone(services)), tenant, id },
        // The client that sent it first may still wait for it, so this one does not cancel it.
        Submitted::Same(id) => CancelOnDrop { services: None, tenant, id },
    })
}

fn work(submission: Submission) -> Result<Work, Problem> {
    // The text is what is stored, and what another process reads that takes the job over: both read the same bytes.
    let text = match submission.request {
        Source::Text(text) => text,
        Source::Foreign(text, convert) => convert(body::json(text.as_bytes(), MAX_REQUEST_BYTES)?)?.to_text(),
        Source::Document(document) => document.to_text(),
    };
    let request = Request::read(text.as_bytes(), Format::Json, None)
        .map_err(|error| Problem::unreadable("read the request", &error))?;
    drop(submission.held);
    Ok(Work {
        chain: chain_name(submission.chain.as_deref())?,
        tenant: submission.tenant,
        request,
        text,
        supersedes: submission.supersedes,
        replayable: submission.replayable,
        durable: submission.wait.is_zero(),
        asked_in: Span::current(),
    })
}

/// The job was there before: it was cancelled meanwhile, or the store was replaced.
fn gone() -> Problem {
    Problem::not_found("job")
}

/// Cancels a verification that nobody waits for.
struct CancelOnDrop {
    services: Option<Arc<Services>>,
    tenant: Tenant,
    id: ReceiptId,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let Some(services) = self.services.take() else { return };
        // On another thread: cancelling writes to the store and waits until processes are gone.
        let (tenant, id) = (self.tenant.clone(), self.id);
        drop(tokio::task::spawn_blocking(move || drop(services.verifications.cancel(&tenant, &id))));
    }
}
