//! Facts that follow from an action: its commands, the addresses that it names, and what a policy takes from its arguments.

use proofmark_boundary::{Outcome, Request, ToolCall};
use proofmark_receipt::{Json, Object, object};

use crate::support::*;

fn outcome(rule: &str, action: Object) -> Outcome {
    let text = format!(
        "version: 1\nboundaries:\n  - id: b\n    match: {{surface: \"*\"}}\n    require:\n      - fact: '{rule}'\n"
    );
    let policy = policy(&text);
    let mut whole = object! { "tool": "t", "class": "system_change", "boundary": "action_execute", "surface": "mcp" };
    for (name, value) in action.iter() {
        whole.insert(name, value.clone());
    }
    let request = Request::from_facts(object! { "action": whole }).unwrap();
    decided(&policy, &request, Vec::new()).outcome()
}

#[track_caller]
fn allows(rule: &str, action: Object) {
    assert_eq!(outcome(rule, action), Outcome::Allow, "{rule}");
}

#[track_caller]
fn blocks(rule: &str, action: Object) {
    assert_ne!(outcome(rule, action), Outcome::Allow, "{rule}");
}

#[test]
fn nobody_says_which_commands_an_action_has() {
    let said = || object! { "args": object! {}, "commands": Vec::<Json>::new(), "hosts": Vec::<Json>::new() };
    blocks("action.commands.all(c, c.program == \"ls\")", said());
    let action = object! { "surface": "host", "tool": "shell", "args": object! { "command": "curl x" }, "commands": Vec::<Json>::new() };
    blocks("action.commands.all(c, c.program == \"ls\")", action);
    // A host runs its argument, whatever else the action says.
    let action =
        object! { "surface": "host", "tool": "shell", "args": object! { "command": "curl x" }, "command": "ls" };
    blocks("action.commands.all(c, c.program == \"ls\")", action);
}

#[test]
fn a_command_that_is_missing_is_not_known() {
    let shell = |args: Object| object! { "surface": "host", "tool": "shell", "args": args };
    allows("action.commands.all(c, !c.opaque)", shell(object! { "command": "ls" }));
    allows(
        "action.commands.exists(c, c.program == \"ls\")",
        shell(object! { "command": vec![Json::from("ls"), Json::from("a b")] }),
    );
    for args in [object! {}, object! { "command": 5_u64 }, object! { "command": vec![Json::from(1_u64)] }] {
        blocks("action.commands.all(c, !c.opaque)", shell(args));
    }
    blocks("action.commands.all(c, !c.opaque)", object! { "args": object! { "command": "ls" } });
}

#[test]
fn hosts_are_those_that_every_program_reads() {
    let args = |url: &str| object! { "args": object! { "url": url } };
    let is_known = "action.hosts.all(h, h == \"example.org\") && size(action.hosts) == 1";
    for url in
        ["https://example.org/a", "HTTPS://EXAMPLE.org:443/a?b#c", "see https://example.org.", "https://example.org./a"]
    {
        allows(is_known, args(url));
    }
    for url in [
        "https://evil.org/https://example.org",
        "https://example.org@evil.org/",
        "https://evil.org\\@example.org/",
        "https:\\\\evil.org",
        "https:evil.org",
        "https:/evil.org",
        "//evil.org/a",
        "\\\\evil.org\\a",
        "https://example.org\t.evil.org/",
        "ht\ttps://evil.org",
        "https:/\t/evil.org",
        "https://example.org%2eevil.org/",
        "https://2130706433/",
        "https://0x7f.1/",
        "https://ｅxample.org/",
        "https:///evil.org",
        "http://example.org'@evil.org/",
        "http://example.org @evil.org/",
        "http\t://evil.org/",
        " http:evil.org",
        "\u{1}http:evil.org",
        "ht\ttp:/evil.org",
        "\\/evil.org",
        "/\t/evil.org",
        " //evil.org",
        "see https://example.org and http://evil.org",
        "https://example.org:80@evil.org/",
        "javascript://example.org/%0aalert(1)//evil",
    ] {
        blocks(is_known, args(url));
    }
    allows("action.hosts == []", object! { "args": object! { "note": "at 12:30, a: b" } });
    allows(
        "action.urls.exists(u, u.scheme == \"http\" && u.host == \"a.org\" && u.port == \"8080\")",
        args("http://a.org:8080/"),
    );
}

fn action(entry: &str, args: Object) -> Object {
    let text = format!("version: 1\ntools:\n  - {entry}\nboundaries:\n  - {{id: b, match: {{tool: x}}}}\n");
    let policy = policy(&text);
    let args = Json::Object(args);
    policy.action_of(&ToolCall { tool: "t", server: Some("s"), args: &args, said_to_change: false })
}

#[test]
fn a_text_is_an_amount_where_the_policy_knows_its_currency() {
    let amount = |entry: &str, args: Object| {
        let action = action(&format!("{{tool: t, class: generic, amount: amount{entry}}}"), args);
        (action.get("amount").map(Json::to_text), action.get("currency").map(Json::to_text))
    };
    let pair = |amount: &str, currency: &str| (Some(amount.to_owned()), Some(format!("\"{currency}\"")));
    assert_eq!(amount("", object! { "amount": "10 EUR" }), (None, None));
    assert_eq!(amount("", object! { "amount": "10" }), (None, None));
    assert_eq!(amount(", currency: amount", object! { "amount": "-10.5 eur" }), pair("-10.5", "EUR"));
    assert_eq!(amount(", currency: code", object! { "amount": "10", "code": "usd" }), pair("10", "USD"));
    assert_eq!(amount(", currency: code", object! { "amount": 10_u64, "code": "usd" }), pair("10", "USD"));
    assert_eq!(amount(", currency: code", object! { "amount": "10 EUR", "code": "EUR" }), pair("10", "EUR"));
    // Of two currencies, nobody knows how much it is.
    assert_eq!(amount(", currency: code", object! { "amount": "10 EUR", "code": "USD" }).0, None);
    assert_eq!(amount(", currency: code", object! { "amount": "10 EUR" }).0, None);
}

#[test]
fn files_of_a_guarded_tool_are_named_in_one_way() {
    let paths = |path: Json| {
        let mut args = Object::new();
        args.insert("path", path);
        action("{tool: t, class: generic, paths: path}", args).get("paths").map(Json::to_text)
    };
    assert_eq!(paths(Json::from("/srv/a/./b")).as_deref(), Some("[\"/srv/a/b\"]"));
    assert_eq!(paths(Json::from(vec![Json::from("a/b"), Json::from("./c")])).as_deref(), Some("[\"a/b\",\"c\"]"));
    for path in ["../b", "/srv/a/../b", "file:///b", "/srv/%2e%2e/etc", "~/b", "a\\b"] {
        assert_eq!(paths(Json::from(path)), None, "{path}");
    }
}

#[test]
fn a_guarded_tool_has_commands_where_the_policy_says_so() {
    let entry = "{tool: t, class: system_change, command: cmd}";
    assert_eq!(action(entry, object! { "cmd": "ls" }).get("command").map(Json::to_text).as_deref(), Some("\"ls\""));
    assert_eq!(action(entry, object! {}).get("command").map(Json::to_text).as_deref(), Some("null"));
    allows("action.commands.all(c, c.program == \"ls\")", object! { "args": object! {}, "command": "ls -l" });
    blocks("action.commands.all(c, !c.opaque)", object! { "args": object! {}, "command": Json::Null });
}
