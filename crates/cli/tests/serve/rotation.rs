//! A server whose key is replaced, and two servers of one store: one installation, in which a person is one person.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use proofmark_receipt::Json;
use proofmark_testing::Home;

use crate::client::{GOOD, MAIL, code, listed, suite, text};
use crate::server::{PROOFMARK, Server, keys_file, new_key, serve_by};

fn run(home: &Home, arguments: &[&str]) -> (Option<i32>, String) {
    let done = Command::new(PROOFMARK).args(arguments).envs(home.variables()).output().unwrap();
    (done.status.code(), String::from_utf8([done.stdout, done.stderr].concat()).unwrap())
}

#[test]
fn one_reviewer_is_one_person_before_and_after_a_rotation_and_at_both_servers() {
    let home = Home::new();
    let [old, new] = ["default", "next"].map(|name| {
        run(&home, &["key", "new", name]);
        run(&home, &["key", "show", name, "--as", "signer-id"]).1.trim().to_owned()
    });
    let policy = home.path().join("policy.yaml");
    // Both keys are listed for both people, as it takes for approvals from before.
    let listing = ["ann", "bob"].map(|id| format!("'reviewer:{id}@{old}', 'reviewer:{id}@{new}'")).join(", ");
    let text_of_policy = format!(
        "version: 1\nboundaries:\n  - id: mail\n    match: {{tool: send_email}}\n    require: [{{approval: {{role: reviewer, count: 2}}}}]\nroles: {{reviewer: [{listing}]}}\n"
    );
    std::fs::write(&policy, text_of_policy).unwrap();
    let [(bot, bots), (ann, anns), (bob, bobs)] =
        [("bot", "agent"), ("ann", "reviewer"), ("bob", "reviewer")].map(|(id, role)| new_key(id, role, "acme"));
    let keys = keys_file(home.path(), &[&bots, &anns, &bobs]);
    let server = |more: &[&str]| Server::begin(serve_by(&policy, &home, &[&["--api-keys", &keys], more].concat()));
    let (first, second) = (server(&["--server-key", "next"]), server(&["--key", "next", "--server-key", "default"]));
    let asked = text(&first.post("/v1/decisions", &bot, MAIL).1, "decision_id");
    let review = |server: &Server, key: &str| {
        server.post(&format!("/v1/reviews/{asked}"), key, r#"{"verdict": "approve", "note": "read it"}"#)
    };
    let allowed = |server: &Server| text(&server.post("/v1/decisions", &bot, MAIL).1, "outcome") == "allow";
    let (status, approved) = review(&first, &ann);
    assert_eq!(status, 200, "{}", approved.to_text());
    let refused = |server: &Server| {
        let (status, again) = review(server, &ann);
        assert!(status >= 400 && !code(&again).is_empty(), "{}", again.to_text());
        assert!(!allowed(server), "one person has given both approvals");
    };
    refused(&second);
    let (_, receipt) = first.post("/v1/verifications", &bot, &suite(GOOD));
    drop((first, second));

    // A thief keeps the key.
    let stolen = home.path().join("stolen.pem");
    std::fs::copy(home.path().join("keys/default.pem"), &stolen).unwrap();
    std::fs::set_permissions(&stolen, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(run(&home, &["key", "end", "default"]).0, Some(0));
    let rotated = server(&["--key", "next", "--server-key", "default"]);
    refused(&rotated);
    let (status, approved) = review(&rotated, &bob);
    assert_eq!(status, 200, "{}", approved.to_text());
    assert!(allowed(&rotated), "what the older key signed for ann counts, with what the new one signed for bob");

    let (_, set) = rotated.get("/.well-known/jwks.json", "");
    let ends: Vec<_> = listed(&set, "keys").iter().map(|key| key.as_object().unwrap().contains("exp")).collect();
    assert_eq!(ends, [false, true], "{}", set.to_text());
    // With the set alone, elsewhere: what the older key signed before its end counts, and what is dated later does not.
    let file = |name: &str, content: &Json| {
        let path = home.path().join(name);
        std::fs::write(&path, content.to_text()).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (set, before) = (file("jwks.json", &set), file("before.json", &receipt));
    let work = home.path().join("work.json");
    std::fs::write(&work, suite(GOOD)).unwrap();
    let (_, after) = run(&home, &["verify", work.to_str().unwrap(), "--json", "--key", stolen.to_str().unwrap()]);
    let after = file("after.json", &Json::parse(after.trim().as_bytes()).unwrap());
    for (receipt, expected) in [(before, Some(0)), (after, Some(1))] {
        let (code, said) = run(&home, &["receipt", "verify", &receipt, "--trust", &set]);
        assert_eq!(code, expected, "{said}");
    }
}
