//! Changes as words for people and as predicates for programs.

use std::collections::HashSet;

use proofmark_evidence::{
    Accepts, ApprovalDemand, Comparison, EnvironmentDemand, MAX_AHEAD_MILLIS, ReceiptDemand, ReceiptKind, SignerDemand,
    TestsFromDemand, span,
};
use proofmark_receipt::SignerId;

use super::Change;
use super::hypothesis::{self, Hypothesis, Op, condition_of, evaluates_to};
use crate::conditions::bound;
use crate::input::Input;
use crate::judge::call_words;
use crate::limits;
use crate::policy::{ActionPolicy, Limit, ReceiptRule, ToolCallDemand};
use crate::request::Request;
use crate::rule_ref::{RuleKind, RuleRef};

/// The longest predicate quoted to people, in characters.
const MAX_QUOTED_CHARS: usize = 240;
/// The most different single-use demands whose receipts are counted apart: `each_its_own` names 2^n changes.
const MAX_EXCLUSIVE: usize = 4;

/// The changes of the operations, each once: two rules may ask for the same.
pub(super) fn changes(input: &Input<'_>, ops: &[Op], hypothesis: &Hypothesis<'_>) -> Option<Vec<Change>> {
    let mut named = HashSet::new();
    let mut changes: Vec<Change> = Vec::new();
    let mut exclusive: Vec<Exclusive> = Vec::new();
    for op in ops {
        let change = match op {
            Op::Fact { source, truth, assumed } => fact(input, *source, *truth, *assumed)?,
            Op::Receipt { source } => {
                let rule = hypothesis::demand(input.policy, *source, hypothesis::receipt_demand)?;
                let (words, test) = (receipt_words(input, rule, hypothesis), receipt_test(input.policy, rule));
                // Two rules with one test share one change, but each uses up a receipt of its own (`each_its_own`).
                if rule.demand.single_use {
                    match exclusive.iter_mut().find(|known| known.test == test) {
                        Some(known) => known.rules += 1,
                        None => exclusive.push(Exclusive { test: test.clone(), words: words.clone(), rules: 1 }),
                    }
                }
                plain("receipt", words, format!("receipts.exists(r, {test})"))
            }
            Op::Approval { source } => {
                let demand = hypothesis::approval_demand(input.policy, *source)?;
                plain("approval", approval_words(demand), approval_predicate(demand))
            }
            Op::Call { source } => {
                let demand = hypothesis::demand(input.policy, *source, hypothesis::tool_call)?;
                plain("tool_call", format!("The run has a {}.", call_words(demand)), call_predicate(demand))
            }
        };
        if named.insert(change.predicate.clone()) {
            changes.push(change);
        }
    }
    changes.extend(each_its_own(&exclusive)?);
    Some(changes)
}

/// A demand for a receipt that its rule uses up.
struct Exclusive {
    /// A predicate over a receipt `r`.
    test: String,
    words: String,
    rules: usize,
}

/// What is needed beside one receipt for each demand, so that each rule can use up one of its own. By Hall's theorem that
/// is possible exactly when every set of rules has at least as many receipts that one of them accepts as it has rules.
/// `None` when there are too many demands.
fn each_its_own(demands: &[Exclusive]) -> Option<Vec<Change>> {
    if demands.len() > MAX_EXCLUSIVE {
        return None;
    }
    let mut changes = Vec::new();
    for taken in 1..1_usize << demands.len() {
        let chosen = || demands.iter().enumerate().filter(|(at, _)| taken & (1 << at) != 0).map(|(_, demand)| demand);
        let rules: usize = chosen().map(|demand| demand.rules).sum();
        // For a single rule this says the same as its own change.
        if rules < 2 {
            continue;
        }
        let tests: Vec<_> = chosen().map(|demand| format!("({})", demand.test)).collect();
        let words: Vec<_> = chosen().map(|demand| demand.words.as_str()).collect();
        changes.push(plain(
            "receipt",
            format!("There are {rules} different receipts, one for each rule that uses one up: {}", words.join(" ")),
            format!("receipts.filter(r, {}).size() >= {rules}", tests.join(" || ")),
        ));
    }
    Some(changes)
}

fn plain(kind: &'static str, words: String, predicate: String) -> Change {
    Change { kind, words, predicate, assumed: false }
}

fn fact(input: &Input<'_>, source: RuleRef, truth: bool, assumed: bool) -> Option<Change> {
    let condition = condition_of(input.policy, source)?;
    let predicate = condition.statement(truth).text().to_owned();
    let boundary = input.policy.boundaries.get(source.boundary)?;
    if let (RuleKind::Deny, Some(rule)) = (source.kind, boundary.deny.get(source.index))
        && let Some(limit) = &rule.limit
    {
        return Some(within(input, limit, predicate, assumed));
    }
    let next = match source.kind {
        RuleKind::Require => boundary.require.get(source.index)?.next.as_ref(),
        RuleKind::Deny => boundary.deny.get(source.index)?.next.as_ref(),
        _ => None,
    };
    let quoted = quoted_source(&predicate);
    if !assumed && evaluates_to(input, input.request, condition, truth) {
        return Some(plain("fact", format!("`{quoted}` still holds."), predicate));
    }
    let words = match (assumed, next) {
        (true, _) => format!("`{quoted}` holds, which is assumed to be possible: no facts were found that satisfy it."),
        (false, Some(next)) => format!("{} Then `{quoted}` holds.", next.message),
        (false, None) => format!("`{quoted}` holds."),
    };
    Some(Change { assumed, ..plain("fact", words, predicate) })
}

/// That a limit is kept, with the number: a retry does not know what was counted.
fn within(input: &Input<'_>, limit: &Limit, predicate: String, assumed: bool) -> Change {
    match limits::left(input.request, limit).filter(|_| !assumed) {
        Some((path, left)) => {
            plain("fact", format!("`{path}` is at most {left}."), format!("{path} >= 0 && {path} <= {left}"))
        }
        None => Change { assumed, ..plain("fact", format!("The limit `{}` has room for it.", limit.id), predicate) },
    }
}

fn quoted_source(predicate: &str) -> String {
    let flat = predicate.split_whitespace().collect::<Vec<_>>().join(" ");
    match flat.char_indices().nth(MAX_QUOTED_CHARS) {
        Some((end, _)) => format!("{}…", flat.get(..end).unwrap_or_default()),
        None => flat,
    }
}

fn receipt_words(input: &Input<'_>, rule: &ReceiptRule, hypothesis: &Hypothesis<'_>) -> String {
    let demand = &rule.demand;
    let digest = |request: &Request| {
        rule.output.text(&request.value_at(input.moment.now.as_str()), input.budget).ok().map(|text| text.to_string())
    };
    // The digest is named where the changes do not affect it.
    let output = match digest(input.request) {
        Some(output) if digest(&hypothesis.request).as_ref() == Some(&output) => output,
        Some(_) | None => format!("`{}`", quoted_source(rule.output.source())),
    };
    let signer = match demand.signer {
        SignerDemand::Any if demand.judgment.is_some() => "who has the role",
        SignerDemand::Any if demand.quorum.is_some() => "anybody who collects it",
        SignerDemand::Trusted => "a trusted signer",
        SignerDemand::Any => "any signer",
        SignerDemand::Keys(_) => "a signer the policy names",
    };
    let kind = match demand.kind {
        ReceiptKind::Verification => String::new(),
        kind => format!("{} ", kind.as_str()),
    };
    let mut words = format!(
        "There is a `{}` {kind}receipt{} over {output} by {signer}",
        demand.verdict,
        demand.tier_words().map_or_else(String::new, |tiers| format!(" {tiers}"))
    );
    match (&demand.accepts, &rule.specification) {
        (Accepts::Suite(suite), _) => words.push_str(&format!(", of the suite {suite}")),
        (_, Some(specification)) => {
            words.push_str(&format!(", for the specification `{}`", quoted_source(specification.source())));
        }
        (Accepts::Specification | Accepts::AnySuite, None) => {}
    }
    if let Some(tests) = demand.tests {
        words.push_str(&format!(", with the tests {tests}"));
    }
    if let Some(from) = &demand.tests_from {
        words.push_str(&format!(", {from}"));
    }
    if let Some(strength) = demand.strength {
        words.push_str(&format!(", with a strength of at least {strength}"));
    }
    if let Some(share) = demand.counter_run {
        words.push_str(&format!(", {}", share.contradicted()));
    }
    if let Some(environment) = demand.environment {
        words.push_str(&format!(", {environment}"));
    }
    if let Some(millis) = demand.max_age_millis {
        words.push_str(&format!(", no older than {}", span::words(millis)));
    }
    for more in more_words(demand) {
        words.push_str(&format!(", {more}"));
    }
    if demand.single_use {
        words.push_str(", not used before");
    }
    words.push('.');
    words
}

/// What a rule demands of a receipt beyond what the receipt says of the work.
pub(crate) fn more_words(demand: &ReceiptDemand) -> impl Iterator<Item = String> {
    let quorum = demand.quorum.as_ref().map(ToString::to_string);
    let judgment = demand.judgment.as_ref().map(ToString::to_string);
    let logged = demand.logged.as_ref().map(ToString::to_string);
    [quorum, judgment, logged].into_iter().flatten()
}

/// The predicate by which a rule accepts a receipt `r`.
fn receipt_test(policy: &ActionPolicy, rule: &ReceiptRule) -> String {
    let demand = &rule.demand;
    let signer = match &demand.signer {
        SignerDemand::Trusted => "r.trusted".to_owned(),
        SignerDemand::Any => "true".to_owned(),
        SignerDemand::Keys(keys) => {
            format!("r.signer in {}", key_list(keys))
        }
    };
    let tiers: Vec<_> = demand.tiers.iter().map(u8::to_string).collect();
    let ahead = format!("duration('{}s')", MAX_AHEAD_MILLIS / 1000);
    // These parts mirror `ReceiptDemand::meets`: a test that accepts more would admit a retry for the same refusal.
    let mut parts = vec![
        // The line break ends a comment of the expression, which would swallow the bracket.
        format!("r.output == ({}\n)", rule.output.source()),
        "r.valid".to_owned(),
        format!("r.kind == {}", text(demand.kind.as_str())),
        signer,
        format!("r.verdict == {}", text(demand.verdict.as_str())),
        format!("r.tier in [{}]", tiers.join(", ")),
        format!("timestamp(r.verified_at) - timestamp(now) <= {ahead}"),
    ];
    if let Accepts::Suite(suite) = &demand.accepts {
        parts.push(format!("r.suite == {}", text(&suite.to_string())));
    }
    if let Some(tests) = &demand.tests {
        parts.push(format!("r.tests == {}", text(&tests.to_string())));
    }
    match &demand.tests_from {
        Some(TestsFromDemand::Owner) => parts.push("r.tests_from != null".to_owned()),
        Some(TestsFromDemand::Commit(commit)) => parts.push(format!("r.tests_from == {}", text(commit))),
        None => {}
    }
    match (demand.kind, demand.comparison) {
        (ReceiptKind::Verification, Comparison::External) => parts.push("r.comparison == \"external\"".to_owned()),
        (ReceiptKind::Verification, Comparison::InProcess) => {
            parts.push("r.comparison in [\"external\", \"in_process\"]".to_owned());
        }
        (ReceiptKind::StepAcceptance | ReceiptKind::Approval | ReceiptKind::Quorum | ReceiptKind::Judgment, _) => {}
    }
    if let Some(strength) = demand.strength {
        // Null has no order, so it is asked for first.
        parts.push(format!("r.strength != null && r.strength >= {strength}"));
    }
    if let Some(share) = demand.counter_run {
        parts.push(format!("r.counter_run != null && r.counter_run >= {share}"));
    }
    match demand.environment {
        Some(EnvironmentDemand::Digest(digest)) => {
            parts.push(format!("r.environment == {}", text(&digest.to_string())));
        }
        Some(EnvironmentDemand::Lock) => {
            parts.push("r.environment != null && r.environment_from == \"lock\"".to_owned());
        }
        None => {}
    }
    if let Some(specification) = &rule.specification {
        parts.push(format!("r.specification == ({}\n)", specification.source()));
    }
    parts.extend(age(demand.max_age_millis, "r"));
    if let Some(demand) = &demand.judgment {
        let keys: Vec<SignerId> = demand.keys(&policy.roles).collect();
        parts.push(format!("r.role == {} && !r.distrusted && r.signer in {}", text(&demand.role), key_list(&keys)));
        parts.push("(r.expires_at == null || timestamp(now) < timestamp(r.expires_at))".to_owned());
    }
    if let Some(demand) = &demand.quorum {
        let operators: Vec<_> = demand.operators().iter().map(|(_, keys)| key_list(keys)).collect();
        let operators = format!("[{}]", operators.join(", "));
        // As `VotesDemand::meets`: who collects reviews can date the quorum anew, so each of them has to be new enough.
        let not_ahead = format!("timestamp(v.verified_at) - timestamp(now) <= {ahead}");
        let is_dated: Vec<_> = std::iter::once(not_ahead).chain(age(rule.demand.max_age_millis, "v")).collect();
        let is_dated = is_dated.join(" && ");
        let agree = format!("o.exists(k, r.agreeing.exists(v, v.signer == k && {is_dated}))");
        parts.push(format!("{operators}.filter(o, {agree}).size() >= {}", demand.at_least()));
        if demand.is_complete() {
            parts.push(format!("{operators}.all(o, o.exists(k, k in r.reviewed))"));
        }
    }
    if let Some(logged) = &demand.logged {
        parts.push("r.logged".to_owned());
        if logged.witnesses() > 0 {
            parts.push(format!("r.witnesses >= {}", logged.witnesses()));
        }
    }
    if demand.single_use {
        parts.push("!r.spent".to_owned());
    }
    parts.join(" && ")
}

/// The predicate that the document of a variable is at most this old.
fn age(max_age_millis: Option<i64>, variable: &str) -> Option<String> {
    let millis = max_age_millis?;
    let span = if millis % 1000 == 0 { format!("{}s", millis / 1000) } else { format!("{millis}ms") };
    Some(format!("timestamp(now) - timestamp({variable}.verified_at) <= duration('{span}')"))
}

/// A list of keys in the predicate language.
fn key_list(keys: &[SignerId]) -> String {
    let keys: Vec<_> = keys.iter().map(|key| text(&key.to_string())).collect();
    format!("[{}]", keys.join(", "))
}

fn approval_words(demand: &ApprovalDemand) -> String {
    let of = match (demand.binds.environment, demand.binds.agent) {
        (true, true) => "exactly this action, for this agent in this environment",
        (true, false) => "exactly this action in this environment",
        (false, true) => "exactly this action for this agent",
        (false, false) => "exactly this action",
    };
    let with = if demand.binds.passkey { ", with a passkey" } else { "" };
    match (demand.count, demand.distinct) {
        (1, _) => format!("One `{}` has approved {of}{with}.", demand.role),
        (count, true) => format!("{count} different reviewers have approved {of}, as `{}`{with}.", demand.role),
        (count, false) => format!("There are {count} approvals of {of}, as `{}`{with}.", demand.role),
    }
}

fn approval_predicate(demand: &ApprovalDemand) -> String {
    let role = text(&demand.role);
    if demand.distinct {
        let approvers = bound("approvers", demand.binds);
        format!("{approvers}.exists(role, count, role == {role} && count >= {})", demand.count)
    } else {
        let usable = bound("usable", demand.binds);
        format!("approvals.filter(a, a.{usable} && a.role == {role}).size() >= {}", demand.count)
    }
}

fn call_predicate(demand: &ToolCallDemand) -> String {
    let named = |variable: &str, pattern: &str| format!("{variable}.tool.matches({})", text(pattern));
    let mut parts = vec![named("c", &demand.name.pattern())];
    if let Some(status) = demand.status {
        parts.push(format!("c.status == {}", text(status.as_str())));
    }
    if let Some(after) = &demand.after {
        let after = named("d", &after.pattern());
        // As `CallStatus::may_have_acted` and `is_unsettled`; without a status, a call may have acted and has ended.
        let acted = "(!has(d.status) || !(d.status in [\"failed\", \"blocked\"]))";
        let settled = "(!has(d.status) || !(d.status in [\"pending\", \"doubtful\"]))";
        parts.push(format!("calls.exists(d, {after} && {acted}) && calls.all(j, d, (j < i && {settled}) || !{after})"));
    }
    if let Some(before) = &demand.before {
        parts.push(format!("calls.all(j, d, j > i || !{})", named("d", &before.pattern())));
    }
    format!("calls.exists(i, c, {})", parts.join(" && "))
}

/// A literal of the predicate language.
fn text(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => {
                quoted.push('\\');
                quoted.push(letter);
            }
            // Four digits are enough: control characters end at U+009F.
            letter if letter.is_control() => quoted.push_str(&format!("\\u{:04x}", u32::from(letter))),
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}
