//! Verifications, for every door: submitted, followed while they run, and cancelled when nobody waits any more.

use std::sync::Arc;
use std::time::Duration;

use proofmark_receipt::{Receipt, ReceiptId, Sha256Digest};
use proofmark_verifier::{Following, Format, JobState, JobView, Request, Submitted, Tenant, Work};
use tokio::sync::watch;

use crate::problem::Problem;
use crate::workbench::Workbench;

/// How long a client waits for its receipt before it gets a job instead.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(10);

/// A verification somebody asks for.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
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
pub(crate) struct Begun {
    pub(crate) id: ReceiptId,
    tenant: Tenant,
    views: Views,
    abandoned: Abandoned,
}

/// Submits a verification. When what is returned is dropped before the end, and the verification has no key under which it
/// could be asked for again, it is cancelled.
pub(crate) async fn begin(bench: &Arc<Workbench>, wanted: Wanted) -> Result<Begun, Problem> {
    let of = Arc::clone(bench);
    // The guard is made where the work is submitted: a client may be gone before that is known here.
    let abandoned = inside(bench, move |_| submit(&of, wanted)).await??;
    let (id, tenant) = (abandoned.id, abandoned.tenant.clone());
    let views = follow(bench, &tenant, id).await?.ok_or_else(gone)?;
    Ok(Begun { id, tenant, views, abandoned })
}

impl Begun {
    /// Each state it comes to.
    pub(crate) fn views(&self) -> watch::Receiver<JobView> {
        self.views.states.clone()
    }

    /// Waits for the receipt.
    pub(crate) async fn receipt(&mut self) -> Result<Arc<Receipt>, Problem> {
        let ended = self.views.states.wait_for(|view| view.state.is_end()).await;
        let view = ended.map_err(|_| Problem::internal())?.clone();
        self.abandoned.bench = None;
        match view.state {
            JobState::Done => view.receipt.ok_or_else(Problem::internal),
            JobState::Failed(why) => Err(Problem::failed(&why)),
            JobState::Waiting | JobState::Running | JobState::Cancelled => Err(Problem::cancelled()),
        }
    }
}

/// Submits a verification and waits for it, at most [`MAX_WAIT`]; then it goes on as a job.
pub(crate) async fn verify(bench: &Arc<Workbench>, wanted: Wanted) -> Result<Answer, Problem> {
    let as_job = wanted.as_job;
    let mut begun = begin(bench, wanted).await?;
    // Who asked for a job gets one, however soon it is over.
    let wait = if as_job { Duration::ZERO } else { MAX_WAIT };
    if let Ok(receipt) = tokio::time::timeout(wait, begun.receipt()).await
        && !as_job
    {
        return Ok(Answer::Receipt(receipt?));
    }
    let (tenant, id) = (begun.tenant.clone(), begun.id);
    inside(bench, move |bench| bench.verifications.persist(&tenant, &id)).await??;
    begun.abandoned.bench = None;
    Ok(Answer::Job(job(bench, &begun.tenant, id).await?.ok_or_else(gone)?))
}

/// A job of this tenant.
pub(crate) async fn job(bench: &Arc<Workbench>, tenant: &Tenant, id: ReceiptId) -> Result<Option<JobView>, Problem> {
    let tenant = tenant.clone();
    Ok(inside(bench, move |bench| bench.verifications.job(&tenant, &id)).await??)
}

/// A job's states, for as long as this lives.
pub(crate) struct Views {
    pub(crate) states: watch::Receiver<JobView>,
    _following: Following,
}

/// Each state a job comes to; none when there is no such job.
pub(crate) async fn follow(bench: &Arc<Workbench>, tenant: &Tenant, id: ReceiptId) -> Result<Option<Views>, Problem> {
    let unknown = JobView { id, state: JobState::Waiting, done: 0, total: 0, created_at: 0, receipt: None };
    let (send, states) = watch::channel(unknown);
    let tenant = tenant.clone();
    let listener = move |view: &JobView| drop(send.send_replace(view.clone()));
    let following = inside(bench, move |bench| bench.verifications.follow(&tenant, &id, Box::new(listener))).await??;
    Ok(following.map(|following| Views { states, _following: following }))
}

/// Does what may wait for the disk.
pub(crate) async fn inside<T: Send + 'static>(
    bench: &Arc<Workbench>,
    work: impl FnOnce(&Workbench) -> T + Send + 'static,
) -> Result<T, Problem> {
    let bench = Arc::clone(bench);
    tokio::task::spawn_blocking(move || work(&bench)).await.map_err(|_| Problem::internal())
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

fn submit(bench: &Arc<Workbench>, wanted: Wanted) -> Result<Abandoned, Problem> {
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
    Ok(match bench.verifications.submit(work)? {
        Submitted::New(id) => Abandoned { bench: (!kept).then(|| Arc::clone(bench)), tenant, id },
        Submitted::Same(id) => Abandoned { bench: None, tenant, id },
    })
}

/// A job was there and is not any more: it was cancelled, or another server's store was put in its place.
fn gone() -> Problem {
    Problem::not_found("such job")
}

/// Cancels a verification nobody waits for, when it is dropped.
struct Abandoned {
    bench: Option<Arc<Workbench>>,
    tenant: Tenant,
    id: ReceiptId,
}

impl Drop for Abandoned {
    fn drop(&mut self) {
        let Some(bench) = self.bench.take() else { return };
        let (tenant, id) = (self.tenant.clone(), self.id);
        drop(tokio::task::spawn_blocking(move || drop(bench.verifications.cancel(&tenant, &id))));
    }
}
