//! Pages for people, below `/ui`: what waits for a review, and what was decided, verified and found.
//!
//! They read and write through the same functions as the API, and hold no rule of their own. Everything works without
//! script. What agents and submissions wrote is text: see `text`. Who may see a page is decided in `entry`; how it is
//! sent, with which headers, in `html`.
//!
//! | where | what |
//! |---|---|
//! | `pages`, `entry`, `sign_in`, `visit`, `forms` | the table of pages, and a request on its way to one of them |
//! | `overview`, `waiting`, `decisions`, `decision`, `policy`, `passkey`, `findings` | what agents asked for, and what became of it |
//! | `receipts`, `receipt`, `chain`, `runs`, `job` | what was verified and accepted |
//! | `sessions` | what passed through a guard |
//! | `frame`, `html`, `assets` | what every page has: navigation, headers, style and scripts |
//! | `action`, `difference`, `plot`, `stated`, `text`, `words` | parts of pages |
//!
//! A page is a struct with the template of its name in `templates/`, which says how it looks, and a function of a `visit::Visit`,
//! which says what is on it.

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
mod passkey;
mod plot;
mod policy;
mod receipt;
mod receipts;
mod runs;
mod sessions;
mod sign_in;
mod stated;
mod text;
mod visit;
mod waiting;
mod words;

pub use assets::check_page_digest;

use entry::{form, page};
use proofmark_server::Role;
use proofmark_server::endpoint::{Endpoint, Method, open};

const AGENT: Option<Role> = Some(Role::Agent);
const REVIEWER: Option<Role> = Some(Role::Reviewer);
const ADMIN: Option<Role> = Some(Role::Admin);

/// The endpoints of all pages. `/openapi.json` does not describe them: they are for people.
#[must_use]
pub fn pages() -> Vec<Endpoint> {
    vec![
        page("/ui", overview::show),
        page("/ui/", overview::show),
        page("/ui/waiting", waiting::show),
        page("/ui/waiting/count", waiting::count),
        page("/ui/decisions", decisions::show),
        page("/ui/decisions/{id}", decision::show),
        form("/ui/decisions/{id}", REVIEWER, decision::review),
        form("/ui/decisions/{id}/statement", REVIEWER, decision::statement),
        page("/ui/receipts", receipts::show),
        page("/ui/receipts/{id}", receipt::show),
        page("/ui/receipts/{id}/json", receipt::json),
        // The request has the expected outputs, which the agent that is tested must not read.
        entry::page_for("/ui/receipts/{id}/request", ADMIN, receipt::request),
        form("/ui/receipts/{id}/recheck", AGENT, receipt::recheck),
        form("/ui/receipts/{id}/revoke", REVIEWER, receipt::revoke),
        page("/ui/chains", chain::list),
        page("/ui/chains/{*name}", chain::show),
        page("/ui/chain-links/{*name}", chain::documents),
        page("/ui/chain-head/{*name}", chain::head),
        page("/ui/findings", findings::show),
        // They hold what agents sent and were answered, which other agents must not read.
        entry::page_for("/ui/sessions", REVIEWER, sessions::list),
        entry::page_for("/ui/sessions/{*name}", REVIEWER, sessions::show),
        form("/ui/sessions/{*name}", REVIEWER, sessions::tell_request),
        page("/ui/runs", runs::list),
        page("/ui/runs/{run}", runs::show),
        page("/ui/jobs/{id}", job::show),
        page("/ui/jobs/{id}/progress", job::progress),
        entry::stream("/ui/jobs/{id}/events", job::events),
        form("/ui/jobs/{id}/cancel", AGENT, job::cancel),
        page("/ui/policy", policy::show),
        entry::page_for("/ui/passkey", REVIEWER, passkey::show),
        entry::unsigned(Method::Get, "/ui/sign-in", sign_in::show),
        entry::unsigned(Method::Post, "/ui/sign-in", sign_in::sign_in),
        entry::unsigned(Method::Post, "/ui/sign-out", sign_in::sign_out),
        open("/ui/check", assets::check),
        open("/ui/assets/{version}/{name}", assets::serve),
    ]
}

#[cfg(test)]
mod tests {
    use proofmark_server::endpoint::Access;

    use super::*;

    #[test]
    fn only_these_pages_are_open() {
        let all = pages();
        assert!(all.iter().all(|page| page.path.starts_with("/ui")), "a page is beside its place");
        let open = all.iter().filter(|page| page.access == Access::Open).map(|page| page.path);
        let expected = ["/ui/sign-in", "/ui/sign-in", "/ui/sign-out", "/ui/check", "/ui/assets/{version}/{name}"];
        assert_eq!(open.collect::<Vec<_>>(), expected);
    }
}
