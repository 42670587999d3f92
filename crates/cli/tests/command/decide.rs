use proofmark_receipt::Json;

use crate::run::{Done, Place, project_file};

fn example(name: &str) -> String {
    project_file(&format!("examples/decide/{name}"))
}

/// The policy of the example, which lists this key as the release manager's.
pub(crate) fn policy(place: &Place, reviewer: &str) -> String {
    let text = std::fs::read_to_string(example("policy.yaml")).unwrap();
    let text = text.replace("../sort.json", &project_file("examples/sort.json"));
    place.file("policy.yaml", format!("{text}roles: {{release-manager: '{reviewer}'}}\n"))
}

/// A place with the issuer's key and a reviewer's, and both to trust.
struct Story {
    place: Place,
    trusted: [String; 2],
    policy: String,
}

impl Story {
    fn new() -> Story {
        let place = Place::new();
        let trusted = ["default", "reviewer"].map(|name| {
            place.run(&["key", "new", name]);
            place.run(&["key", "show", name, "--as", "signer-id"]).stdout.trim().to_owned()
        });
        let policy = policy(&place, &trusted[1]);
        Story { place, trusted, policy }
    }

    fn decide(&self, request: &str, more: &[&str]) -> Done {
        let [issuer, reviewer] = &self.trusted;
        let arguments = ["decide", request, "--policy", &self.policy, "--trust", issuer, "--trust", reviewer, "--json"];
        self.place.run(&[&arguments[..], more].concat())
    }
}

fn mode(done: &Done) -> String {
    let document = Json::parse(done.stdout.as_bytes()).unwrap_or_else(|error| panic!("{error}: {done:?}"));
    let disposition = document.as_object().unwrap().get("disposition").and_then(Json::as_object).unwrap();
    disposition.get("mode").and_then(Json::as_str).unwrap().to_owned()
}

#[test]
fn blocked_verified_approved_allowed_and_not_allowed_twice() {
    let story = Story::new();
    let request = example("request.json");
    let blocked = story.decide(&request, &[]);
    assert_eq!((blocked.code, mode(&blocked).as_str()), (1, "local_replan"), "{blocked:?}");

    assert_eq!(story.place.run(&["verify", &project_file("examples/sort.json")]).code, 0);
    let asked = story.decide(&request, &[]);
    assert_eq!((asked.code, mode(&asked).as_str()), (1, "local_replan"), "{asked:?}");
    assert!(asked.stdout.contains("not_approved") && !asked.stdout.contains("not_verified"), "{asked:?}");
    let decision = story.place.file("decision.json", &asked.stdout);

    let approved =
        story.place.run(&["decision", "approve", "--yes", &decision, "--key", "reviewer", "--note", "checked"]);
    assert_eq!(approved.code, 0, "{approved:?}");
    let approval = story.place.file("approval.json", &approved.stdout);
    let allowed = story.decide(&request, &[]);
    assert_eq!(allowed.code, 0, "{allowed:?}");
    let again = story.decide(&request, &[]);
    assert_eq!(again.code, 1, "{again:?}");
    assert!(again.stdout.contains("\"cause\":\"spent\""), "{again:?}");

    for text in [&blocked, &asked, &allowed, &again] {
        let file = story.place.file("document.json", &text.stdout);
        let checked = story.place.run(&["receipt", "verify", &file, "--trust", &story.trusted[0]]);
        assert_eq!(checked.code, 0, "{checked:?}");
        let replayed = story.decide(&request, &["--replay", &file]);
        assert_eq!(replayed.code, 0, "{replayed:?}");
    }
    let checked = story.place.run(&["receipt", "verify", &approval, "--trust", &story.trusted[1]]);
    assert_eq!(checked.code, 0, "{checked:?}");
}

#[test]
fn a_changed_argument_voids_approval_and_replay() {
    let story = Story::new();
    let request = example("request.json");
    story.place.run(&["verify", &project_file("examples/sort.json")]);
    let asked = story.decide(&request, &[]);
    let decision = story.place.file("decision.json", &asked.stdout);
    story.place.run(&["decision", "approve", "--yes", &decision, "--key", "reviewer", "--note", "checked"]);
    let text = std::fs::read_to_string(&request).unwrap();
    let other = story.place.file(
        "other.json",
        text.replace("\"environment\": \"production\", \"source\"", "\"environment\": \"staging\", \"source\""),
    );
    assert_eq!(story.decide(&other, &[]).code, 1);
    assert_eq!(story.decide(&other, &["--replay", &decision]).code, 1);
    let forged =
        story.place.file("forged.json", asked.stdout.replace("safe_to_execute\":false", "safe_to_execute\":true"));
    let checked = story.place.run(&["receipt", "verify", &forged]);
    assert_eq!(checked.code, 1, "{checked:?}");
    assert_eq!(story.place.run(&["decision", "approve", "--yes", &forged, "--key", "reviewer", "--note", "x"]).code, 2);
}

#[test]
fn only_a_trusted_signers_receipt_replays_as_the_same() {
    let story = Story::new();
    let request = example("request.json");
    let blocked = story.decide(&request, &[]).stdout;
    let policy = &story.policy;
    let replay = |text: &str, trust: &[&str]| {
        let file = story.place.file("replayed.json", text);
        story.place.run(&[&["decide", &request, "--policy", policy, "--replay", &file], trust].concat())
    };
    let [issuer, reviewer] = &story.trusted;
    let same = replay(&blocked, &["--trust", issuer]);
    assert_eq!(same.code, 0, "{same:?}");
    assert!(same.stdout.starts_with("same") && same.stdout.contains("signed by default (your key)"), "{same:?}");
    // Without `--trust`, receipts of own keys count.
    assert_eq!(replay(&blocked, &[]).code, 0);
    let elsewhere = Story { policy: policy.clone(), ..Story::new() }.decide(&request, &[]).stdout;
    let unknown = replay(&elsewhere, &[]);
    assert!(unknown.code == 1 && unknown.stdout.starts_with("untrusted"), "{unknown:?}");
    let stranger = replay(&blocked, &["--trust", reviewer]);
    assert!(stranger.code == 1 && stranger.stdout.starts_with("untrusted"), "{stranger:?}");
    let id = blocked.split_once("\"decision_id\":\"").and_then(|(_, rest)| rest.get(..8)).unwrap();
    let other = if id == "00000000" { "11111111" } else { "00000000" };
    let tampered = replay(&blocked.replacen(id, other, 1), &["--trust", issuer]);
    assert!(tampered.code == 1 && tampered.stdout.starts_with("invalid"), "{tampered:?}");
    let Json::Object(mut document) = Json::parse(blocked.as_bytes()).unwrap() else { panic!("{blocked}") };
    document.remove("signature");
    let unsigned = replay(&Json::Object(document).to_text(), &["--trust", issuer]);
    assert!(unsigned.code == 2 && unsigned.stdout.starts_with("undecidable"), "{unsigned:?}");
}

#[test]
fn a_retry_is_admitted_only_when_its_conditions_hold() {
    let story = Story::new();
    let request = example("request.json");
    let blocked = story.place.file("blocked.json", &story.decide(&request, &[]).stdout);
    let too_soon = story.decide(&request, &["--resume", &blocked]);
    assert!(too_soon.code == 1 && too_soon.stdout.starts_with("not admitted"), "{too_soon:?}");
}

#[test]
fn bad_input_is_never_an_allow() {
    let story = Story::new();
    let request = std::fs::read_to_string(example("request.json")).unwrap();
    for (name, text) in [
        ("cut", request[..request.len() / 2].to_owned()),
        ("deep", "[".repeat(10_000)),
        ("class", request.replace("system_change", "sistem_change")),
        ("type", request.replace("\"taint\": []", "\"taint\": 7")),
        ("unknown", request.replace("\"taint\"", "\"taints\"")),
    ] {
        let file = story.place.file("bad.json", text);
        let done = story.decide(&file, &[]);
        assert!(matches!(done.code, 1 | 2), "{name}: {done:?}");
        assert!(!done.stdout.contains("\"safe_to_execute\":true"), "{name}: {done:?}");
    }
    let policy = std::fs::read_to_string(example("policy.yaml")).unwrap();
    let policy = policy.replace("../sort.json", &project_file("examples/sort.json"));
    let typo = story.place.file("typo.yaml", policy.replace("taint.exists", "taimt.exists"));
    let done = story.place.run(&["decide", &example("request.json"), "--policy", &typo]);
    assert!(done.code == 2 && done.stderr.contains("taint") && done.stderr.contains('^'), "{done:?}");
}
