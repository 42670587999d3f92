//! What is refused, and what is forwarded.

use proofmark_guard::{Kind, Message, Sender};
use proofmark_receipt::Json;
use proofmark_receipt::json::MAX_NODES;
use proptest::prelude::*;

fn read(line: &[u8]) -> Result<Message, String> {
    Message::read(line, Sender::Client).map_err(|error| error.reason)
}

/// Calls of a tool that is not allowed, as lines that some real server takes for such a call; each byte is a character.
const SMUGGLED: &str = include_str!("../smuggled.json");

#[test]
fn what_two_programs_could_read_differently_is_refused() {
    let lines = Json::parse(SMUGGLED.as_bytes()).unwrap();
    for line in lines.as_array().unwrap() {
        let text = |name: &str| line.as_object().unwrap().get(name).unwrap().as_str().unwrap();
        let bytes: Vec<u8> = text("line").chars().map(|letter| u8::try_from(u32::from(letter)).unwrap()).collect();
        match read(&bytes) {
            Err(_) => {}
            // Every reader takes these alike: what is forwarded is one line, and one message.
            Ok(message) => {
                assert!(!message.text.contains(['\r', '\n']), "{}", text("why"));
                assert_eq!(read(message.text.as_bytes()).unwrap().body, message.body, "{}", text("why"));
            }
        }
    }
}

#[test]
fn a_refusal_names_the_id_that_could_be_read() {
    let refused = Message::read(br#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, Sender::Client).unwrap_err();
    assert_eq!((refused.code, refused.id.unwrap().as_json()), (-32_600, "\"a\""));
    let refused = Message::read(b"{", Sender::Client).unwrap_err();
    assert_eq!((refused.code, refused.id), (-32_700, None));
}

#[test]
fn what_was_judged_is_forwarded_token_by_token() {
    let line = "\t{ \"jsonrpc\" :\r\"2.0\",\"id\":  7 , \"method\":\"tools\\u002fcall\",\"params\":{\"name\":\"x\",\"arguments\":\
                {\"n\":1.0,\"big\":12345678901234567890,\"t\":\" a \\\" b\\\\\",\"l\":\"\u{2028}\"}}}\r\n";
    let message = read(line.as_bytes()).unwrap();
    assert_eq!(
        message.text,
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools\\u002fcall\",\"params\":{\"name\":\"x\",\"arguments\":\
         {\"n\":1.0,\"big\":12345678901234567890,\"t\":\" a \\\" b\\\\\",\"l\":\"\\u2028\"}}}"
    );
    assert!(matches!(message.kind, Kind::Request { method, .. } if method == "tools/call"));
}

#[test]
fn a_message_has_a_limited_number_of_values() {
    let call = |values: usize| {
        let list = vec!["0"; values].join(",");
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"x","arguments":{{"a":[{list}]}}}}}}"#
        )
    };
    // The message itself, and what the list is in.
    let others = 8;
    assert!(read(call(MAX_NODES - others).as_bytes()).is_ok());
    let refused = read(call(MAX_NODES - others + 1).as_bytes()).unwrap_err();
    assert_eq!(refused.split(" at ").next(), Some("more than 524288 values"));
}

#[test]
fn a_message_to_this_program_is_read_as_strictly_but_for_names_that_only_another_program_could_mix_up() {
    let limits = proofmark_receipt::json::Limits { max_bytes: 200, max_depth: 8, ..Default::default() };
    let own = |line: &str| Message::read_own(line, limits);
    let call = |more: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"x","arguments":{{{more}}}}}}}"#)
    };
    let files = call(r#""a.py":1,"A.py":2"#);
    assert!(own(&files).is_ok() && Message::read(files.as_str(), Sender::Client).is_err());
    for refused in [
        &call(r#""a":1,"a":2"#),
        &call(&r#""a":{"#.repeat(10)),
        &call(&format!(r#""a":"{}""#, "a".repeat(200))),
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","Method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"Name":"x"}}"#,
        r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
    ] {
        assert!(own(refused).is_err(), "{refused}");
    }
}

#[test]
fn ids_of_two_types_differ() {
    let id = |line: &str| match Message::read(line.as_bytes(), Sender::Server).unwrap().kind {
        Kind::Answer { id } => id,
        other => panic!("{other:?}"),
    };
    let (number, text) =
        (id(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#), id(r#"{"jsonrpc":"2.0","id":"7","result":{}}"#));
    assert_ne!(number, text);
}

#[test]
fn a_server_may_add_members_to_its_messages() {
    let line = br#"{"jsonrpc":"2.0","id":7,"result":{},"took":3}"#;
    assert!(Message::read(line, Sender::Server).is_ok());
    assert!(Message::read(br#"{"jsonrpc":"2.0","id":7,"result":{},"Result":{}}"#, Sender::Server).is_err());
}

fn json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        ".*".prop_map(Json::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Json::from),
            prop::collection::btree_map("[a-z]{0,6}", inner, 0..6).prop_map(|members| {
                let mut object = proofmark_receipt::Object::new();
                members.into_iter().for_each(|(name, value)| drop(object.insert(name, value)));
                Json::from(object)
            }),
        ]
    })
}

proptest! {
    /// White space between tokens is dropped, and nothing else.
    #[test]
    fn forwarding_keeps_the_document(arguments in json(), space in "[ \t\r\n]{0,3}") {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{{"value":{}}}}}"#, arguments.to_text());
        let mut spaced = String::new();
        let mut quoted = false;
        let mut escaped = false;
        for letter in text.chars() {
            if !quoted && ",:{}[]".contains(letter) { spaced.push_str(&space); }
            spaced.push(letter);
            if !quoted && ",:{}[]".contains(letter) { spaced.push_str(&space); }
            if letter == '"' && !escaped { quoted = !quoted; }
            escaped = quoted && letter == '\\' && !escaped;
        }
        let message = read(spaced.as_bytes()).unwrap();
        prop_assert_eq!(&message.text, &text.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029"));
        prop_assert_eq!(Json::Object(message.body), Json::parse(text.as_bytes()).unwrap());
    }

    #[test]
    fn nothing_panics(line in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Message::read(line.as_slice(), Sender::Client);
        let _ = Message::read(line.as_slice(), Sender::Server);
    }
}
