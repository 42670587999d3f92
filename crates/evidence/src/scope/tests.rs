//! What a grant reaches, and what it does not.

use super::*;

fn json(text: &str) -> Json {
    Json::parse(text.as_bytes()).unwrap()
}

fn occasion(action: &Json) -> Occasion<'_> {
    Occasion { action, agent: Some("bot"), environment: None, account: None, project: None, run: Some("r1") }
}

const PAY: &str =
    r#"{"tool": "pay", "server": "bank", "amount": 20, "args": {"amount": 20, "to": "ann", "memo": {"a": 1}}}"#;

fn reaches(wanted: &WantedScope, other: &str) -> Result<(), NotCovered> {
    let (first, other) = (json(PAY), json(other));
    let scope = Scope::of(wanted, &occasion(&first)).unwrap();
    let again = Scope::read(&scope.to_json()).unwrap();
    assert_eq!(again, scope, "what is signed is what was meant");
    again.reaches(&occasion(&first)).unwrap();
    again.reaches(&occasion(&other))
}

#[test]
fn what_a_pattern_does_not_name_has_to_be_the_same() {
    let wanted = WantedScope::Pattern(vec![Free::at("args.amount", Bound::AtMost("600".to_owned()))]);
    let reaches = |other: &str| reaches(&wanted, other).is_ok();
    assert!(reaches(&PAY.replace("20", "600")), "the amount that follows from the argument is bounded as it is");
    assert!(reaches(&PAY.replace("20", "0.5")));
    for other in [
        PAY.replace("20", "601"),
        PAY.replace("20", "600.0000000000000001"),
        PAY.replace("20", "-20"),
        PAY.replace("20", "\"20\""),
        PAY.replacen("20", "601", 1),
        PAY.replace("ann", "eve"),
        PAY.replace("\"a\": 1", "\"a\": 2"),
        PAY.replace("\"to\"", "\"urgent\": true, \"to\""),
        PAY.replace("\"to\": \"ann\",", ""),
        PAY.replace("bank", "evil"),
        PAY.replace("\"pay\"", "\"pay_all\""),
        PAY.replace("\"tool\"", "\"definition\": \"x\", \"tool\""),
        PAY.replace(r#""args": {"amount": 20, "#, r#""args": {"#),
    ] {
        assert!(!reaches(&other), "{other}");
    }
}

#[test]
fn a_session_frees_the_arguments_and_nothing_else() {
    let reaches = |other: &str| reaches(&WantedScope::Session, other);
    assert!(reaches(r#"{"tool": "pay", "server": "bank", "target": "x", "args": [1]}"#).is_ok());
    for other in [
        r#"{"tool": "pay", "server": "evil"}"#,
        r#"{"tool": "pay"}"#,
        r#"{"tool": "pay", "server": "bank", "via": "shell"}"#,
    ] {
        assert_eq!(reaches(other), Err(NotCovered::Action), "{other}");
    }
    let action = json(PAY);
    let scope = Scope::of(&WantedScope::Session, &occasion(&action)).unwrap();
    for run in [Some("r2"), None] {
        assert_eq!(scope.reaches(&Occasion { run, ..occasion(&action) }), Err(NotCovered::Session));
    }
    assert_eq!(scope.reaches(&Occasion { project: Some("p"), ..occasion(&action) }), Err(NotCovered::Action));
}

#[test]
fn a_prefix_ends_with_a_separator_and_nothing_steps_out_of_it() {
    let below = |text: &str| Bound::Prefix("/srv/app/".to_owned()).fits(Some(&Json::from(text)));
    assert!(below("/srv/app/a/b-1.txt") && below("/srv/app/ä"));
    for text in [
        "/srv/app",
        "/srv/apple",
        "/srv/app/../etc/passwd",
        "/srv/app/a/./b",
        "/srv/app/%2e%2e/x",
        "/srv/app/..\\x",
        "/srv/app/x; rm -rf ~",
        "/srv/app/x$(id)",
        "/srv/app/x\n",
        "cat /srv/app/x",
    ] {
        assert!(!below(text), "{text:?}");
    }
    let paths = |text: &str| Bound::Prefix("/srv/app/".to_owned()).fits(Some(&json(text)));
    assert!(paths(r#"["/srv/app/a", "/srv/app/b"]"#));
    assert!(!paths(r#"["/srv/app/a", "/etc/b"]"#) && !paths("[]") && !paths(r#"[["/srv/app/a"]]"#));
    for prefix in ["/", "https://", "/srv/app", "", "/srv/../", "//"] {
        assert!(Bound::Prefix(prefix.to_owned()).check().is_err(), "{prefix}");
    }
    for most in ["-1", "x", "", "1e99999"] {
        assert!(Bound::AtMost(most.to_owned()).check().is_err(), "{most}");
    }
}

#[test]
fn only_arguments_of_the_action_are_freed_each_once() {
    let action = json(PAY);
    let of = |free: &[(&str, Bound)]| {
        let free = free.iter().map(|(at, bound)| Free::at(at, bound.clone())).collect();
        Scope::of(&WantedScope::Pattern(free), &occasion(&action))
    };
    assert!(matches!(of(&[("tool", Bound::Any)]), Err(ScopeError::NoArgument(_))));
    assert!(matches!(of(&[("args.nothing", Bound::Any)]), Err(ScopeError::NoArgument(_))));
    assert!(matches!(of(&[("args", Bound::Any), ("args.to", Bound::Any)]), Err(ScopeError::Twice(_))));
    assert!(matches!(of(&[("args.amount", Bound::AtMost("19".to_owned()))]), Err(ScopeError::OtherValue { .. })));
    let nobody = Occasion { agent: None, ..occasion(&action) };
    assert_eq!(Scope::of(&WantedScope::Pattern(Vec::new()), &nobody), Err(ScopeError::NoAgent));
    let nowhere = Occasion { run: None, ..occasion(&action) };
    assert_eq!(Scope::of(&WantedScope::Session, &nowhere), Err(ScopeError::NoSession));
}

#[test]
fn a_scope_of_another_form_is_not_read() {
    let action = json(PAY);
    let free = vec![Free::at("args.to", Bound::Any)];
    let written = Scope::of(&WantedScope::Pattern(free), &occasion(&action)).unwrap().to_json().to_text();
    assert!(Scope::read(&json(&written)).is_some());
    for (from, to) in [
        (r#""kind":"pattern""#, r#""kind":"all""#),
        (r#""any":true"#, r#""any":false"#),
        (r#""any":true"#, r#""any":true,"prefix":"a/""#),
        (r#""any":true"#, r#""most":"1""#),
        (r#"["args","to"]"#, r#"["tool"]"#),
        (r#""tool":"pay""#, r#""tool":"pay","until":"x""#),
        (r#""project":null,"#, ""),
    ] {
        let changed = written.replace(from, to);
        assert_ne!(changed, written, "{from}");
        assert!(Scope::read(&json(&changed)).is_none(), "{changed}");
    }
}
