//! Reviews of others, over HTTP and MCP: stored, collected in one receipt, and counted by a rule.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::Command;

use proofmark_receipt::{
    Detail, Draft, Hashes, Json, Receipt, ReceiptId, Results, Sha256Digest, SigningKey, Status, Timestamp, Verdict,
    object,
};
use proofmark_testing::Home;

use crate::client::{DECISIONS, text};
use crate::log::file;
use crate::server::{PROOFMARK, Server, keys_file, new_key, serve_by};
use crate::shares::{mcp, session};

const QUORUMS: &str = "POST /v1/quorums HTTP/1.1";
const RECEIPTS: &str = "POST /v1/receipts HTTP/1.1";
const WORK: &str = "the work";
const SUITE: &str = r#"{"output": {"content": "def sort_list(xs):\n    return sorted(xs)\n"}, "verification": {"kind": "test_suite", "language": "python",
    "mode": "call", "entrypoint": "sort_list", "tests": [{"name": "sorts", "input": [[2, 1]], "expected_output": "[1, 2]"}]}}"#;

fn key(seed: u8) -> SigningKey {
    SigningKey::from_seed([seed; 32])
}

/// A review of the work, as of now.
fn review(seed: u8, status: Status) -> Receipt {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let draft = Draft {
        receipt_id: ReceiptId::from_random_bytes([seed; 16]),
        verified_at: Timestamp::from_unix_millis(i64::try_from(now.as_millis()).unwrap()),
        tier: 0,
        verdict: if status == Status::Pass { Verdict::Pass } else { Verdict::Fail },
        task: None,
        results: Results::from_details(vec![Detail::new("one", status)]),
        hashes: Hashes {
            specification: Sha256Digest::of(b"specification"),
            output: Sha256Digest::of(WORK.as_bytes()),
            tests: Some(Sha256Digest::of(b"tests")),
        },
        metadata: object! { "structural": true },
    };
    draft.sign(&key(seed)).unwrap()
}

fn json(text: &str) -> Json {
    Json::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A server by whose policy two reviewers have to agree on what is published.
fn reviewed(home: &Home) -> Server {
    let lines: String = [(11, "ann"), (12, "bob")]
        .iter()
        .map(|(seed, name)| format!("reviewer {name} {}\\n", key(*seed).signer()))
        .collect();
    let rule = format!(
        "receipt: {{any_suite: true, output: 'sha256(action.args.text)', max_age: 1h, quorum: {{of: \"{lines}\", at_least: 2}}}}"
    );
    let policy =
        format!("version: 1\nboundaries: [{{id: publish, match: {{tool: publish}}, require: [{{{rule}}}]}}]\n");
    Server::begin(serve_by(&file(home, "reviewed.yaml", &policy), home, &[]))
}

/// The outcome of a decision, and the cause of its first reason.
fn decided(server: &Server) -> (String, Option<String>) {
    let action = object! { "tool": "publish", "class": "upload", "args": object! { "text": WORK } };
    let (status, decision) = server.send(DECISIONS, &Json::from(object! { "action": action }).to_text());
    assert_eq!(status, 200, "{decision}");
    let decision = json(&decision);
    let reasons = decision.as_object().unwrap().get("reasons").and_then(Json::as_array).unwrap();
    let cause = reasons.first().and_then(|reason| reason.as_object()?.get("cause")?.as_str().map(str::to_owned));
    (text(&decision, "outcome").to_owned(), cause)
}

/// The code of a problem.
fn code(problem: &str) -> String {
    text(json(problem).as_object().unwrap().get("error").unwrap(), "code").to_owned()
}

#[test]
fn reviews_are_stored_collected_and_counted_again_by_a_rule() {
    let home = Home::new();
    let server = reviewed(&home);
    let reviews = [review(11, Status::Pass), review(12, Status::Pass), review(13, Status::Fail)];
    let [ann, bob, eve] = reviews.each_ref().map(|review| review.receipt_id().to_string());
    let blocked = |cause: &str| ("replan_required".to_owned(), Some(cause.to_owned()));
    assert_eq!(decided(&server), blocked("absent"));
    let ask = |reviews: &[&str], threshold: u64| {
        let reviews: Vec<Json> = reviews.iter().map(|id| Json::from(*id)).collect();
        server.send(QUORUMS, &Json::from(object! { "reviews": reviews, "threshold": threshold }).to_text())
    };
    let (status, problem) = ask(&[&ann, &bob], 2);
    assert_eq!((status, code(&problem).as_str()), (422, "no_review"), "{problem}");
    let brought: Vec<Json> = reviews.iter().map(|review| review.document().clone()).collect();
    let (status, kept) = server.send(RECEIPTS, &Json::from(object! { "receipts": brought }).to_text());
    assert!(status == 200 && kept.matches(r#""kept":true"#).count() == 3, "{kept}");
    // Reviews alone are not a quorum.
    assert_eq!(decided(&server), blocked("other_kind"));
    for (ids, threshold, refused) in
        [(vec![&*ann], 1, "no_quorum"), (vec![&*ann, &bob, &eve], 1, "no_quorum"), (vec![&*ann, &ann], 2, "no_quorum")]
    {
        let (status, problem) = ask(&ids, threshold);
        assert_eq!((status, code(&problem).as_str()), (422, refused), "{problem}");
    }
    for body in [
        r#"{"reviews": [], "threshold": 2, "more": 1}"#.to_owned(),
        r#"{"reviews": ["x"], "threshold": 2}"#.to_owned(),
        format!(r#"{{"reviews": ["{ann}", "{bob}"], "threshold": 2, "agree_on": "all"}}"#),
        format!(r#"{{"reviews": ["{ann}", "{bob}"], "threshold": 2, "challenge": "0"}}"#),
        "[]".to_owned(),
    ] {
        assert_eq!(server.send(QUORUMS, &body).0, 400, "{body}");
    }
    // One that too few of the rule's reviewers agree in: not even looked for, as it claims no more.
    let (status, few) = ask(&[&ann, &eve], 2);
    assert_eq!(status, 200, "{few}");
    assert_eq!(decided(&server).0, "replan_required");
    let (status, collected) = ask(&[&ann, &bob, &eve], 2);
    let collected = json(&collected);
    let part = |name: &str| collected.as_object().unwrap().get(name).unwrap();
    assert_eq!((status, text(part("receipt"), "verdict").as_str()), (200, "pass"));
    assert_eq!(part("members").as_array().unwrap().len(), 3);
    assert_eq!(decided(&server), ("allow".to_owned(), None));

    // The same by MCP.
    let begun = session(&server, "");
    let call = |arguments: Json| {
        let params = object! { "name": "collect_reviews", "arguments": arguments };
        let call = object! { "jsonrpc": "2.0", "id": 1_u64, "method": "tools/call", "params": params };
        mcp(&server, "", &format!("\r\n{begun}"), &Json::from(call).to_text()).1
    };
    let ids = |ids: &[&str]| ids.iter().map(|id| Json::from(*id)).collect::<Vec<_>>();
    let signer = key(11).signer().to_string();
    let with_signer = Json::from(object! { "receipt_id": &*ann, "signer": signer });
    let reviews = vec![with_signer, Json::from(&*bob)];
    let said = call(object! { "reviews": reviews, "threshold": 2_u64, "agree_on": "outcomes", "task_id": "t" }.into());
    assert!(said.contains("proofmark-quorum/1") && !said.contains(r#""isError":true"#), "{said}");
    let refused = call(object! { "reviews": ids(&[&ann]), "threshold": 2_u64 }.into());
    assert!(refused.contains(r#""isError":true"#) && refused.contains("1 reviews, expected 2 to 64"), "{refused}");
}

#[test]
fn a_quorum_that_a_stranger_brought_is_not_looked_for() {
    let home = Home::new();
    let server = reviewed(&home);
    let reviews = [review(11, Status::Pass), review(12, Status::Pass)];
    let members: Vec<_> = reviews.iter().map(|receipt| proofmark_quorum::Member { receipt, head: None }).collect();
    let composition = proofmark_quorum::Composition {
        members: &members,
        threshold: 2,
        agree_on: proofmark_quorum::AgreeOn::Verdict,
        challenge: None,
    };
    let id = ReceiptId::from_random_bytes([99; 16]);
    let quorum = composition.draft(id, reviews[0].verified_at().clone()).unwrap().sign(&key(77)).unwrap();
    let brought: Vec<Json> = reviews.iter().chain([&quorum]).map(|receipt| receipt.document().clone()).collect();
    let (status, kept) = server.send(RECEIPTS, &Json::from(object! { "receipts": brought }).to_text());
    assert!(status == 200 && kept.matches(r#""kept":true"#).count() == 3, "{kept}");
    assert_eq!(decided(&server), ("replan_required".to_owned(), Some("not_counted".to_owned())));
}

/// A server that answers one request with this body.
fn answers_once(body: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut read = BufReader::new(stream.try_clone().unwrap());
        let mut length = 0;
        loop {
            let mut line = String::new();
            read.read_line(&mut line).unwrap();
            match line.trim().to_lowercase().split_once("content-length: ") {
                Some((_, value)) => length = value.parse().unwrap(),
                None if line.trim().is_empty() => break,
                None => {}
            }
        }
        read.read_exact(&mut vec![0; length]).unwrap();
        let head = format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
        stream.write_all((head + &body).as_bytes()).unwrap();
    });
    url
}

#[test]
fn other_servers_verify_the_work_and_what_they_disagree_on_is_named() {
    let (home, one, two) = (Home::new(), Home::new(), Home::new());
    let (token, entry) = new_key("quorum", "agent", "acme");
    let keys = keys_file(two.path(), &[&entry]);
    let servers = [Server::start(&one, &[]), Server::start(&two, &["--api-keys", &keys])];
    let [first, second] = servers.each_ref().map(|server| format!("http://{}", server.address));
    let request = file(&home, "request.json", SUITE);
    let secrets = file(&home, "peers.keys", &format!("# theirs\n{second} {token}\n"));
    let ask = |peers: &[&str], threshold: &str, more: &[&str]| {
        let mut quorum = Command::new(PROOFMARK);
        quorum.args(["quorum", "--threshold", threshold, "--peers", &peers.join(",")]).args(more);
        let done = quorum.arg("--request").arg(&request).envs(home.variables()).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (done.status.code().unwrap(), text(done.stdout), text(done.stderr))
    };
    let with_keys = ["--peer-keys", secrets.to_str().unwrap()];
    let (code, collected, said) = ask(&[&first, &second], "2", &with_keys);
    assert_eq!((code, collected.lines().count()), (0, 3), "{said}");
    assert!(
        said.contains(&format!("{first}: pass, 1 of 1")) && said.contains(&format!("{second}: pass, 1 of 1")),
        "{said}"
    );
    assert!(!said.contains("disagree") && !said.contains(&token), "{said}");

    // Who does not answer is named, and does not vote.
    let (code, none, said) = ask(&[&first, &second], "2", &[]);
    assert!(
        code == 2 && none.is_empty() && said.contains(&format!("failed to ask `{second}`: the answer is 401")),
        "{said}"
    );
    let gone = "http://127.0.0.1:9";
    let (code, _, said) = ask(&[&first, &second, gone], "2", &with_keys);
    assert!(code == 0 && said.contains(&format!("failed to ask `{gone}`")), "{said}");

    // One that found otherwise, and one that answers for other work.
    let ours = Receipt::parse(collected.lines().nth(1).unwrap().as_bytes()).unwrap();
    let draft = Draft {
        receipt_id: ReceiptId::from_random_bytes([7; 16]),
        verified_at: ours.verified_at().clone(),
        tier: 0,
        verdict: Verdict::Fail,
        task: None,
        results: Results::from_details(vec![Detail::new("sorts", Status::Fail), Detail::new("own", Status::Pass)]),
        hashes: *ours.hashes(),
        metadata: object! { "structural": true },
    };
    let partial = Draft { verdict: Verdict::Partial, ..draft };
    let other = answers_once(partial.sign(&key(21)).unwrap().to_text());
    let (code, _, said) = ask(&[&first, &second, &other], "2", &with_keys);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains(&format!("they disagree on `sorts`: fail ({other}), pass ({first}, {second})")), "{said}");
    assert!(said.contains(&format!("they disagree on `own`: not there ({first}, {second}), pass ({other})")), "{said}");
    let liar = answers_once(review(22, Status::Pass).to_text());
    let (code, _, said) = ask(&[&first, &liar], "2", &with_keys[..0]);
    assert!(
        code == 2 && said.contains(&format!("failed to use the receipt of `{liar}`: it is of other work")),
        "{said}"
    );
    let (code, _, said) = ask(&["ftp://x"], "2", &[]);
    assert!(code == 2 && said.contains("it is not a URL"), "{said}");
}
