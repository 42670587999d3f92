//! What holds whatever the policy and the request are.

use proofmark_boundary::{
    ActionPolicy, Admission, Decision, DecisionReceipt, Outcome, Recomputed, Request, admits, decide, replay,
};
use proofmark_evidence::{Evidence, ReceiptFact};
use proofmark_receipt::{Json, Object, ReceiptId, Trust};
use proptest::prelude::*;

use crate::support::{approval, moment, policy, receipt, request};

const RULES: [&str; 10] = [
    "- fact: 'facts.exists(f, f.type == \"ticket\" && f.payload.id == action.target && f.payload.by != \"\")'",
    "- fact: 'action.args.amount <= 100'",
    "- fact: 'agent.environment in [\"dev\", \"prod\"]'",
    "- fact: 'memory.all(m, m.safe) && size(memory) > 0'",
    "- fact: 'action.args.kind == \"a\" || action.args.amount > 5'",
    "- receipt: {any_suite: true, output: 'sha256(action.args.patch)', tier: [0, 1], max_age: 1h, single_use: true}",
    "- approval: {role: lead, count: 2}",
    "- approval: {role: owner, count: 2, distinct: false}",
    "- tool_call: {name: 'run_*', status: succeeded, after: edit}",
    "- tool_call: {name: look}",
];
const DENIES: [&str; 5] = [
    "- {when: 'taint.exists(t, t.signal == \"injection\")', reason: {code: d0, message: D.}, otherwise: human_review}",
    "- {when: 'action.args.amount > 1000', reason: {code: d1, message: D.}}",
    "- {when: 'upstream.frozen', reason: {code: d2, message: D.}, otherwise: upstream}",
    "- {when: 'action.args.kind == \"forbidden\"', unless: {approval: {role: lead}}, reason: {code: d3, message: D.}}",
    "- {when: 'context_fill_pct >= 0.99', reason: {code: d4, message: D.}, otherwise: local}",
];
const WARNS: [&str; 2] = [
    "- {when: 'context_fill_pct > 0.9', reason: {code: w0, message: W.}}",
    "- {when: '!(task.first == \"pay\")', reason: {code: w1, message: W.}}",
];
const WHENS: [&str; 3] = ["true", "action.args.kind != \"skip\"", "agent.sensitivity == \"high\""];
const MATCHES: [&str; 4] = ["{}", "{tool: 'pay*'}", "{target: 'T-*', action_class: record_mutation}", "{agent: '?1'}"];

#[derive(Clone, Debug)]
struct World {
    policy: String,
    request: String,
    /// Which documents are presented, and what is the matter with each.
    documents: Vec<(u8, u8)>,
}

impl World {
    fn policy(&self) -> ActionPolicy {
        policy(&self.policy)
    }

    fn request(&self) -> Request {
        request(&self.request)
    }

    fn documents(&self) -> Vec<ReceiptFact> {
        let request = self.request();
        let document = |(index, (kind, fault)): (usize, &(u8, u8))| {
            let number = index as u8 + 1;
            let fact = match kind % 3 {
                0 => receipt(&format!("r{index}"), "diff"),
                1 => approval(number, "lead", &request),
                _ => approval(number, "owner", &request),
            };
            match fault % 6 {
                1 => ReceiptFact { valid: false, trust: Trust::Unknown, ..fact },
                2 => ReceiptFact { spent: true, ..fact },
                3 => ReceiptFact { trust: Trust::Untrusted, vouched: false, ..fact },
                _ => fact,
            }
        };
        self.documents.iter().enumerate().map(document).collect()
    }

    fn decide(&self) -> Decision {
        decide(&self.policy(), &self.request(), &Evidence::new(self.documents()), &moment(0))
    }
}

prop_compose! {
    fn boundary()(
        matching in proptest::sample::select(&MATCHES[..]),
        when in proptest::sample::select(&WHENS[..]),
        require in proptest::sample::subsequence(&RULES[..], 0..4),
        deny in proptest::sample::subsequence(&DENIES[..], 0..3),
        warn in proptest::sample::subsequence(&WARNS[..], 0..2),
    ) -> String {
        let list = |name: &str, rules: &[&str]| if rules.is_empty() {
            String::new()
        } else {
            format!("\n    {name}:\n      {}", rules.join("\n      "))
        };
        format!(
            "match: {matching}\n    when: '{when}'{}{}{}",
            list("deny", &deny),
            list("require", &require),
            list("warn", &warn)
        )
    }
}

prop_compose! {
    fn world()(
        boundaries in proptest::collection::vec(boundary(), 1..3),
        amount in proptest::sample::select(&["1", "50", "101", "5000"][..]),
        kind in proptest::sample::select(&["a", "b", "skip", "forbidden"][..]),
        facts in proptest::sample::select(&["[]", "[{type: ticket, payload: {id: T-1, by: ann}}]", "[{type: ticket, payload: {id: T-2, by: ''}}]"][..]),
        calls in proptest::sample::select(&["[]", "[{tool: edit}, {tool: run_x, status: succeeded}, {tool: look}]", "[{tool: run_x, status: succeeded}, {tool: edit}]"][..]),
        taint in proptest::sample::select(&["[]", "[{signal: injection}]", "[{signal: other}]"][..]),
        rest in proptest::sample::select(&["memory: [{safe: true}]\nupstream: {frozen: false, parent_node: p}", "memory: []", "upstream: {frozen: true}"][..]),
        fill in proptest::sample::select(&["0.5", "0.95", "1"][..]),
        documents in proptest::collection::vec((0u8..3, 0u8..6), 0..6),
    ) -> World {
        let boundaries: Vec<_> =
            boundaries.iter().enumerate().map(|(number, text)| format!("  - id: b{number}\n    {text}")).collect();
        World {
            policy: format!("version: 1\nboundaries:\n{}\n", boundaries.join("\n")),
            request: format!(
                "action: {{tool: pay_out, class: record_mutation, target: T-1, args: {{amount: {amount}, kind: {kind}, patch: diff}}}}
agent: {{id: a1, environment: prod, sensitivity: high}}
task: {{first: pay}}
facts: {facts}
calls: {calls}
taint: {taint}
context_fill_pct: {fill}
{rest}
"
            ),
            documents,
        }
    }
}

proptest! {
    #[test]
    fn removing_a_fact_never_widens(world in world()) {
        let before = world.decide();
        let (policy, request) = (world.policy(), world.request());
        let evidence = Evidence::new(world.documents());
        for path in paths(&Json::Object(request.facts().clone())) {
            let mut facts = Json::Object(request.facts().clone());
            remove(&mut facts, &path);
            let Json::Object(facts) = facts else { continue };
            let after = decide(&policy, &Request::from_facts(facts).unwrap(), &evidence, &moment(0));
            prop_assert!(width(&after) >= width(&before), "{path:?}: {:?} after {:?}", after.disposition(), before.disposition());
        }
    }

    #[test]
    fn removing_a_document_never_widens(world in world()) {
        let before = world.decide();
        let (policy, request) = (world.policy(), world.request());
        for index in 0..world.documents.len() {
            let mut documents = world.documents();
            documents.remove(index);
            let after = decide(&policy, &request, &Evidence::new(documents), &moment(0));
            prop_assert!(width(&after) >= width(&before));
        }
    }

    #[test]
    fn spoiling_a_document_never_widens(world in world(), fault in 1u8..4) {
        let before = world.decide();
        for index in 0..world.documents.len() {
            let mut spoilt = world.clone();
            spoilt.documents[index].1 = fault;
            prop_assert!(width(&spoilt.decide()) >= width(&before));
        }
    }

    #[test]
    fn the_order_of_documents_does_not_matter(world in world()) {
        let (policy, request) = (world.policy(), world.request());
        let mut documents = world.documents();
        documents.reverse();
        let other = decide(&policy, &request, &Evidence::new(documents), &moment(0));
        prop_assert_eq!(text(&world.decide(), &request), text(&other, &request));
    }

    #[test]
    fn what_would_change_it_does(world in world()) {
        let (policy, request) = (world.policy(), world.request());
        let evidence = Evidence::new(world.documents());
        let decision = world.decide();
        if decision.allows() {
            prop_assert!(decision.changes().is_empty() && decision.witness().is_none());
            return Ok(());
        }
        let resumed = draft(&decision, &request);
        if decision.changes().is_empty() {
            return Ok(());
        }
        // Not yet: some condition does not hold.
        let now = admits(&resumed, &policy, &request, &evidence, &moment(0));
        prop_assert!(matches!(now, Admission::ConditionsUnmet(_)), "{now:?} {}", resumed.to_text());
        let supposed = decision.changes().iter().any(|change| change.is_assumed());
        prop_assert_eq!(decision.witness().is_none(), supposed);
        if let Some(witness) = decision.witness() {
            let then = decide(&policy, &witness.request, &witness.evidence, &moment(0));
            prop_assert!(then.allows(), "{:?}", decision.changes());
            let admitted = admits(&resumed, &policy, &witness.request, &witness.evidence, &moment(0));
            prop_assert_eq!(admitted, Admission::Admitted);
        }
    }

    #[test]
    fn a_replay_is_the_same(world in world(), denied in 0u64..4) {
        let (policy, request) = (world.policy(), world.request());
        let documents = world.documents();
        let decision = decide(&policy, &request, &Evidence::new(documents.clone()), &moment(denied));
        let receipt = DecisionReceipt::parse(draft(&decision, &request).to_text().as_bytes()).unwrap();
        let spent: Vec<_> = documents.into_iter().map(|fact| ReceiptFact { spent: true, ..fact }).collect();
        prop_assert_eq!(replay(&receipt, &request, &policy, &spent, &[]).recomputed, Recomputed::Same);
    }
}

/// How wide a decision is: the lower, the more it lets happen.
fn width(decision: &Decision) -> u8 {
    match decision.outcome() {
        Outcome::Allow => 0,
        Outcome::AllowWithWarning => 1,
        Outcome::ReplanRequired | Outcome::GoalFailTerminal => 2,
    }
}

fn draft(decision: &Decision, request: &Request) -> DecisionReceipt {
    DecisionReceipt::draft(decision, request, ReceiptId::from_random_bytes([1; 16]), None)
}

fn text(decision: &Decision, request: &Request) -> String {
    draft(decision, request).to_text()
}

#[derive(Clone, Debug)]
enum Step {
    Name(String),
    Index(usize),
}

/// The places of all members of objects. Elements of lists stay: a list without one says something else, not less.
fn paths(json: &Json) -> Vec<Vec<Step>> {
    let below = |step: Step, inner: &Json| -> Vec<Vec<Step>> {
        paths(inner).into_iter().map(|path| [vec![step.clone()], path].concat()).collect()
    };
    match json {
        Json::Object(object) => {
            let own = object.iter().map(|(name, _)| vec![Step::Name(name.to_owned())]);
            own.chain(object.iter().flat_map(|(name, inner)| below(Step::Name(name.to_owned()), inner))).collect()
        }
        Json::Array(items) => {
            items.iter().enumerate().flat_map(|(index, inner)| below(Step::Index(index), inner)).collect()
        }
        _ => Vec::new(),
    }
}

fn remove(json: &mut Json, path: &[Step]) {
    match (path, json) {
        ([Step::Name(name)], Json::Object(object)) => {
            object.remove(name);
        }
        ([Step::Name(name), rest @ ..], Json::Object(object)) => remove(object.get_mut(name).unwrap(), rest),
        ([Step::Index(index), rest @ ..], Json::Array(items)) => remove(&mut items[*index], rest),
        _ => {}
    }
}

#[test]
fn paths_are_all_members() {
    let mut object = Object::new();
    object.insert(
        "a",
        Json::from(vec![Json::from(crate::support::request("action: {tool: t, class: upload}").facts().clone())]),
    );
    assert_eq!(paths(&Json::Object(object)).len(), 6);
}
