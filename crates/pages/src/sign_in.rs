//! `/ui/sign-in`: an API key for a cookie.

use askama::Template;
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use proofmark_server::origin;
use proofmark_server::problem::Problem;
use proofmark_server::reply::Reply;
use proofmark_server::sign_ins::{Draft, Place, START, Token};
use proofmark_server::state::AppState;

use super::forms::Form;
use super::frame::Frame;
use super::html::html;

/// The pages of decisions, whose forms have a note that must not be lost.
const DECISION: &str = "/ui/decisions/";

#[derive(Template)]
#[template(path = "sign-in.html")]
struct SignInPage {
    frame: Frame,
    /// Where to go then.
    to: String,
    /// What was typed before.
    note: Option<String>,
    refused: bool,
}

/// `GET /ui/sign-in?to=`.
pub(crate) fn show(_: &AppState, parts: &Parts, _: &Form) -> Result<Reply, Problem> {
    let query = parts.uri.query().unwrap_or_default();
    let fields = proofmark_server::context::pairs(query)?;
    let to = fields.iter().find(|(name, _)| name == "to").map(|(_, to)| to.as_str());
    page(own_page(to), None, false)
}

/// The page, for a form that was sent when the sign-in had ended.
pub(crate) fn again(place: &str, form: &Form) -> Result<Reply, Problem> {
    page(own_page(Some(place)), form.get("note").map(|_| form.text("note")), false)
}

/// `POST /ui/sign-in`: `key`, `to`, `note`.
pub(crate) fn sign_in(state: &AppState, parts: &Parts, form: &Form) -> Result<Reply, Problem> {
    let to = own_page(form.get("to"));
    let note = form.get("note").map(|_| form.text("note")).filter(|note| !note.is_empty());
    let key = form.get("key").map(str::trim).unwrap_or_default();
    let Some(key) = state.keys().and_then(|keys| keys.admit(key)) else { return page(to, note, true) };
    state.take_rate(key.caller())?;
    let decision = to.strip_prefix(DECISION).and_then(|rest| rest.split(['?', '/']).next());
    let draft = decision.zip(note).map(|(id, note)| Draft { decision_id: id.to_owned(), note });
    let tls = origin::is_own_form(&parts.uri, &parts.headers)?;
    // Another token than before, so that nobody who planted one in this browser shares the sign-in.
    if let Some(before) = Token::of(&parts.headers) {
        drop(state.sign_ins.end(&before));
    }
    let place = Place::of(&parts.headers, tls).ok_or_else(Problem::internal)?;
    Ok(Reply::see_other(&to).header(header::SET_COOKIE, state.sign_ins.begin(key.digest(), draft, &place)?))
}

/// `POST /ui/sign-out`.
pub(crate) fn sign_out(state: &AppState, parts: &Parts, _: &Form) -> Result<Reply, Problem> {
    let reply = Reply::see_other("/ui/sign-in");
    Ok(match Token::of(&parts.headers) {
        Some(token) => reply.header(header::SET_COOKIE, state.sign_ins.end(&token)),
        None => reply,
    })
}

/// A page of this server; the first one in place of anything else, so that no link leads away from here after a sign-in.
fn own_page(to: Option<&str>) -> String {
    to.filter(|to| is_own_page(to)).unwrap_or(START).to_owned()
}

fn is_own_page(path: &str) -> bool {
    // A header has nothing but ASCII: with another character the answer would lead nowhere. Browsers read `\` as `/`.
    let is_sent = path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    // A sign-in that leads to the sign-in again would look as if it had failed.
    (path.starts_with("/ui/") || path == "/ui") && is_sent && !path.starts_with("/ui/sign-")
}

fn page(to: String, note: Option<String>, refused: bool) -> Result<Reply, Problem> {
    let frame = Frame::for_strangers("Sign in");
    let status = if refused { StatusCode::UNAUTHORIZED } else { StatusCode::OK };
    Ok(html(&SignInPage { frame, to, note, refused })?.status(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_in_leads_to_a_page_of_this_server() {
        assert_eq!(own_page(Some("/ui/decisions/1?a=b")), "/ui/decisions/1?a=b");
        for other in [
            "",
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "/ui/\\x",
            "/ui/sign-in",
            "/v1/x",
            "/ui/\u{e9}",
            "/ui/\t",
        ] {
            assert_eq!(own_page(Some(other)), START, "{other}");
        }
    }
}
