//! Who may see a page, and may send its forms.
//!
//! Where the server has API keys, the cookie of a sign-in stands for one; where it has none, this host and its own pages
//! may do everything. A form comes from a page of this very server. A link on a page of another site leads to a page of ours
//! by way of [`Passage`], which says nothing: the browser then asks again, as from our own page and with its cookie.

use std::sync::Arc;

use askama::Template;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use proofmark_receipt::document::Format;
use proofmark_server::Credential;
use proofmark_server::body;
use proofmark_server::context::Head;
use proofmark_server::endpoint::{Access, Endpoint, Method, ended, in_memory};
use proofmark_server::observe::{AdmittedCaller, ShownAsPage};
use proofmark_server::origin;
use proofmark_server::problem::Problem;
use proofmark_server::reply::Reply;
use proofmark_server::share::Share;
use proofmark_server::sign_ins::{START, Token};
use proofmark_server::state::{AppState, PathVariables, read_variables};
use proofmark_server::stop::MAX_ANSWER_TIME;
use proofmark_server::{Caller, Role};
use proofmark_store::while_wanted;
use tracing::Span;

use super::forms::Form;
use super::frame::Frame;
use super::html::{html, secured};
use super::text::Shown;
use super::visit::Visit;
use super::words::encoded;

type Answer = fn(&Visit<'_>) -> Result<Reply, Problem>;

/// A page that every caller may see.
pub(crate) fn page(path: &'static str, answer: Answer) -> Endpoint {
    page_for(path, None, answer)
}

/// A page that callers with this role may see.
pub(crate) fn page_for(path: &'static str, role: Option<Role>, answer: Answer) -> Endpoint {
    admitted(Method::Get, path, role, move |state, visitor, parts, body| answered(state, visitor, parts, body, answer))
}

/// A form that callers with this role may send.
pub(crate) fn form(path: &'static str, role: Option<Role>, answer: Answer) -> Endpoint {
    admitted(Method::Post, path, role, move |state, visitor, parts, body| answered(state, visitor, parts, body, answer))
}

/// An answer to every caller that goes on for a while, and ends with the caller's API key.
pub(crate) fn stream<F, A>(path: &'static str, answer: F) -> Endpoint
where
    F: Fn(Arc<AppState>, Head) -> A + Copy + Send + Sync + 'static,
    A: Future<Output = Result<Response, Problem>> + Send + 'static,
{
    admitted(Method::Get, path, None, move |state, visitor, parts, _| streamed(state, visitor, parts, answer))
}

/// A page or a form for which nobody has to be signed in.
pub(crate) fn unsigned(
    method: Method,
    path: &'static str,
    answer: fn(&AppState, &Parts, &Form) -> Result<Reply, Problem>,
) -> Endpoint {
    let handler = async move |State(state): State<Arc<AppState>>, request: Request| {
        let (parts, body) = request.into_parts();
        let answered = unsigned_answer(&state, method, &parts, body, answer).await;
        secured(answered.map_or_else(|problem| problem_page(&problem, None), IntoResponse::into_response))
    };
    Endpoint::new(method, path, Access::Open, handler)
}

async fn unsigned_answer(
    state: &AppState,
    method: Method,
    parts: &Parts,
    body: Body,
    answer: fn(&AppState, &Parts, &Form) -> Result<Reply, Problem>,
) -> Result<Reply, Problem> {
    // Without API keys there is nothing to sign in with, and nobody who has to.
    if state.keys().is_none() {
        return Ok(Reply::see_other(START));
    }
    state.take_rate_of_stranger(parts)?;
    let form = match method {
        Method::Post => {
            origin::is_own_form(&parts.uri, &parts.headers)?;
            // Nobody is known yet, so strangers share one part of the memory.
            let mut memory = state.limits.bytes.take(&Caller::local().tenant, 0)?;
            Form::read(&parts.headers, body, &mut memory).await?
        }
        Method::Get | Method::Delete => {
            origin::is_addressed(&parts.uri, &parts.headers)?;
            Form::default()
        }
    };
    answer(state, parts, &form)
}

fn admitted<F, A>(method: Method, path: &'static str, role: Option<Role>, answer: F) -> Endpoint
where
    F: Fn(Arc<AppState>, Visitor, Parts, Body) -> A + Copy + Send + Sync + 'static,
    A: Future<Output = Response> + Send + 'static,
{
    let handler = async move |State(state): State<Arc<AppState>>, variables: PathVariables, request: Request| {
        let (parts, body) = request.into_parts();
        let response = match enter(&state, method, role, &parts) {
            Ok(Entry::Open(admitted)) => {
                let (caller, credential) = *admitted;
                let (who, ended) = (AdmittedCaller(caller.clone()), ended(credential.clone()));
                let visitor = Visitor { caller, credential, variables };
                let mut response = tokio::select! {
                    // As with the API: what is ready is sent. A form that is still on its way does nothing.
                    biased;
                    response = answer(state, visitor, parts, body) => response,
                    ended = ended => problem_page(&ended, None),
                };
                response.extensions_mut().insert(who);
                response
            }
            Ok(Entry::Through) => passage(&parts),
            Ok(Entry::SignIn) => sign_in(&state, method, &parts, body).await,
            Err(problem) => problem_page(&problem, None),
        };
        secured(response)
    };
    Endpoint::new(method, path, Access::Key(role), handler)
}

enum Entry {
    Open(Box<(Caller, Option<Credential>)>),
    /// By way of a page of ours that says nothing.
    Through,
    SignIn,
}

/// Whether a request comes in.
fn enter(state: &AppState, method: Method, role: Option<Role>, parts: &Parts) -> Result<Entry, Problem> {
    let Parts { uri, headers, .. } = parts;
    match state.keys() {
        None => origin::is_to_this_host(uri, headers)?,
        Some(_) => origin::is_addressed(uri, headers)?,
    }
    // This comes before the cookie is looked at: a page of another site learns nothing, also not whether somebody is signed in.
    match (method, origin::Visit::of(headers)) {
        (Method::Post | Method::Delete, _) => drop(origin::is_own_form(uri, headers)?),
        (Method::Get, origin::Visit::Own) => {}
        (Method::Get, origin::Visit::ByLink) => return Ok(Entry::Through),
        (Method::Get, origin::Visit::Embedded) => {
            return Err(Problem::new(StatusCode::FORBIDDEN, "foreign_origin", "a page of another site has sent it"));
        }
    }
    let (caller, credential) = match state.keys() {
        None => (Caller::local(), None),
        Some(keys) => {
            let known = Token::of(headers).and_then(|token| state.sign_ins.key(&token));
            // A key that was revoked meanwhile signs nobody in.
            let Some(key) = known.and_then(|digest| keys.admit_digest(digest)) else { return Ok(Entry::SignIn) };
            (key.caller().clone(), Some(Credential::Key(key)))
        }
    };
    caller.role.check(role)?;
    Ok(Entry::Open(Box::new((caller, credential))))
}

struct Visitor {
    caller: Caller,
    credential: Option<Credential>,
    variables: PathVariables,
}

/// The answer, or the page of the problem.
async fn answered(state: Arc<AppState>, visitor: Visitor, parts: Parts, body: Body, answer: Answer) -> Response {
    let (caller, is_form) = (visitor.caller.clone(), parts.method == axum::http::Method::POST);
    match in_thread(&state, visitor, parts, body, answer).await {
        Ok((reply, share)) => {
            let response = reply.into_response();
            let response = if is_form { response } else { in_memory(&state.limits, &caller, response) };
            body::holding(response, share)
        }
        Err(problem) => problem_page(&problem, Some((&state, &caller))),
    }
}

/// The stream, or the page of the problem.
async fn streamed<F, A>(state: Arc<AppState>, visitor: Visitor, parts: Parts, answer: F) -> Response
where
    F: Fn(Arc<AppState>, Head) -> A,
    A: Future<Output = Result<Response, Problem>>,
{
    let Visitor { caller, credential, variables } = visitor;
    let begun = async {
        let variables = read_variables(variables)?;
        state.take_rate(&caller)?;
        let share = state.limits.requests.take(&caller.tenant, 1)?;
        let head =
            Head { caller: caller.clone(), credential: credential.clone(), variables, parts, format: Format::Json };
        Ok(body::holding(answer(Arc::clone(&state), head).await?, share))
    };
    match begun.await {
        Ok(response) => body::until(response, async { drop(ended(credential).await) }),
        Err(problem) => problem_page(&problem, Some((&state, &caller))),
    }
}

async fn in_thread(
    state: &Arc<AppState>,
    visitor: Visitor,
    parts: Parts,
    body: Body,
    answer: Answer,
) -> Result<(Reply, Share), Problem> {
    let Visitor { caller, credential, variables } = visitor;
    let variables = read_variables(variables)?;
    state.take_rate(&caller)?;
    let share = state.limits.requests.take(&caller.tenant, 1)?;
    let mut memory = state.limits.bytes.take(&caller.tenant, 0)?;
    let is_form = parts.method == axum::http::Method::POST;
    let form = if is_form { Form::read(&parts.headers, body, &mut memory).await? } else { Form::default() };
    let place = state.limits.places.take(&caller.tenant).await?;
    let stop = state.stops.flag();
    let (state, flag, span) = (Arc::clone(state), stop.shared(), Span::current());
    let head = Head { caller, credential, variables, parts, format: Format::Json };
    // The thread has the place and the memory: it goes on after a timeout, and what it uses is not free before it ends.
    let work = tokio::task::spawn_blocking(move || {
        let (place, mut memory) = (place, memory);
        // What changes nothing may end anywhere.
        let stop = if is_form { Arc::default() } else { Arc::clone(&flag) };
        let work = || while_wanted(&stop, || answer(&Visit::of(&state, head, form, &mut memory, flag)?));
        place.priority().run(|| span.in_scope(work))?
    });
    match tokio::time::timeout(MAX_ANSWER_TIME, work).await {
        Ok(Ok(reply)) => reply.map(|reply| (reply, share)),
        // The thread panicked; only this request fails.
        Ok(Err(_)) => Err(Problem::internal()),
        Err(_) => Err(Problem::too_slow()),
    }
}

/// A page that leads on to the address that was asked for.
#[derive(Template)]
#[template(path = "passage.html")]
struct Passage {
    place: String,
}

fn passage(parts: &Parts) -> Response {
    match html(&Passage { place: place(parts) }) {
        Ok(reply) => reply.into_response(),
        Err(problem) => problem.into_response(),
    }
}

/// The address of a request without its host.
pub(crate) fn place(parts: &Parts) -> String {
    parts.uri.path_and_query().map_or_else(|| parts.uri.path().to_owned(), ToString::to_string)
}

/// Leads to the sign-in. What was typed into a form goes along.
async fn sign_in(state: &AppState, method: Method, parts: &Parts, body: Body) -> Response {
    if method == Method::Get {
        return Reply::see_other(&format!("/ui/sign-in?to={}", encoded(&place(parts)))).into_response();
    }
    let read = async {
        state.take_rate_of_stranger(parts)?;
        let mut memory = state.limits.bytes.take(&Caller::local().tenant, 0)?;
        let form = Form::read(&parts.headers, body, &mut memory).await?;
        super::sign_in::again(&place(parts), &form)
    };
    read.await.map_or_else(|problem| problem_page(&problem, None), IntoResponse::into_response)
}

#[derive(Template)]
#[template(path = "problem.html")]
struct ProblemPage {
    frame: Frame,
    title: &'static str,
    message: Shown,
    help: Option<Shown>,
}

/// A problem as a page, with the navigation where it is known who asks.
fn problem_page(problem: &Problem, visitor: Option<(&AppState, &Caller)>) -> Response {
    let title = match problem.status() {
        StatusCode::NOT_FOUND => "Not found",
        StatusCode::FORBIDDEN => "Not allowed",
        StatusCode::CONFLICT => "Not possible any more",
        status if status.is_server_error() => "The server failed",
        _ => "Not understood",
    };
    let frame = match visitor {
        Some((state, caller)) => Frame::without_counts(state, caller, title),
        None => Frame::for_strangers(title),
    };
    let (message, help) = (sentence(problem.message()), problem.way_out().map(sentence));
    let page = ProblemPage { frame, title, message, help };
    // Where even this page fails, the problem goes as the API sends it.
    let Ok(reply) = html(&page) else { return problem.clone().into_response() };
    let mut response = reply.status(problem.status()).into_response();
    // For the log, which has the code and the cause.
    response.extensions_mut().insert(problem.clone());
    response.extensions_mut().insert(ShownAsPage);
    response
}

/// A message as a sentence.
fn sentence(message: &str) -> Shown {
    let mut letters = message.chars();
    let first: String = letters.next().map(|first| first.to_uppercase().collect()).unwrap_or_default();
    format!("{first}{}.", letters.as_str()).into()
}
