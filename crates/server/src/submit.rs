//! Verifications, for every door: submitted, followed while they run, and cancelled when nobody waits any more.

use std::sync::Arc;
use std::time::Duration;

use proofmark_receipt::{Receipt, ReceiptId, Sha256Digest};
use proofmark_verifier::{Following, Format, JobState, JobView, Request, Submitted, Tenant, Work};
use tokio::sync::watch;

use crate::problem::Problem;
use crate::services::Services;

/// How long a client waits for its receipt before it gets a job instead.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(10);

/// A verification somebody asks for.
#[derive(Clone, Debug)]
pub(crate) struct Submission {
    pub(crate) tenant: Tenant,
    /// The request as `docs/requests.md` has it, in JSON.
    pub(crate) text: String,
    /// The chain its receipt continues, among the tenant's own.
    pub(crate) chain: Option<String>,
    /// The receipt that its receipt takes the place of.
    pub(crate) supersedes: Option<ReceiptId>,
    /// How a repetition is known: the client's key, and the digest of what is asked.
    pub(crate) replayable: Option<(String, Sha256Digest)>,
    /// Whether it is wanted as a job, and not waited for.
    pub(crate) as_job: bool,
}

/// What came of it so far.
pub(crate) enum Answer {
    Receipt(Arc<Receipt>),
    /// It goes on, also when the server is started anew.
    Job(JobView),
}

/// The chain verifications are on when nothing is said.
const CHAIN: &str = "verifications";
/// The longest name of a chain, in bytes.
const MAX_CHAIN: usize = 80;

/// A verification that was submitted.
pub(crate) struct Pending {
    pub(crate) id: ReceiptId,
    tenant: Tenant,
    views: Views,
    abandoned: CancelOnDrop,
}

/// Submits a verification. When what is returned is dropped before the end, and the verification has no key under which it
/// could be asked for again, it is cancelled.
pub(crate) async fn begin(services: &Arc<Services>, wanted: Submission) -> Result<Pending, Problem> {
    let of = Arc::clone(services);
    // The guard is made where the work is submitted: a client may be gone before that is known here.
    let abandoned = inside(services, move |_| submit(&of, wanted)).await??;
    let (id, tenant) = (abandoned.id, abandoned.tenant.clone());
    let views = follow(services, &tenant, id).await?.ok_or_else(gone)?;
    Ok(Pending { id, tenant, views, abandoned })
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
        self.abandoned.services = None;
        match view.state {
            JobState::Done => view.receipt.ok_or_else(Problem::internal),
            JobState::Failed(why) => Err(Problem::failed(&why)),
            JobState::Waiting | JobState::Running | JobState::Cancelled => Err(Problem::cancelled()),
        }
    }
}

/// Submits a verification and waits for it, at most [`MAX_WAIT`]; then it goes on as a job.
pub(crate) async fn verify(services: &Arc<Services>, wanted: Submission) -> Result<Answer, Problem> {
    let as_job = wanted.as_job;
    let mut pending = begin(services, wanted).await?;
    // Who asked for a job gets one, however soon it is over.
    let wait = if as_job { Duration::ZERO } else { MAX_WAIT };
    if let Ok(receipt) = tokio::time::timeout(wait, pending.receipt()).await
        && !as_job
    {
        return Ok(Answer::Receipt(receipt?));
    }
    let (tenant, id) = (pending.tenant.clone(), pending.id);
    inside(services, move |services| services.verifications.keep(&tenant, &id)).await??;
    pending.abandoned.services = None;
    Ok(Answer::Job(job(services, &pending.tenant, id).await?.ok_or_else(gone)?))
}

/// A job of this tenant.
pub(crate) async fn job(services: &Arc<Services>, tenant: &Tenant, id: ReceiptId) -> Result<Option<JobView>, Problem> {
    let tenant = tenant.clone();
    Ok(inside(services, move |services| services.verifications.job(&tenant, &id)).await??)
}

/// A job's states, for as long as this lives.
pub(crate) struct Views {
    pub(crate) states: watch::Receiver<JobView>,
    _following: Following,
}

/// Each state a job comes to; none when there is no such job.
pub(crate) async fn follow(services: &Arc<Services>, tenant: &Tenant, id: ReceiptId) -> Result<Option<Views>, Problem> {
    let unknown = JobView { id, state: JobState::Waiting, done: 0, total: 0, created_at: 0, receipt: None };
    let (send, states) = watch::channel(unknown);
    let tenant = tenant.clone();
    let listener = move |view: &JobView| drop(send.send_replace(view.clone()));
    let following =
        inside(services, move |services| services.verifications.follow(&tenant, &id, Box::new(listener))).await??;
    Ok(following.map(|following| Views { states, _following: following }))
}

/// Does what may wait for the disk.
pub(crate) async fn inside<T: Send + 'static>(
    services: &Arc<Services>,
    work: impl FnOnce(&Services) -> T + Send + 'static,
) -> Result<T, Problem> {
    let services = Arc::clone(services);
    tokio::task::spawn_blocking(move || work(&services)).await.map_err(|_| Problem::internal())
}

/// The name of a chain that a client may choose. It has no slash, so it cannot be the chain of a step.
pub(crate) fn chain_name(name: Option<&str>) -> Result<String, Problem> {
    let name = name.unwrap_or(CHAIN);
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    if name.is_empty() || name.len() > MAX_CHAIN || !name.chars().all(plain) {
        let message = format!("name a chain with 1 to {MAX_CHAIN} letters, digits, `-`, `_`, `.` and `:`");
        return Err(Problem::bad("invalid_chain", message));
    }
    Ok(name.to_owned())
}

fn submit(services: &Arc<Services>, wanted: Submission) -> Result<CancelOnDrop, Problem> {
    let (tenant, kept) = (wanted.tenant.clone(), wanted.as_job || wanted.replayable.is_some());
    let request = Request::read(wanted.text.as_bytes(), Format::Json, None)
        .map_err(|error| Problem::bad(error.code(), format!("read the request: {error}")))?;
    let work = Work {
        chain: chain_name(wanted.chain.as_deref())?,
        tenant: wanted.tenant,
        request,
        text: wanted.text,
        supersedes: wanted.supersedes,
        replayable: wanted.replayable,
        durable: wanted.as_job,
    };
    Ok(match services.verifications.submit(work)? {
        Submitted::New(id) => CancelOnDrop { services: (!kept).then(|| Arc::clone(services)), tenant, id },
        Submitted::Same(id) => CancelOnDrop { services: None, tenant, id },
    })
}

/// A job was there and is not any more: it was cancelled, or another server's store was put in its place.
fn gone() -> Problem {
    Problem::not_found("such job")
}

/// Cancels a verification nobody waits for, when it is dropped.
struct CancelOnDrop {
    services: Option<Arc<Services>>,
    tenant: Tenant,
    id: ReceiptId,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let Some(services) = self.services.take() else { return };
        let (tenant, id) = (self.tenant.clone(), self.id);
        drop(tokio::task::spawn_blocking(move || drop(services.verifications.cancel(&tenant, &id))));
    }
}
