//! What looks like a mistake in a policy.

mod conditions;
mod names;
mod origins;
mod together;

use proofmark_evidence::{Accepts, ApprovalDemand, LoggedDemand, Person};
use proofmark_receipt::document::shown;
use proofmark_receipt::{SignerId, Verdict};
use proofmark_session::COMMON_TOOLS;

use super::dispatchers::DISPATCHERS;
use super::rules::ToolCallDemand;
use super::{ActionPolicy, Boundary, Demand, Mode, ReceiptRule};

/// For how long a decision may be valid without a warning, in milliseconds.
const LONG_VALIDITY_MILLIS: i64 = 24 * 60 * 60 * 1000;

/// Something that looks like a mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// As in `boundaries[0].require[1]`.
    pub at: String,
    /// A stable name for programs.
    pub code: &'static str,
    pub message: String,
    pub help: &'static str,
    /// Whether the rule can never be met as it stands.
    pub is_error: bool,
}

/// The warnings of a policy, in its order, without those that its author means.
pub(super) fn warnings(policy: &ActionPolicy) -> Vec<Warning> {
    let all = all(policy);
    let found: Vec<_> = all.iter().map(|warning| (warning.code, warning.at.as_str())).collect();
    let needless: Vec<_> = policy.accepted.needless(&found).into_iter().map(|(at, code)| needless(&at, code)).collect();
    let is_meant = |warning: &Warning| !warning.is_error && policy.accepted.has(warning.code, &warning.at);
    all.into_iter().filter(|warning| !is_meant(warning)).chain(needless).collect()
}

fn needless(at: &str, code: &str) -> Warning {
    let message = format!("nothing here has the warning `{code}`");
    warning(at, "needless-allow", message, "remove the name, so that a later mistake is shown")
}

fn all(policy: &ActionPolicy) -> Vec<Warning> {
    let mut warnings: Vec<_> = policy.boundaries.iter().flat_map(|boundary| of_boundary(policy, boundary)).collect();
    if policy.boundaries.is_empty() {
        let message = "no action is protected by a rule of its own";
        warnings.push(warning("boundaries", "no-boundaries", message, "add a boundary"));
    }
    warnings.extend(together::of_pairs(policy));
    warnings.extend(weak_dispatchers(policy));
    warnings.extend(names::warnings(policy));
    warnings.extend(origins::warnings(policy));
    if policy.mode == Mode::Shadow {
        let message = "nothing is stopped: every action is allowed, and only its receipt says what would have happened";
        warnings.push(warning(
            "mode",
            "shadow-mode",
            message,
            "write `mode: enforce` once the decisions are as you want",
        ));
    }
    if policy.valid_for_millis > LONG_VALIDITY_MILLIS {
        let message = "a decision is valid for more than a day, whatever happens in between";
        warnings.push(warning("valid_for", "long-validity", message, "write a shorter time, as in `5m`"));
    }
    warnings
}

fn warning(at: &str, code: &'static str, message: impl Into<String>, help: &'static str) -> Warning {
    Warning { at: at.to_owned(), code, message: message.into(), help, is_error: false }
}

/// A tool that runs what its arguments say, classed as one that changes nothing.
fn weak_dispatchers(policy: &ActionPolicy) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (index, entry) in policy.tools.iter().enumerate().filter(|(_, entry)| entry.is_weak()) {
        let before = policy.tools.get(..index).unwrap_or_default();
        let weak: Vec<_> = DISPATCHERS
            .into_iter()
            .filter(|name| entry.may_name(name) && !before.iter().any(|before| before.names_everywhere(name)))
            .collect();
        if let Some(first) = weak.first() {
            let others = if weak.len() > 1 { format!(" and {} more", weak.len() - 1) } else { String::new() };
            let message = format!(
                "the entry classes `{first}`{others} as tools without effect, which run what their arguments say"
            );
            let help = "put entries for such tools before it, as in `examples/guard/dispatchers.yaml`";
            warnings.push(warning(&format!("tools[{index}]"), "weak-dispatcher", message, help));
        }
    }
    warnings
}

fn of_boundary(policy: &ActionPolicy, boundary: &Boundary) -> Vec<Warning> {
    let mut warnings = Vec::new();
    // A boundary with a condition says itself which actions it lets through.
    let selects = boundary.when.as_ref().is_some_and(|when| when.source().trim() != "true");
    if boundary.require.iter().all(|rule| always_holds(&rule.demand)) && boundary.deny.is_empty() && !selects {
        let message = "the boundary allows every action that it matches";
        let help = "add `require` with a rule that can fail, or `deny`; if it is meant, write `lint: {allow: [allows-everything]}`";
        warnings.push(warning(&boundary.at, "allows-everything", message, help));
    }
    let of_conditions = conditions::warnings(boundary);
    let is_broken = of_conditions.iter().any(|warning| matches!(warning.code, "always-true" | "never-true"));
    warnings.extend(of_conditions);
    // What follows from a condition that is the same for all facts is not another mistake.
    if !is_broken {
        warnings.extend(together::of_boundary(boundary));
    }
    for (index, rule) in boundary.require.iter().enumerate() {
        let earlier = boundary.require.get(..index).unwrap_or_default();
        if let Some(same) = earlier.iter().find(|other| is_same(&other.demand, &rule.demand)) {
            warnings.push(duplicate(&rule.at, &same.at));
        }
        match &rule.demand {
            Demand::Receipt(receipt) => warnings.extend(of_receipt(policy, &rule.at, receipt)),
            Demand::Approval(demand) => {
                warnings.extend(of_approval(policy, &rule.at, demand));
                warnings.extend(of_scopes(boundary, &rule.at, demand));
            }
            Demand::ToolCall(demand) => warnings.extend(of_call(&rule.at, demand)),
            Demand::Fact(_) => {}
        }
    }
    for (index, rule) in boundary.deny.iter().enumerate() {
        let earlier = boundary.deny.get(..index).unwrap_or_default();
        let same = earlier.iter().find(|other| other.when == rule.when);
        warnings.extend(same.map(|same| duplicate(&rule.at, &same.at)));
        warnings.extend(rule.unless.iter().flat_map(|demand| of_approval(policy, &rule.at, demand)));
    }
    warnings
}

fn duplicate(at: &str, other: &str) -> Warning {
    warning(at, "duplicate-rule", format!("the rule repeats `{other}`"), "remove it, or correct what it is to ask for")
}

/// Whether two rules ask for the same fact.
fn is_same(one: &Demand, two: &Demand) -> bool {
    matches!((one, two), (Demand::Fact(one), Demand::Fact(two)) if one == two)
}

/// Whether the rule is the fact `true`.
fn always_holds(demand: &Demand) -> bool {
    matches!(demand, Demand::Fact(condition) if condition.source().trim() == "true")
}

fn of_receipt(policy: &ActionPolicy, at: &str, rule: &ReceiptRule) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if let Some(demand) = rule.demand.judgment.as_ref().filter(|demand| demand.keys(&policy.roles).next().is_none()) {
        let message =
            format!("nobody can judge as `{}`: the policy lists no key that holds the role", shown(&demand.role));
        warnings.push(Warning { is_error: true, ..warning(at, "role-of-nobody", message, LIST_REVIEWER) });
    }
    if rule.demand.accepts == Accepts::AnySuite {
        let message = "a receipt of any suite counts, so the agent that asks for it can choose trivial tests";
        warnings.push(warning(at, "any-suite", message, "name the `suite`"));
        if rule.demand.strength.is_some() {
            warnings.push(warning(at, "strength-of-any-suite", STRENGTH_OF_ANY_SUITE, "name the `suite`"));
        }
    }
    if rule.specification.as_ref().is_some_and(|expression| expression.names().iter().any(|name| &**name == "action")) {
        let message = "the agent writes `action`, so it chooses the specification";
        let help = "write the digest, or take it from facts that the runtime observes";
        warnings.push(warning(at, "specification-of-agent", message, help));
    }
    if !rule.demand.single_use && rule.demand.max_age_millis.is_none() {
        let message = "one receipt allows this action any number of times, without end";
        let help = match rule.demand.quorum {
            // The same reviews can be collected again.
            Some(_) => "write `max_age`",
            None => "write `single_use` or `max_age`",
        };
        warnings.push(warning(at, "receipt-without-end", message, help));
    }
    if rule.demand.logged.as_ref().is_some_and(LoggedDemand::trusts_the_log) {
        let message = "no witness has to have seen the log, so it could show each reader a different history";
        warnings.push(warning(
            at,
            "log-without-witness",
            message,
            "write `witnesses: 1`, or a `quorum` in `log_policy`",
        ));
    }
    warnings.extend(of_what_it_says(at, rule));
    warnings
}

const LIST_REVIEWER: &str = "list who holds it, with `proofmark reviewer add NAME --key KEY --role ROLE --policy FILE`";
const STRENGTH_OF_ANY_SUITE: &str = "an agent that writes both the work and its tests can raise the strength with work that fails by itself when it is changed";

fn of_what_it_says(at: &str, rule: &ReceiptRule) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if rule.demand.verdict != Verdict::Pass {
        let message = format!("the rule is met by a receipt that says `{}`", rule.demand.verdict.as_str());
        warnings.push(warning(at, "verdict-not-pass", message, "leave `verdict` out: it is then `pass`"));
    }
    warnings
}

/// Words that an action which spends has in its class, its tool, or what its rules look at.
const SPENDING: [&str; 10] =
    ["amount", "pay", "refund", "transfer", "purchase", "charge", "invoice", "spend", "payout", "withdraw"];

/// A grant for many actions, where each of them may cost something.
fn of_scopes(boundary: &Boundary, at: &str, demand: &ApprovalDemand) -> Option<Warning> {
    demand.scopes.are_any().then_some(())?;
    let conditions = boundary.require.iter().filter_map(|rule| match &rule.demand {
        Demand::Fact(condition) => Some(condition.source().to_owned()),
        Demand::Receipt(_) | Demand::Approval(_) | Demand::ToolCall(_) => None,
    });
    let denials = boundary.deny.iter().map(|rule| rule.when.source().to_owned());
    let when = boundary.when.iter().map(|condition| condition.source().to_owned());
    let texts = conditions.chain(denials).chain(when).chain([boundary.id.to_string(), boundary.matcher.shown()]);
    let spends =
        texts.map(|text| text.to_ascii_lowercase()).any(|text| SPENDING.iter().any(|word| text.contains(word)));
    let counts_once =
        boundary.require.iter().any(|rule| matches!(&rule.demand, Demand::Receipt(rule) if rule.demand.single_use));
    (spends || counts_once).then(|| {
        let message = "the rule seems to be about spending, and one approval may allow many such actions";
        warning(at, "scopes-of-spending", message, "leave `scopes` out, or bound the amount in a rule of its own")
    })
}

fn of_call(at: &str, demand: &ToolCallDemand) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if demand.status.is_none() {
        let message = "a call that failed, was blocked or never ended meets the rule too";
        warnings.push(warning(at, "call-of-any-status", message, "write `status: succeeded`"));
    }
    if demand.args.is_none() {
        let message = "the rule does not say what the call has to be about, so one about anything meets it";
        let help = "bind its arguments to the action, as in `args: {name: action.args.name}`; `args: {}` takes any";
        warnings.push(warning(at, "call-about-anything", message, help));
    }
    // A common name is that of the host's own tool, whatever servers call theirs.
    let is_of_host = demand.name.all_are(|name| COMMON_TOOLS.contains(&name)) || demand.from.names_host();
    if !is_of_host && !demand.from.names_server() {
        let message = "a tool of this name of any server meets the rule, and servers choose how their tools are called";
        warnings.push(warning(at, "call-of-any-server", message, "write `server`, or `surface: host`"));
    }
    warnings
}

fn of_approval(policy: &ActionPolicy, at: &str, demand: &ApprovalDemand) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let role = shown(&demand.role);
    match policy.roles.members(&demand.role).count() {
        0 => {
            let message = format!("nobody can approve as `{role}`: the policy lists nobody who holds the role");
            warnings.push(Warning { is_error: true, ..warning(at, "role-of-nobody", message, LIST_REVIEWER) });
        }
        members if demand.distinct && members < demand.count => {
            let message = format!("the role `{role}` has fewer members than the rule asks approvals");
            let help = "add members under `reviewers`, or ask for fewer approvals";
            warnings.push(warning(at, "too-few-keys", message, help));
        }
        _ => {}
    }
    if !demand.distinct && demand.count > 1 {
        let message = format!("one person can give all {} approvals", demand.count);
        warnings.push(warning(at, "one-person-twice", message, "leave `distinct` out: it is then `true`"));
    }
    warnings
}

impl ActionPolicy {
    /// The reviewers whose approvals the holder of this key can give, which is the key that decisions are signed with.
    #[must_use]
    pub fn approvals_of_decider(&self, decider: &SignerId) -> Vec<Warning> {
        let decider = Person::Key(*decider);
        let listed = self.roles.reviewers.iter().enumerate();
        let found = listed.filter(|(_, reviewer)| reviewer.is(&decider)).map(|(index, reviewer)| {
            let message = format!(
                "`{}` approves with the key that signs decisions here: who can start a decision can approve it",
                shown(&reviewer.name)
            );
            let help = "give the reviewer a key of their own, with `proofmark key new NAME`, on an account that the agent does not have";
            warning(&format!("reviewers[{index}]"), "decider-approves", message, help)
        });
        found.filter(|warning| !self.accepted.has(warning.code, &warning.at)).collect()
    }
}
