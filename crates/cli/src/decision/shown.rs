//! The action of a decision, printed before anybody approves or denies it.

use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;
use proofmark_boundary::{DecisionReceipt, Request};
use proofmark_decider::stored_action;
use proofmark_receipt::Object;
use proofmark_statement::{ActionStatement, action_title};
use proofmark_store::Store;

use crate::confirm::confirm;
use crate::decision_page::short_id;
use crate::document::read_as;
use crate::error::with_help;
use crate::out;
use crate::paint::printable;
use crate::receipt::page::sections;

/// The action of a decision and what is said about it.
pub(super) struct ShownAction {
    title: String,
    pub(super) statement: ActionStatement,
}

/// The action of a decision: that of the request in a file, or else the one that the store has.
pub(super) fn of_decision(
    decision: &DecisionReceipt,
    store: Option<&Store>,
    request: Option<&Path>,
) -> anyhow::Result<ShownAction> {
    let id = decision.decision_id().to_string();
    let action = match request {
        Some(path) => of_request(&read_as(path, "request", Request::read)?),
        None => store
            .map(|store| store.all_tenants_decision(&id))
            .transpose()?
            .flatten()
            .and_then(|(_, stored)| stored_action(&stored)),
    };
    let Some(action) = action else {
        let found = format!("show the action of the decision `{id}`: it is not stored here");
        return Err(with_help(found, "name the file of its request with `--request FILE`"));
    };
    let from = if request.is_some() { "the request" } else { "the store" };
    match ActionStatement::of(&action, decision) {
        Ok(statement) => Ok(ShownAction { title: action_title(&action), statement }),
        Err(_) => Err(with_help(
            format!("show the action of the decision `{id}`: the action in {from} is not the one that was decided on"),
            if request.is_some() {
                "give the request of this decision"
            } else {
                "verify the store with `proofmark store check`"
            },
        )),
    }
}

fn of_request(request: &Request) -> Option<Object> {
    request.facts().get("action")?.as_object().cloned()
}

/// As [`of_decision`], for a denial: it only blocks, so a decision can be denied whose action in the store is not the one that was decided
/// on. None then, and people are told.
pub(super) fn to_deny(
    decision: &DecisionReceipt,
    store: &Store,
    request: Option<&Path>,
) -> anyhow::Result<Option<ShownAction>> {
    match of_decision(decision, Some(store), request) {
        Ok(shown) => Ok(Some(shown)),
        Err(error) if request.is_some() => Err(error),
        Err(error) => {
            out::note(format_args!("failed to {error:#}; the denial is of the action that was decided on"));
            Ok(None)
        }
    }
}

/// Asks whether to go on, unless `yes` says so.
pub(super) fn ask(verb: &str, decision_id: &str, yes: bool) -> anyhow::Result<bool> {
    confirm(verb, &format!("the decision `{}`", short_id(decision_id)), yes)
}

impl ShownAction {
    /// Writes it, for people.
    pub(super) fn write(&self, out: &mut impl Write, decision: &DecisionReceipt) -> io::Result<()> {
        let agent = decision.bound("agent").map_or_else(|| "an agent".to_owned(), printable);
        writeln!(out, "{agent} asked to run {}", printable(&self.title))?;
        sections(out, &self.statement.sections())
    }

    /// Prints the action on standard error.
    pub(super) fn print(&self, decision: &DecisionReceipt) -> anyhow::Result<()> {
        self.write(&mut io::stderr().lock(), decision).context("print the action")
    }
}
