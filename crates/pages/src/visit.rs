//! One visit of a page by somebody who was let in.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use axum::http::{HeaderName, header};
use proofmark_server::Services;
use proofmark_server::body::Sent;
use proofmark_server::context::{Content, Head, RequestContext};
use proofmark_server::problem::Problem;
use proofmark_server::share::Share;
use proofmark_server::sign_ins::{SignIns, Token};
use proofmark_server::state::AppState;

use super::forms::Form;

/// What a page is made of, and what a form of it does.
pub(crate) struct Visit<'a> {
    pub(crate) context: RequestContext<'a>,
    pub(crate) form: Form,
    /// The sign-in of the visitor; none where the server has no API keys.
    pub(crate) token: Option<Token>,
    pub(crate) sign_ins: &'a SignIns,
    /// The host and port that the page was asked of, and the origin of the page that sent a form.
    pub(crate) host: Option<String>,
    pub(crate) origin: Option<String>,
    /// The time that counts, in milliseconds after 1970-01-01T00:00:00Z.
    pub(crate) now: i64,
}

impl<'a> Visit<'a> {
    pub(crate) fn of(
        state: &'a AppState,
        head: Head,
        form: Form,
        memory: &mut Share,
        stop: Arc<AtomicBool>,
    ) -> Result<Self, Problem> {
        let services: &Services = &state.services;
        // Without keys a cookie of an earlier server may still be sent, and means nothing.
        let token = state.keys().and_then(|_| Token::of(&head.parts.headers));
        let text = |name: HeaderName| Some(head.parts.headers.get(name)?.to_str().ok()?.to_owned());
        let (host, origin) = (text(header::HOST), text(header::ORIGIN));
        let content = Content::read(&head, Sent::default(), memory)?;
        let context = RequestContext::new(services, head, content, stop)?;
        let now = services.decider.store().now()?;
        Ok(Self { context, form, token, sign_ins: &state.sign_ins, host, origin, now })
    }
}
