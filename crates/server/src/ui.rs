//! Pages for people, below `/ui`: what waits for a review, and what was decided, verified and found.
//!
//! They read and write through the same functions as the API, and hold no rule of their own. Everything works without
//! script. What agents and submissions wrote is text: see [`text`]. Who may see a page is decided in [`entry`]; how it is
//! sent, with which headers, in [`html`].

mod action;
mod assets;
mod chain;
mod decision;
mod decisions;
mod difference;
mod entry;
mod findings;
mod forms;
mod frame;
mod html;
mod job;
mod overview;
mod plot;
mod policy;
mod receipt;
mod receipts;
mod runs;
mod sessions;
mod sign_in;
mod sign_ins;
mod text;
mod visit;
mod waiting;
mod words;

use crate::endpoint::{Endpoint, Method, open};
use crate::keys::Role;
use crate::reply::Reply;

pub use assets::check_page_digest;
pub(crate) use sign_ins::SignIns;

use entry::{form, page};
use html::see_other;

/// Where browsers find the first page.
const START: &str = "/ui";

const AGENT: Option<Role> = Some(Role::Agent);
const REVIEWER: Option<Role> = Some(Role::Reviewer);
const ADMIN: Option<Role> = Some(Role::Admin);

/// Leads a browser that asks for the server to the first page.
pub(crate) fn start() -> Reply {
    see_other(START)
}

/// The endpoints of all pages. `/openapi.json` does not describe them: they are for people.
pub(crate) fn pages() -> Vec<Endpoint> {
    vec![
        page("/ui", overview::show),
        page("/ui/", overview::show),
        page("/ui/waiting", waiting::show),
        page("/ui/waiting/count", waiting::count),
        page("/ui/decisions", decisions::show),
        page("/ui/decisions/{id}", decision::show),
        form("/ui/decisions/{id}", REVIEWER, decision::review),
        page("/ui/receipts", receipts::show),
        page("/ui/receipts/{id}", receipt::show),
        page("/ui/receipts/{id}/json", receipt::json),
        // The request has the expected outputs, which the agent that is tested must not read.
        entry::page_for("/ui/receipts/{id}/request", ADMIN, receipt::request),
        form("/ui/receipts/{id}/recheck", AGENT, receipt::recheck),
        page("/ui/chains", chain::list),
        page("/ui/chains/{*name}", chain::show),
        page("/ui/chain-links/{*name}", chain::documents),
        page("/ui/chain-head/{*name}", chain::head),
        page("/ui/findings", findings::show),
        // They hold what agents sent and were answered, which other agents must not read.
        entry::page_for("/ui/sessions", REVIEWER, sessions::list),
        entry::page_for("/ui/sessions/{*name}", REVIEWER, sessions::show),
        page("/ui/runs", runs::list),
        page("/ui/runs/{run}", runs::show),
        page("/ui/jobs/{id}", job::show),
        page("/ui/jobs/{id}/progress", job::progress),
        entry::stream("/ui/jobs/{id}/events", job::events),
        form("/ui/jobs/{id}/cancel", AGENT, job::cancel),
        page("/ui/policy", policy::show),
        entry::unsigned(Method::Get, "/ui/sign-in", sign_in::show),
        entry::unsigned(Method::Post, "/ui/sign-in", sign_in::sign_in),
        entry::unsigned(Method::Post, "/ui/sign-out", sign_in::sign_out),
        open("/ui/check", assets::check),
        open("/ui/assets/{version}/{name}", assets::serve),
    ]
}
