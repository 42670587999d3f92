//! The action of a decision, as people read it.

use proofmark_boundary::DecisionReceipt;
use proofmark_evidence::Approval;
use proofmark_receipt::{Json, Object};
use proofmark_server::body;
use proofmark_statement::{ActionStatement, action_title};
use proofmark_store::Decision as StoredDecision;
use proofmark_verifier::{ChangedDecision, signed_decision};

use super::text::Shown;

/// The longest name of a tool or a target in a heading, in characters.
const MAX_NAME: usize = 120;
/// The longest line of arguments in a list, in characters.
const MAX_GIST: usize = 240;

/// The longest action that a list reads, in bytes.
const MAX_IN_LIST: usize = 256 << 10;

/// What an action or the facts of a request have at most, in bytes: a body, of which each character may be escaped.
const MAX_STORED: usize = 6 * body::MAX_BODY;

/// A document of a request as it is stored; none where it is damaged.
pub(crate) fn stored_json(text: &str) -> Option<Json> {
    body::json(text.as_bytes(), MAX_STORED).ok()
}

/// An action, and the decision on it.
pub(crate) struct Action {
    pub(crate) tool: Shown,
    pub(crate) target: Option<Shown>,
    pub(crate) agent: Option<Shown>,
    /// What is said about it; none where the stored action is damaged, or is not the one that was decided on.
    pub(crate) statement: Option<ActionStatement>,
    /// The action itself; empty where there is no statement.
    pub(crate) document: Object,
    /// None where the row is not what was signed.
    pub(crate) receipt: Option<DecisionReceipt>,
    /// What is wrong with the row.
    pub(crate) changed: Option<ChangedDecision>,
}

impl Action {
    /// The same for lists, whose rows show the beginning of it: an agent must not slow them down with long arguments.
    pub(crate) fn in_list(stored: &StoredDecision) -> Self {
        let text = stored.about.action.as_deref().filter(|text| text.len() <= MAX_IN_LIST);
        let action = Self::read(stored, text);
        if text.is_some() || stored.about.action.is_none() {
            action
        } else {
            Self { tool: "an action with very long arguments".into(), ..action }
        }
    }

    pub(crate) fn of(stored: &StoredDecision) -> Self {
        Self::read(stored, stored.about.action.as_deref())
    }

    fn read(stored: &StoredDecision, action: Option<&str>) -> Self {
        // The columns are compared, too: lists and pages show them.
        let (receipt, changed) = match signed_decision(stored) {
            Ok(receipt) => (Some(receipt), None),
            Err(changed) => (None, Some(changed)),
        };
        let document = action.and_then(stored_json);
        let document = match document {
            Some(Json::Object(document)) => document,
            _ => Object::new(),
        };
        let statement = receipt.as_ref().map(|receipt| ActionStatement::of(&document, receipt));
        let is_other = changed.is_some() || !document.is_empty() && !matches!(statement, Some(Ok(_)));
        // What is stored beside the signed decision is shown only where it is what was decided on.
        let document = if is_other { Object::new() } else { document };
        let text = |name: &str| document.get(name).and_then(Json::as_str).filter(|text| !text.is_empty());
        let tool = text("tool").unwrap_or("an action without a tool");
        let tool = if is_other { "an action that is not the one decided on" } else { tool };
        Self {
            tool: Shown::line(tool, MAX_NAME),
            // The runtime SDK sends the tool's name as the target, too.
            target: text("target").filter(|target| *target != tool).map(|target| Shown::line(target, MAX_NAME)),
            agent: receipt
                .as_ref()
                .and_then(|receipt| receipt.bound("agent"))
                .map(|agent| Shown::line(agent, MAX_NAME)),
            statement: statement.and_then(Result::ok),
            receipt,
            changed,
            document,
        }
    }

    /// As in `issue_refund on order O-20931`.
    pub(crate) fn title(&self) -> Shown {
        match self.statement {
            Some(_) => Shown::line(&action_title(&self.document), 2 * MAX_NAME),
            None => self.tool.clone(),
        }
    }

    /// The arguments, in their order.
    pub(crate) fn args(&self) -> &[(String, Json)] {
        self.statement.as_ref().map_or(&[], |statement| &statement.arguments)
    }

    /// The arguments on one line, cut where they are long.
    pub(crate) fn gist(&self) -> Shown {
        Shown::line(&self.statement.as_ref().map(|statement| statement.gist(MAX_GIST)).unwrap_or_default(), MAX_GIST)
    }

    /// Why it was stopped, in one sentence.
    pub(crate) fn why(&self) -> Option<Shown> {
        let reason = self.receipt.as_ref()?.main_reason()?;
        Some(Shown::line(reason.message, MAX_GIST))
    }

    /// The roles in which approvals are asked for.
    pub(crate) fn roles(&self) -> Vec<String> {
        self.receipt.as_ref().map(|receipt| Approval::roles_asked(receipt.document())).unwrap_or_default()
    }

    /// The class of the action.
    pub(crate) fn class(&self) -> Option<Shown> {
        let class = self.receipt.as_ref()?.document().get("action_class")?.as_str()?;
        Some(Shown::line(class, MAX_NAME))
    }

    /// The environment it was asked for.
    pub(crate) fn environment(&self) -> Option<Shown> {
        let environment = self.receipt.as_ref()?.bound("environment")?;
        Some(Shown::line(environment, MAX_NAME))
    }
}
