//! Endpoints that decide. Reading and deciding take a thread; waiting for the disk takes none, so many clients share one
//! commit without a thread each.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use axum::body::Body;
use proofmark_boundary::{DecisionReceipt, Request};
use proofmark_decider::{Asked, Attempt, Begun, Decided, Replayable, ToldDecision};
use proofmark_receipt::{Json, Sha256Digest};
use proofmark_store::{Tenant, while_wanted};
use proofmark_verifier::{Presented, PresentedProof};
use tracing::{Instrument, Span};

use crate::body::{self, Sent};
use crate::context::{Content, Head, RequestContext};
use crate::endpoint::{Endpoint, Method, waiting};
use crate::keys::{Caller, Role};
use crate::observe::decided;
use crate::problem::Problem;
use crate::proofs_body;
use crate::reply::Reply;
use crate::services::Services;
use crate::share::{Place, Priority, Share};
use crate::state::AppState;
use crate::stop::MAX_ANSWER_TIME;

/// How requests for a decision are written, and how they are answered.
#[derive(Clone, Copy)]
pub(crate) struct Form {
    /// What a report of the execution will name the action by, where one is expected.
    pub(crate) candidate: fn(&Json) -> Option<String>,
    /// The answer, made of the receipt and its text.
    pub(crate) reply: fn(&DecisionReceipt, String) -> Reply,
}

/// A request for a decision.
struct Asking {
    request: Request,
    proofs: Vec<PresentedProof>,
    candidate: Option<String>,
    caller: Caller,
    idempotency: Option<(String, Sha256Digest)>,
    stop: Arc<AtomicBool>,
    attempt: Attempt,
    /// Given back when the decision is made, whether or not its client still waits.
    _memory: Share,
}

/// An endpoint that decides on requests of this form.
pub(crate) fn deciding(path: &'static str, role: Option<Role>, form: Form) -> Endpoint {
    waiting(Method::Post, path, role, move |state, head, body| answer(state, head, body, form))
}

async fn answer(state: Arc<AppState>, head: Head, body: Body, form: Form) -> Result<Reply, Problem> {
    let mut memory = state.limits.bytes.take(&head.caller.tenant, 0)?;
    let sent = body::read(&head.parts.headers, body, body::MAX_BODY, &mut memory).await?;
    // This future owns it. When the client is gone or the time is over, the drop sets the flag that the thread polls.
    let stop = state.stops.flag();
    let (tenant, flag) = (head.caller.tenant.clone(), stop.shared());
    let is_small = sent.is_small();
    let began = SystemTime::now();
    let decide = async move {
        let services = Arc::clone(&state.services);
        let asked = Arc::clone(&flag);
        let read = move || Asking::read(&services, form, head, sent, memory, asked);
        let (asking, made) = decide((&state, &tenant, &flag), is_small, read).await?;
        let Asking { request, caller, .. } = &asking;
        let (tenant, caller) = (&caller.tenant, caller.id.as_str());
        decided(&ToldDecision { request, receipt: &made.receipt, tenant, caller, began });
        Ok((form.reply)(&made.receipt, made.text))
    };
    // A task of its own: what is stored is logged and counted, also where its client is gone.
    match tokio::time::timeout(MAX_ANSWER_TIME, tokio::spawn(decide.instrument(Span::current()))).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => Err(Problem::internal()),
        Err(_) => Err(Problem::too_slow()),
    }
}

/// Decides on what `read` gives. It holds no thread while it waits for other decisions on the action, or for the disk.
async fn decide(
    of: Of<'_>,
    is_small: bool,
    read: impl FnOnce() -> Result<Asking, Problem> + Send + 'static,
) -> Result<(Asking, Decided), Problem> {
    let (state, ..) = of;
    let services = Arc::clone(&state.services);
    let ((mut asking, mut begun), place) = in_pool(of, move || read()?.begin(&services)).await?;
    let mut place = Some(place);
    loop {
        let services = Arc::clone(&state.services);
        match begun {
            Begun::Waits(waiting) => {
                // Those that it waits for may need the place.
                drop(place.take());
                asking.attempt.hold(waiting.await);
                // Others wait for it from then on, some of them with places: it goes on without one.
                (asking, begun) = in_thread(of, Priority::Normal, move || asking.begin(&services)).await??;
            }
            Begun::Made(deciding) => {
                // There is one writer, and it takes long for what is long: of those who used more than others only a few wait for it.
                let _held = place.take().filter(|place| place.priority() == Priority::Low && !is_small);
                if let Some(decided) = deciding.await? {
                    return Ok((asking, decided));
                }
                let taken;
                ((asking, begun), taken) = in_pool(of, move || asking.begin(&services)).await?;
                place = Some(taken);
            }
        }
    }
}

/// Whose work it is, and what ends it.
type Of<'a> = (&'a AppState, &'a Tenant, &'a Arc<AtomicBool>);

/// Does the tenant's work in one of the few threads; with the place that it was done in.
async fn in_pool<T: Send + 'static>(
    (state, tenant, stop): Of<'_>,
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<(T, Place), Problem> {
    let place = state.limits.places.take(tenant).await?;
    let done = in_thread((state, tenant, stop), place.priority(), work).await??;
    Ok((done, place))
}

/// The same without a place.
async fn in_thread<T: Send + 'static>(
    (state, tenant, stop): Of<'_>,
    priority: Priority,
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<Result<T, Problem>, Problem> {
    let (span, stop) = (Span::current(), Arc::clone(stop));
    let work = move || priority.run(|| span.in_scope(|| while_wanted(&stop, work)))?;
    state.pool.run(tenant, work).await
}

impl Asking {
    fn read(
        services: &Services,
        form: Form,
        head: Head,
        sent: Sent,
        mut memory: Share,
        stop: Arc<AtomicBool>,
    ) -> Result<Self, Problem> {
        let content = Content::read(&head, sent, &mut memory)?;
        let context = RequestContext::new(services, head, content, stop)?;
        let mut body = context.json()?;
        let proofs = proofs_body::take(&mut body)?;
        let request = Request::read(&body).map_err(|error| Problem::unreadable("read the request", &error))?;
        let candidate = (form.candidate)(&body);
        let request = request.asked_by(&context.asks(context.parameter("policy"))?);
        let RequestContext { caller, stop, idempotency, .. } = context;
        Ok(Self { request, proofs, candidate, caller, idempotency, stop, attempt: Attempt::default(), _memory: memory })
    }

    fn begin(mut self, services: &Services) -> Result<(Self, Begun), Problem> {
        let asked = Asked {
            // Receipts are those of the store: only their proofs come with the request.
            presented: Presented { proofs: &self.proofs, ..Presented::default() },
            candidate: self.candidate.as_deref(),
            replayable: self.idempotency.as_ref().map(|(key, request)| Replayable { key, request: *request }),
            ..Asked::new(&self.request, &self.caller.tenant, &self.stop)
        };
        let begun = services.decider.begin(&asked, &mut self.attempt)?;
        Ok((self, begun))
    }
}
