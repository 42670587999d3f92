//! The Model Context Protocol: verification and decisions as tools of agents.
//!
//! One handler serves [`serve_stdio`], for a host that starts this program, and `/mcp` of the server. What a tool answers
//! is the text of the document, byte for byte, and the same again as structured content.

mod call;
pub(crate) mod http;
mod message;
mod open_calls;
mod resource;
mod sessions;
mod stdio;

use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

use axum::http::request::Parts;
use proofmark_checks::Language;
use proofmark_receipt::{Json, Object};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, Implementation, InitializeRequestParams, InitializeResult,
    ListResourceTemplatesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ResourceContents, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};

pub(crate) use sessions::Sessions;
pub use stdio::{StdioError, serve_stdio};

use self::message::Arguments;
use crate::keys::Caller;
use crate::problem::Problem;
use crate::services::Services;
use crate::share::{Limits, Share};
use crate::stop::Stops;

/// The tools with their schemas, as clients are told.
const TOOLS: &str = include_str!("mcp/tools.json");

/// The tool that verifies, by the name that the VRF specification gives it.
const VERIFY: &str = "cb_verify_work";
const ACCEPT: &str = "accept_step";
/// The tool that needs a policy.
const DECIDE: &str = "decide_action";

const INSTRUCTIONS: &str = "Checks work and issues signed receipts that anyone can verify. Use `cb_verify_work` to run \
    work against tests or constraints, `accept_step` to judge a workflow step by its contract, `decide_action` before \
    a side effect, `verify_receipt` on receipts from others. Keep the text of a receipt as it is: its signature is over \
    these bytes.";

/// Answers one client.
#[derive(Clone)]
pub(crate) struct Handler {
    services: Arc<Services>,
    limits: Arc<Limits>,
    stops: Arc<Stops>,
    /// Its client's place among all sessions, while it has one: the session is over when this is dropped.
    session: Arc<OnceLock<Arc<Share>>>,
}

/// How often an answer is in memory until it is written: as text, as structured content, and as it goes over the wire.
const COPIES: usize = 3;

/// The memory that a message at `/mcp` takes until it is answered: its bytes, and those of the answer.
type Held = Arc<Mutex<Share>>;

impl Handler {
    pub(crate) fn new(services: &Arc<Services>, limits: &Arc<Limits>, stops: &Arc<Stops>) -> Handler {
        let (services, limits, stops) = (Arc::clone(services), Arc::clone(limits), Arc::clone(stops));
        Handler { services, limits, stops, session: Arc::default() }
    }

    /// The handler of one more client.
    fn for_another(&self) -> Handler {
        Handler { session: Arc::default(), ..self.clone() }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("proofmark", env!("CARGO_PKG_VERSION")).with_title("Proofmark"))
            .with_instructions(INSTRUCTIONS)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        if let Some(session) = beside::<Arc<Share>>(&context) {
            // A client greets once; a second greeting opens no session.
            drop(self.session.set(Arc::clone(session)));
        }
        context.peer.set_peer_info(request.clone());
        self.negotiate_initialize(&request)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        // Only the list leaves it out; a call of it is answered with the error that there is no policy.
        let usable = |tool: &&Tool| tool.name != DECIDE || self.services.decides();
        Ok(ListToolsResult::with_all_items(tools()?.iter().filter(usable).cloned().collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let caller = caller(&context)?;
        call::call(self, caller, request, context).await
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resource::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let tenant = caller(&context)?.tenant;
        let busy = |problem: Problem| ErrorData::internal_error(problem.text().into_owned(), None);
        let place = self.limits.places.take(&tenant).await.map_err(busy)?;
        let found = resource::read(&self.services, (tenant, place), request.uri).await?;
        let bytes = found.contents.iter().map(|one| match one {
            ResourceContents::TextResourceContents { text, .. } => text.len(),
            _ => 0,
        });
        hold(&context, bytes.sum()).map_err(busy)?;
        Ok(found.into())
    }
}

fn tools() -> Result<&'static [Tool], ErrorData> {
    static READ: LazyLock<Result<Vec<Tool>, String>> = LazyLock::new(|| {
        serde_json::from_str(&TOOLS.replace("{languages}", &Language::choices())).map_err(|error| error.to_string())
    });
    READ.as_deref().map_err(|error| ErrorData::internal_error(format!("the tools cannot be listed: {error}"), None))
}

/// Whose request it is. Over standard streams it is that of the user who started this program.
fn caller(context: &RequestContext<RoleServer>) -> Result<Caller, ErrorData> {
    if context.extensions.get::<Parts>().is_none() {
        return Ok(Caller::local());
    }
    // `/mcp` puts the caller beside every message. Without one, nobody is assumed.
    let caller = beside::<Caller>(context);
    caller.cloned().ok_or_else(|| ErrorData::internal_error("the caller is unknown", None))
}

/// The arguments of a tool as they were written; none are an empty object.
fn arguments(request: &CallToolRequestParams, context: &RequestContext<RoleServer>) -> Result<Arc<Json>, ErrorData> {
    let sent = context.extensions.get::<Arguments>().or_else(|| beside::<Arguments>(context));
    match sent {
        Some(Arguments(arguments)) => Ok(Arc::clone(arguments)),
        None if request.arguments.as_ref().is_none_or(serde_json::Map::is_empty) => Ok(Arc::new(Object::new().into())),
        // These were read by the library and not strictly, so they are not used.
        None => Err(ErrorData::internal_error("the arguments did not come through", None)),
    }
}

/// What `/mcp` has put beside a message.
fn beside<T: Send + Sync + 'static>(context: &RequestContext<RoleServer>) -> Option<&T> {
    context.extensions.get::<Parts>()?.extensions.get::<T>()
}

/// Counts an answer of so many bytes until it is written, or refuses it. On standard streams one is written after the other.
fn hold(context: &RequestContext<RoleServer>, bytes: usize) -> Result<(), Problem> {
    hold_instead(context, 0, bytes)
}

/// Counts an answer of so many bytes, of which some were counted before it was known how many there are.
fn hold_instead(context: &RequestContext<RoleServer>, before: usize, bytes: usize) -> Result<(), Problem> {
    let Some(held) = beside::<Held>(context) else { return Ok(()) };
    let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
    held.shrink(before.saturating_sub(bytes).saturating_mul(COPIES));
    held.grow(bytes.saturating_sub(before).saturating_mul(COPIES))
}
