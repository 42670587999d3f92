//! What would change a decision, proven on random policies: every set of entries is enough, whatever fulfils it.

use proofmark_boundary::{ActionPolicy, Admission, Decision, DecisionReceipt, Disposition, Request, admits, decide};
use proofmark_evidence::{Evidence, ReceiptFact};
use proofmark_receipt::ReceiptId;
use proptest::prelude::*;

use crate::support::{approval, decided, moment, policy, receipt, request};

/// Predicates over three facts of a few values each, so that all worlds can be gone through.
const CONDITIONS: [&str; 15] = [
    "memory[0] == \"a\"",
    "memory[0] != \"a\"",
    "memory[0] == \"b\" || memory[1] == \"b\"",
    "!(memory[0] == \"b\" && memory[1] == \"b\")",
    "memory[0] in [\"a\", \"c\"]",
    "memory[1] == memory[0]",
    "upstream.level > 1",
    "upstream.level <= 1",
    "upstream.level < 3 && memory[1] != \"c\"",
    "upstream.level == 2 || memory[0] == \"c\"",
    "upstream.level + 0 > 1",
    "memory[1].matches(\"^[ab]$\")",
    "!memory[1].matches(\"^[ab]$\")",
    "lower(memory[0]) == \"b\"",
    "memory[0] == \"a\" ? upstream.level > 0 : upstream.level > 2",
];
const TEXTS: [&str; 3] = ["a", "b", "c"];
const NUMBERS: [i64; 4] = [0, 1, 2, 3];

/// A rule as it is written, with reasons that rules share.
fn rule() -> impl Strategy<Value = (bool, String)> {
    let condition = proptest::sample::select(&CONDITIONS[..]);
    let reason = proptest::sample::select(&["same", "other"][..]);
    let worded = |code: &str| format!("reason: {{code: {code}, message: The same words.}}");
    prop_oneof![
        4 => (condition.clone(), reason.clone()).prop_map(move |(condition, code)| {
            (false, format!("{{fact: '{condition}', {}}}", worded(code)))
        }),
        3 => (condition.clone(), reason.clone()).prop_map(move |(condition, code)| {
            (true, format!("{{when: '{condition}', {}}}", worded(code)))
        }),
        2 => (condition, reason).prop_map(move |(condition, code)| {
            (true, format!("{{when: '{condition}', unless: {{approval: {{role: lead}}}}, {}}}", worded(code)))
        }),
        1 => Just((false, "{receipt: {any_suite: true, output: 'sha256(action.args.patch)', single_use: true}}".to_owned())),
        1 => Just((false, "{receipt: {any_suite: true, output: 'sha256(action.args.patch)', tier: 0, single_use: true}}".to_owned())),
        1 => Just((false, "{approval: {role: lead, count: 2}}".to_owned())),
        1 => Just((false, "{approval: {role: lead, binds: [action]}}".to_owned())),
        1 => Just((false, "{approval: {role: owner, binds: [action, agent], distinct: false}}".to_owned())),
        1 => Just((false, "{tool_call: {name: test, status: succeeded}}".to_owned())),
        1 => Just((false, "{tool_call: {name: test, status: succeeded, after: edit}}".to_owned())),
    ]
}

fn boundary() -> impl Strategy<Value = String> {
    let when = proptest::option::weighted(0.3, proptest::sample::select(&CONDITIONS[..]));
    (when, proptest::collection::vec(rule(), 1..5)).prop_map(|(when, rules)| {
        let list = |denies: bool| {
            let of_kind = rules.iter().filter(|(denial, _)| *denial == denies);
            of_kind.map(|(_, text)| format!("\n      - {text}")).collect::<String>()
        };
        let when = when.map_or_else(String::new, |when| format!("\n    when: '{when}'"));
        let some = |name: &str, list: String| if list.is_empty() { list } else { format!("\n    {name}:{list}") };
        format!("match: {{}}{when}{}{}", some("require", list(false)), some("deny", list(true)))
    })
}

#[derive(Clone, Debug)]
struct World {
    policy: String,
    first: &'static str,
    second: &'static str,
    number: i64,
    tested: bool,
    verified: bool,
    approvals: u8,
    /// How many of the approvals were there first, of each role.
    first_given: (u8, u8),
    /// Approvals as `owner`, by the same people.
    owners: u8,
    /// The approvals that are there were given in another environment.
    abroad: bool,
    /// A fact that is absent.
    absent: bool,
}

prop_compose! {
    fn world()(
        boundaries in proptest::collection::vec(boundary(), 1..3),
        first in proptest::sample::select(&TEXTS[..]),
        second in proptest::sample::select(&TEXTS[..]),
        number in proptest::sample::select(&NUMBERS[..]),
        (tested, verified, absent) in (any::<bool>(), any::<bool>(), proptest::bool::weighted(0.2)),
        (approvals, owners, abroad) in (0u8..3, 0u8..2, proptest::bool::weighted(0.2)),
    ) -> World {
        let boundaries: Vec<_> =
            boundaries.iter().enumerate().map(|(number, text)| format!("  - id: b{number}\n    {text}\n")).collect();
        let policy = format!("version: 1\nrepeat: {{same_action_denied: 9, then: human_review}}\nboundaries:\n{}", boundaries.concat());
        World { policy, first, second, number, tested, verified, approvals, first_given: (approvals, owners), owners, abroad, absent }
    }
}

impl World {
    fn policy(&self) -> ActionPolicy {
        policy(&self.policy)
    }

    fn request(&self) -> Request {
        let calls = if self.tested { "[{tool: test, status: succeeded}]" } else { "[]" };
        let upstream = if self.absent { String::new() } else { format!("upstream: {{level: {}}}\n", self.number) };
        request(&format!(
            "action: {{tool: t, class: upload, args: {{patch: p}}}}\ncalls: {calls}\nmemory: [{}, {}]\n{upstream}",
            self.first, self.second
        ))
    }

    fn documents(&self) -> Vec<ReceiptFact> {
        let verified = self.verified.then(|| receipt("r", "p"));
        let given = |role: &str, number: u8, first: u8| {
            let at = if number < first { "2026-03-01T11:30:00Z" } else { "2026-03-01T11:40:00Z" };
            ReceiptFact { verified_at: at.parse().unwrap(), ..approval(number + 1, role, &self.request()) }
        };
        let leads = (0..self.approvals).map(|number| given("lead", number, self.first_given.0));
        let owners = (0..self.owners).map(|number| given("owner", number, self.first_given.1));
        let mut approvals: Vec<_> = leads.chain(owners).collect();
        for approval in approvals.iter_mut().filter_map(|fact| fact.approval.as_mut()).filter(|_| self.abroad) {
            approval.subject.environment = Some("abroad".to_owned());
        }
        verified.into_iter().chain(approvals).collect()
    }

    /// Every world in which nothing that was there is gone, and no other facts have changed than those of the predicates.
    fn others(&self, predicates: &[String]) -> impl Iterator<Item = World> + '_ {
        let named = |place: &str| predicates.iter().any(|predicate| predicate.contains(place));
        let texts = |place: &str, now| if named(place) { TEXTS.to_vec() } else { vec![now] };
        let (first, second) = (texts("memory[0]", self.first), texts("memory[1]", self.second));
        let level = named("upstream");
        let numbers = NUMBERS.into_iter().filter(move |number| level || *number == self.number);
        let absent = self.absent && !level;
        let facts =
            first.into_iter().flat_map(move |first| second.clone().into_iter().map(move |second| (first, second)));
        let facts = facts.flat_map(move |(first, second)| numbers.clone().map(move |number| (first, second, number)));
        let approved = (self.approvals..3).flat_map(move |leads| (self.owners..3).map(move |owners| (leads, owners)));
        let approved = approved.flat_map(|given| [(given, true), (given, false)]);
        let approved = approved.filter(|(_, abroad)| *abroad <= self.abroad);
        let documents = approved.flat_map(move |(given, abroad)| {
            [(true, true), (true, false), (false, true), (false, false)]
                .map(move |(tested, verified)| (tested, verified, (given, abroad)))
        });
        let documents = documents.filter(|(tested, verified, _)| tested >= &self.tested && verified >= &self.verified);
        facts.flat_map(move |(first, second, number)| {
            documents.clone().map(move |(tested, verified, ((approvals, owners), abroad))| World {
                first,
                second,
                number,
                tested,
                verified,
                approvals,
                owners,
                abroad,
                absent,
                ..self.clone()
            })
        })
    }
}

fn draft(decision: &Decision, request: &Request) -> DecisionReceipt {
    DecisionReceipt::draft(decision, request, ReceiptId::from_random_bytes([1; 16]), None)
}

proptest! {
    #[test]
    fn entries_that_hold_are_enough_whatever_fulfils_them(world in world()) {
        let (policy, request) = (world.policy(), world.request());
        let decision = decided(&policy, &request, world.documents());
        let resumed = draft(&decision, &request);
        let predicates: Vec<_> = decision.changes().iter().map(|change| change.predicate().to_owned()).collect();
        if decision.allows() || decision.disposition() == Disposition::TerminalBlock {
            prop_assert!(predicates.is_empty());
            return Ok(());
        }
        for predicate in &predicates {
            let negated = [format!("!({predicate})"), predicate.trim_start_matches("!(").trim_end_matches(')').to_owned()];
            let opposed = predicates.iter().any(|other| other != predicate && negated.contains(other));
            prop_assert!(!opposed, "`{predicate}` stands beside its opposite: {predicates:?}");
        }
        if decision.changes().iter().any(|change| change.is_assumed()) {
            prop_assert!(decision.witness().is_none());
            prop_assert!(resumed.to_text().contains("\"assumed\":true"));
            return Ok(());
        }
        if predicates.is_empty() {
            prop_assert!(!resumed.document().get("viewer_guidance").unwrap().as_array().unwrap().is_empty());
            return Ok(());
        }
        let witness = decision.witness().expect("changes that are not assumed are proven");
        prop_assert!(decide(&policy, &witness.request, &witness.evidence, &moment(0)).allows(), "{predicates:?}");
        for other in world.others(&predicates) {
            let (request, evidence) = (other.request(), Evidence::new(other.documents()));
            if admits(&resumed, &policy, &request, &evidence, &moment(0)) == Admission::Admitted {
                let again = decide(&policy, &request, &evidence, &moment(0));
                prop_assert!(again.allows(), "{predicates:?} hold, and {:?} blocks {other:?}", again.reasons().collect::<Vec<_>>());
            }
        }
    }
}

#[test]
fn a_rule_about_numbers_that_doubles_cannot_tell_apart_is_named() {
    // The second rule fails for 2^53+3 alone, which no double is.
    let policy = policy(
        "version: 1
boundaries:
  - id: b
    match: {}
    require:
      - fact: upstream.level > 9007199254740992
      - fact: upstream.level <= 9007199254740994 || upstream.level >= 9007199254740996
",
    );
    let request = request(r#"{action: {tool: t, class: upload}, upstream: {level: 0}}"#);
    let decision = decide(&policy, &request, &Evidence::default(), &moment(0));
    assert_eq!(decision.changes().len(), 2, "{:?}", decision.changes());
}

#[test]
fn an_approval_that_lifts_the_end_of_a_path_is_named() {
    let terminal = "version: 1
boundaries:
  - id: b
    match: {}
    deny:
      - when: 'upstream.level == 0'
        unless: {approval: {role: lead}}
        reason: {code: never, message: No.}
        otherwise: goal_fail_terminal
";
    let request = request(r#"{action: {tool: t, class: upload}, agent: {id: a}, upstream: {level: 0}}"#);
    let decide = |text: &str| decide(&policy(text), &request, &Evidence::default(), &moment(0));
    let lifted = decide(terminal);
    assert_eq!(lifted.disposition(), Disposition::TerminalBlock);
    assert_eq!(lifted.changes().iter().map(|change| change.kind()).collect::<Vec<_>>(), ["approval"]);
    let draft = DecisionReceipt::draft(&lifted, &request, ReceiptId::from_random_bytes([1; 16]), None);
    // The path has ended for the agent, all the same.
    let (evidence, moment) = (Evidence::new(vec![approval(1, "lead", &request)]), moment(0));
    let admitted = admits(&draft, &policy(terminal), &request, &evidence, &moment);
    assert!(matches!(admitted, Admission::Refused { code: "terminal", .. }), "{admitted:?}");
    let for_good = decide(&terminal.replace("        unless: {approval: {role: lead}}\n", ""));
    assert!(for_good.changes().is_empty());
}

#[test]
fn approvals_in_several_roles_are_named_together() {
    let policy = policy(
        "version: 1
boundaries:
  - id: b
    match: {}
    require:
      - approval: {role: finance}
      - approval: {role: dba, count: 2}
      - approval: {role: lead}
",
    );
    for agent in ["a", "b", "c", "d"] {
        let request = request(&format!("{{action: {{tool: t, class: upload}}, agent: {{id: {agent}}}}}"));
        let decision = decide(&policy, &request, &Evidence::default(), &moment(0));
        assert_eq!(decision.changes().len(), 3, "{agent}: {:?}", decision.changes());
    }
}
