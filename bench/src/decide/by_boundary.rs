//! Boundaries: the receipt's reader, a request in the plain form, a decision, its receipt.

use anyhow::{Context, bail};
use proofmark_boundary::{ActionPolicy, DecisionReceipt, History, Moment, Request, decide};
use proofmark_evidence::Evidence;
use proofmark_receipt::{Json, Object, ReceiptId, SigningKey};

use crate::rules::{Effect, Rule, Rules};

/// The names of the rules, and where the same stands in the plain form.
const NAMES: [(&str, &str); 8] = [
    ("action[\"class\"]", "action.class"),
    ("action.mutating", "action.args.mutating"),
    ("action.reversible", "action.args.reversible"),
    ("ctx.", "action.args."),
    ("principal.", "facts[0].payload."),
    ("resource.env", "agent.environment"),
    ("resource.sensitivity", "agent.sensitivity"),
    ("resource.", "facts[1].payload."),
];

/// A policy of one boundary a rule.
pub(crate) struct ByBoundary {
    policy: ActionPolicy,
    moment: Moment,
    key: SigningKey,
}

/// How agents go on from a denial.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Denial {
    /// They replan, so the decision works out what would change it.
    Replan,
    /// Their path ends, so there is nothing to work out.
    End,
}

/// How far a request is taken.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Depth {
    /// To the decision, with what would change it.
    Decision,
    /// To the text of its receipt, not signed.
    Receipt,
    /// To the text of its signed receipt.
    Signed,
}

impl ByBoundary {
    pub(crate) fn load(rules: &Rules, denial: Denial) -> anyhow::Result<Self> {
        let boundaries = rules.list.iter().map(|rule| boundary(rule, denial)).collect::<anyhow::Result<Vec<Json>>>()?;
        let policy = ActionPolicy::read(&object([("version", 1.into()), ("boundaries", boundaries.into())]))?;
        let moment = Moment { now: "2026-01-01T12:00:00Z".parse()?, history: History::default() };
        Ok(Self { policy, moment, key: SigningKey::from_seed([7; 32]) })
    }

    /// Whether the request in this text is allowed.
    pub(crate) fn answer(&self, text: &str, depth: Depth) -> anyhow::Result<bool> {
        let request = Request::read(&Json::parse(text.as_bytes())?)?;
        let decision = decide(&self.policy, &request, &Evidence::default(), &self.moment);
        if depth != Depth::Decision {
            let id = ReceiptId::from_random_bytes([3; 16]);
            let receipt = DecisionReceipt::draft(&decision, &request, id, None);
            let receipt = if depth == Depth::Signed { receipt.sign(&self.key)? } else { receipt };
            std::hint::black_box(receipt.to_text());
        }
        Ok(decision.allows())
    }
}

/// A rule as a boundary: one that permits is about its class and requires the rest of its condition; one that forbids
/// is about every action and denies it. A class no rule permits is not among the policy's, so it is refused.
fn boundary(rule: &Rule, denial: Denial) -> anyhow::Result<Json> {
    let id = || Json::from(rule.id.as_str());
    let otherwise = || match denial {
        Denial::Replan => Json::from("replan_required"),
        Denial::End => Json::from("goal_fail_terminal"),
    };
    match rule.effect {
        Effect::Permit => {
            let parts =
                rule.condition.strip_prefix("action[\"class\"] == \"").and_then(|rest| rest.split_once("\" && "));
            let (class, rest) = parts.with_context(|| format!("the rule `{}` does not permit one class", rule.id))?;
            let require = object([("fact", renamed(rest).into()), ("otherwise", otherwise())]);
            Ok(object([
                ("id", id()),
                ("match", object([("action_class", class.into())])),
                ("require", vec![require].into()),
            ]))
        }
        Effect::Forbid => {
            let reason = object([("code", id()), ("message", format!("The rule {} forbids it.", rule.id).into())]);
            let deny =
                object([("when", renamed(&rule.condition).into()), ("reason", reason), ("otherwise", otherwise())]);
            Ok(object([("id", id()), ("match", object([])), ("deny", vec![deny].into())]))
        }
    }
}

fn renamed(condition: &str) -> String {
    NAMES.iter().fold(condition.to_owned(), |condition, (from, to)| condition.replace(from, to))
}

/// The request in the plain form: what it says of the principal and of the resource are facts.
pub(crate) fn plain(original: &str) -> anyhow::Result<String> {
    let Json::Object(mut request) = Json::parse(original.as_bytes())? else { bail!("a request is an object") };
    let mut part = |name: &str| match request.remove(name) {
        Some(Json::Object(members)) => Ok(members),
        _ => bail!("a request has no `{name}`"),
    };
    let [mut action, mut args, mut principal, mut resource] =
        [part("action")?, part("context")?, part("principal")?, part("resource")?];
    for name in ["mutating", "reversible"] {
        args.insert(name, take(&mut action, name)?);
    }
    let agent = object([
        ("id", take(&mut principal, "id")?),
        ("environment", take(&mut resource, "env")?),
        ("sensitivity", take(&mut resource, "sensitivity")?),
    ]);
    action.insert("args", args);
    let fact = |kind: &str, payload: Object| object([("type", kind.into()), ("payload", payload.into())]);
    let facts = vec![fact("principal", principal), fact("resource", resource)];
    Ok(object([("action", action.into()), ("agent", agent), ("facts", facts.into())]).to_text())
}

fn take(object: &mut Object, name: &str) -> anyhow::Result<Json> {
    object.remove(name).with_context(|| format!("`{name}` is missing"))
}

fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
    let mut object = Object::new();
    for (name, value) in members {
        object.insert(name, value);
    }
    object.into()
}
