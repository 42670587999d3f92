//! One endpoint: which requests reach it, who may send them, what answers, and how it is described.

use std::sync::Arc;

use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::handler::Handler;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, on};
use proofmark_store::while_wanted;
use tracing::Span;
use utoipa::ToSchema;

use crate::body;
use crate::context::{Content, Head, RequestContext};
use crate::keys::{Caller, Role};
use crate::live_keys::Credential;
use crate::observe::AdmittedCaller;
use crate::operation::{Answer, Operation, SchemaOf};
use crate::problem::Problem;
use crate::reply::Reply;
use crate::share::Limits;
use crate::state::{AppState, PathVariables};
use crate::stop::MAX_ANSWER_TIME;

/// A row of the table in `endpoints`: the router, the checks of roles and `/openapi.json` are made of it.
pub struct Endpoint {
    pub(crate) method: Method,
    pub path: &'static str,
    pub access: Access,
    pub(crate) handler: MethodRouter<Arc<AppState>>,
    /// None for the Model Context Protocol, which describes itself, and for the files of a page.
    pub(crate) operation: Option<Operation>,
}

/// The methods that endpoints have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Get,
    Post,
    Delete,
}

/// Who may use an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Anyone: no key is looked at.
    Open,
    /// Keys with this role, and administrators; every key where none is named.
    Key(Option<Role>),
}

impl Method {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Post => "post",
            Self::Delete => "delete",
        }
    }

    pub(crate) fn filter(self) -> MethodFilter {
        match self {
            Self::Get => MethodFilter::GET,
            Self::Post => MethodFilter::POST,
            Self::Delete => MethodFilter::DELETE,
        }
    }
}

impl Endpoint {
    /// An endpoint that `/openapi.json` does not describe.
    pub fn new<T: 'static>(
        method: Method,
        path: &'static str,
        access: Access,
        handler: impl Handler<T, Arc<AppState>>,
    ) -> Self {
        Self { method, path, access, handler: on(method.filter(), handler), operation: None }
    }

    /// Whether it is there for agents of other accounts, who ask by the socket.
    pub(crate) fn is_by_socket(&self) -> bool {
        self.access == Access::Key(Some(Role::AgentHost)) || OF_HEALTH.contains(&self.path)
    }
}

/// What tells whether a server works.
const OF_HEALTH: [&str; 2] = ["/healthz", "/readyz"];

/// An endpoint that anyone may get.
pub fn open<T: 'static>(path: &'static str, handler: impl Handler<T, Arc<AppState>>) -> Endpoint {
    Endpoint::new(Method::Get, path, Access::Open, handler)
}

/// An endpoint whose work may wait for the disk: the body is read, and the work is done in a thread of its own.
pub(crate) fn blocking(
    method: Method,
    path: &'static str,
    role: Option<Role>,
    answer: fn(&RequestContext<'_>) -> Result<Reply, Problem>,
) -> Endpoint {
    blocking_up_to(body::MAX_BODY, method, path, role, answer)
}

/// As an endpoint of the API whose work may wait for the disk, for a body of at most so many bytes.
pub fn blocking_up_to(
    most: usize,
    method: Method,
    path: &'static str,
    role: Option<Role>,
    answer: impl Fn(&RequestContext<'_>) -> Result<Reply, Problem> + Clone + Send + Sync + 'static,
) -> Endpoint {
    waiting(method, path, role, move |state, head, body| in_thread(state, head, body, most, answer.clone()))
}

/// An endpoint that waits for work done elsewhere. The request keeps its share of all requests until its answer is
/// written.
pub(crate) fn waiting<F, A, T>(method: Method, path: &'static str, role: Option<Role>, answer: F) -> Endpoint
where
    F: Fn(Arc<AppState>, Head, Body) -> A + Clone + Send + Sync + 'static,
    A: Future<Output = Result<T, Problem>> + Send + 'static,
    T: IntoResponse + 'static,
{
    let handler =
        async move |State(state): State<Arc<AppState>>, variables: PathVariables, request: Request| match state
            .admit(variables, request, role)
            .await
        {
            Ok((head, body, share)) => {
                // For the log of `observe`: the handler consumes the head.
                let (caller, credential) = (AdmittedCaller(head.caller.clone()), head.credential.clone());
                let limits = Arc::clone(&state.limits);
                let answered = tokio::select! {
                    // What is ready is sent, also where the credential has ended at the same moment.
                    biased;
                    answered = answer(state, head, body) => answered.map(IntoResponse::into_response),
                    ended = ended(credential.clone()) => Err(ended),
                };
                let mut response: Response = answered.into_response();
                if method == Method::Get {
                    response = in_memory(&limits, &caller.0, response);
                }
                response.extensions_mut().insert(caller);
                let ended = async { drop(ended(credential).await) };
                body::holding(body::until(response, ended), share)
            }
            Err(problem) => problem.into_response(),
        };
    Endpoint::new(method, path, Access::Key(role), handler)
}

/// The answer to a request that has changed nothing. It is counted until it is written, however slowly its client reads.
pub fn in_memory(limits: &Limits, caller: &Caller, response: Response) -> Response {
    let bytes = response.body().size_hint().exact().and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or_default();
    match limits.bytes.take(&caller.tenant, bytes) {
        Ok(share) => body::holding(response, share),
        Err(problem) => problem.into_response(),
    }
}

/// Becomes ready when the credential no longer counts, with what to answer then; never without one.
pub async fn ended(credential: Option<Credential>) -> Problem {
    match credential {
        Some(credential) => credential.ended().await,
        None => std::future::pending().await,
    }
}

/// The work stops when no client waits for it any more.
async fn in_thread(
    state: Arc<AppState>,
    head: Head,
    body: Body,
    most: usize,
    answer: impl Fn(&RequestContext<'_>) -> Result<Reply, Problem> + Send + 'static,
) -> Result<Reply, Problem> {
    let mut memory = state.limits.bytes.take(&head.caller.tenant, 0)?;
    let sent = body::read(&head.parts.headers, body, most, &mut memory).await?;
    // After the body, so that a client that sends slowly occupies no place of a thread.
    let place = state.limits.places.take(&head.caller.tenant).await?;
    // This future owns it. When the client is gone or the time is over, the drop sets the flag that the thread polls.
    let stop = state.stops.flag();
    let (services, flag, span) = (Arc::clone(&state.services), stop.shared(), Span::current());
    let work = move || {
        // It is given back when the work is done, whether or not its client still waits.
        let (place, mut memory) = (place, memory);
        let work = move || {
            let content = Content::read(&head, sent, &mut memory)?;
            // What changes nothing may end anywhere. The rest looks at the flag where it can end.
            let stop = if head.parts.method.is_safe() { Arc::clone(&flag) } else { Arc::default() };
            let work = || answer(&RequestContext::new(&services, head, content, flag)?);
            // What is logged there has the id of the request.
            span.in_scope(|| while_wanted(&stop, work))
        };
        place.priority().run(work)?
    };
    match tokio::time::timeout(MAX_ANSWER_TIME, tokio::task::spawn_blocking(work)).await {
        Ok(Ok(answer)) => answer,
        // The thread panicked; only this request fails.
        Ok(Err(_)) => Err(Problem::internal()),
        Err(_) => Err(Problem::too_slow()),
    }
}

/// The description. Each of these but the first adds to the operation that `Endpoint::operation` begins.
impl Endpoint {
    pub(crate) fn operation(mut self, id: &'static str, tag: &'static str, summary: &'static str) -> Self {
        let (description, parameters, body) = (None, [].as_slice(), None);
        self.operation = Some(Operation { id, tag, summary, description, parameters, body, responses: Vec::new() });
        self
    }

    pub(crate) fn description(self, text: &'static str) -> Self {
        self.described(|operation| operation.description = Some(text))
    }

    /// Parameters beside the variables of the path, named as in `openapi/common.json`.
    pub(crate) fn parameters(self, names: &'static [&'static str]) -> Self {
        self.described(|operation| operation.parameters = names)
    }

    pub(crate) fn body<T: ToSchema>(self) -> Self {
        self.described(|operation| operation.body = Some((SchemaOf::of::<T>(), true)))
    }

    pub(crate) fn optional_body<T: ToSchema>(self) -> Self {
        self.described(|operation| operation.body = Some((SchemaOf::of::<T>(), false)))
    }

    pub(crate) fn ok<T: ToSchema>(self, description: &'static str) -> Self {
        self.responds(200, Answer::Json { description, schema: SchemaOf::of::<T>() })
    }

    pub(crate) fn ok_text(self, media_type: &'static str, description: &'static str) -> Self {
        self.responds(200, Answer::Text { description, media_type })
    }

    /// A response that `openapi/common.json` has under this name.
    pub(crate) fn named(self, status: u16, name: &'static str) -> Self {
        self.responds(status, Answer::Named(name))
    }

    pub(crate) fn not_found(self) -> Self {
        self.named(404, "NotFound")
    }

    pub(crate) fn conflict(self) -> Self {
        self.named(409, "Conflict")
    }

    pub(crate) fn unprocessable(self) -> Self {
        self.named(422, "Unprocessable")
    }

    fn responds(self, status: u16, answer: Answer) -> Self {
        self.described(|operation| operation.responses.push((status, answer)))
    }

    fn described(mut self, describe: impl FnOnce(&mut Operation)) -> Self {
        if let Some(operation) = &mut self.operation {
            describe(operation);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;

    use super::*;

    #[test]
    fn answers_count_against_their_tenant_until_they_are_gone() {
        let limits = Limits::new();
        let answer = || in_memory(&limits, &Caller::local(), Response::new(Body::from(vec![0; 32 << 20])));
        let mut answers: Vec<_> = (0..5).map(|_| answer()).collect();
        let refused: Vec<_> = answers.iter().map(|answer| answer.status() == StatusCode::TOO_MANY_REQUESTS).collect();
        assert_eq!(refused, [false, false, false, false, true]);
        let other = Caller { tenant: "other".parse().unwrap(), ..Caller::local() };
        assert_eq!(in_memory(&limits, &other, Response::new(Body::from("x"))).status(), StatusCode::OK);
        answers.truncate(3);
        assert_eq!(answer().status(), StatusCode::OK);
    }
}
