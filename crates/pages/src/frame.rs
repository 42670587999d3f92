//! What every page has: navigation, who is signed in, and the key of the server.

use std::fmt;

use askama::filters::HtmlSafe;
use proofmark_server::problem::Problem;
use proofmark_server::sign_ins::START;
use proofmark_server::state::AppState;
use proofmark_server::{Caller, Role};
use proofmark_store::WaitingWanted;

use super::assets::FOLDER;
use super::text::Shown;
use super::visit::Visit;
use super::words::{number, short_digest};

/// The page of the navigation that is shown, or is nearest to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Here {
    Overview,
    Waiting,
    Decisions,
    Receipts,
    Sessions,
    Runs,
    Findings,
    Policy,
    /// It has a page of its own, without this frame.
    Check,
    None,
}

/// The navigation, in order.
const PAGES: [(Here, &str, &str); 9] = [
    (Here::Overview, "/ui", "Overview"),
    (Here::Waiting, "/ui/waiting", "Waiting"),
    (Here::Decisions, "/ui/decisions", "Decisions"),
    (Here::Receipts, "/ui/receipts", "Receipts"),
    (Here::Sessions, "/ui/sessions", "Sessions"),
    (Here::Runs, "/ui/runs", "Runs"),
    (Here::Findings, "/ui/findings", "Findings"),
    (Here::Policy, "/ui/policy", "Policy"),
    (Here::Check, "/ui/check", "Check"),
];

pub(crate) struct Frame {
    pub(crate) here: Here,
    /// In the title of the tab.
    pub(crate) title: String,
    /// How many decisions wait; none where it is not known.
    pub(crate) waiting: Option<u64>,
    pub(crate) who: Option<Who>,
    /// The fingerprint of the key that the server signs with.
    key: Option<String>,
}

/// Who sees the page.
pub(crate) struct Who {
    pub(crate) id: Shown,
    pub(crate) role: &'static str,
    /// None where the server has no API keys.
    pub(crate) tenant: Option<Shown>,
    pub(crate) may_review: bool,
}

pub(crate) struct NavigationEntry {
    pub(crate) href: &'static str,
    pub(crate) name: &'static str,
    pub(crate) is_here: bool,
    pub(crate) count: Option<String>,
}

/// A picture of the sprite, beside a word that says the same.
pub(crate) struct Icon(&'static str);

impl HtmlSafe for Icon {}

impl fmt::Display for Icon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<svg class=\"icon\" aria-hidden=\"true\"><use href=\"#{}\"/></svg>", self.0)
    }
}

impl Frame {
    pub(crate) fn of(visit: &Visit<'_>, here: Here, title: impl Into<String>) -> Result<Self, Problem> {
        let (context, keyed) = (&visit.context, visit.token.is_some());
        Ok(Self {
            here,
            title: title.into(),
            waiting: Some(context.store().waiting_count(&WaitingWanted::default())?),
            who: Some(Who::of(&context.caller, keyed)),
            key: Some(context.decider.key().signer().fingerprint()),
        })
    }

    /// The frame of a page that must not read the store: reading it may be what failed.
    pub(crate) fn without_counts(state: &AppState, caller: &Caller, title: &str) -> Self {
        Self {
            here: Here::None,
            title: title.to_owned(),
            waiting: None,
            who: Some(Who::of(caller, state.keys().is_some())),
            key: Some(state.services.decider.key().signer().fingerprint()),
        }
    }

    /// The frame of a page for those who are not signed in.
    pub(crate) fn for_strangers(title: &str) -> Self {
        Self { here: Here::None, title: title.to_owned(), waiting: None, who: None, key: None }
    }

    pub(crate) fn assets(&self) -> &'static str {
        &FOLDER
    }

    pub(crate) fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    pub(crate) fn start(&self) -> &'static str {
        START
    }

    pub(crate) fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    pub(crate) fn short_key(&self) -> String {
        self.key.as_deref().map(short_digest).unwrap_or_default()
    }

    pub(crate) fn navigation(&self) -> Vec<NavigationEntry> {
        // Strangers would only be led to the sign-in.
        let Some(who) = &self.who else { return Vec::new() };
        // A page that is only refused is not offered.
        let offered = PAGES.into_iter().filter(|(here, _, _)| *here != Here::Sessions || who.may_review);
        let entries = offered.map(|(here, href, name)| NavigationEntry {
            href,
            name,
            is_here: here == self.here,
            count: self.waiting.filter(|count| here == Here::Waiting && *count > 0).map(number),
        });
        entries.collect()
    }

    pub(crate) fn icon(&self, name: &'static str) -> Icon {
        Icon(name)
    }
}

impl Who {
    fn of(caller: &Caller, keyed: bool) -> Self {
        Self {
            id: caller.id.as_str().into(),
            role: caller.role.as_str(),
            tenant: keyed.then(|| caller.tenant.as_str().into()),
            may_review: caller.role.may(Role::Reviewer),
        }
    }
}
