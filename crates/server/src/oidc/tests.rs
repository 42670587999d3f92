//! The rules on claims: what a file may say, and what its rules give.

use proofmark_receipt::document::{self, Format};
use proofmark_receipt::{Json, object};
use proptest::prelude::*;

use super::claim_map::ClaimMap;
use super::issuer::{IssuerUrl, IssuerUrlError};
use super::key_set::KeySet;
use super::unmapped::Unmapped;
use crate::keys::{ApiKeys, ReviewerEntry, Role, new_key};

const RULES: &str = "
version: 1
rules:
  - {claim: groups, has: agents, role: agent, tenant: acme}
  - {claim: groups, has: reviewers, role: reviewer, tenant: acme, holds: [lead]}
  - {claim: groups, has: finance, role: reviewer, tenant: acme, holds: [finance, lead]}
  - {claim: groups, has: any-reviewer, role: reviewer, tenant: acme}
  - {claim: groups, has: elsewhere, role: agent, tenant: other}
  - {claim: groups, has: payments, role: agent, tenant: acme, policy: payments}
  - {claim: [realm_access, roles], has: ops, and: [{claim: email_verified, is: true}], role: admin, tenant: acme}
  - {claim: scope, word: decide, role: agent-host, tenant_claim: org, tenants: [acme, 'team-*']}
";

fn map(text: &str) -> Result<ClaimMap, String> {
    let document = document::parse(text.as_bytes(), Format::Yaml).map_err(|error| error.to_string())?;
    ClaimMap::read(&document).map_err(|error| error.to_string())
}

/// The role, the tenant, the roles that are held and the policy, or why the holder gets nothing.
fn given(claims: &str) -> Result<String, Unmapped> {
    let claims = Json::parse(claims.as_bytes()).unwrap();
    let grant = map(RULES).unwrap().grant(claims.as_object().unwrap())?;
    let policy = grant.policy.map(|policy| format!(" by {policy}")).unwrap_or_default();
    Ok(format!("{} of {} {}{policy}", grant.role.as_str(), grant.tenant, grant.holds.join("+")))
}

#[test]
fn rules_give_what_they_say_and_all_that_apply_agree() {
    for (claims, wanted) in [
        (r#"{"groups": ["agents"]}"#, Ok("agent of acme ")),
        (r#"{"groups": "agents"}"#, Ok("agent of acme ")),
        (r#"{"groups": ["reviewers", "x"]}"#, Ok("reviewer of acme lead")),
        (r#"{"groups": ["reviewers", "finance"]}"#, Ok("reviewer of acme lead+finance")),
        (r#"{"groups": ["any-reviewer"]}"#, Ok("reviewer of acme ")),
        (r#"{"groups": ["any-reviewer", "finance"]}"#, Ok("reviewer of acme finance+lead")),
        (r#"{"groups": ["payments"]}"#, Ok("agent of acme  by payments")),
        (r#"{"realm_access": {"roles": ["ops"]}, "email_verified": true}"#, Ok("admin of acme ")),
        (r#"{"scope": "openid decide", "org": "team-7"}"#, Ok("agent-host of team-7 ")),
        (r#"{"scope": "decide", "org": "acme"}"#, Ok("agent-host of acme ")),
        (r#"{}"#, Err(Unmapped::NoRule)),
        (r#"{"groups": []}"#, Err(Unmapped::NoRule)),
        (r#"{"groups": ["AGENTS", "agents ", ["agents"], {"agents": 1}, 1, null]}"#, Err(Unmapped::NoRule)),
        (r#"{"groups": "agents reviewers"}"#, Err(Unmapped::NoRule)),
        (r#"{"groups": {"agents": true}}"#, Err(Unmapped::NoRule)),
        (r#"{"realm_access": {"roles": ["ops"]}}"#, Err(Unmapped::NoRule)),
        (r#"{"realm_access": {"roles": ["ops"]}, "email_verified": "true"}"#, Err(Unmapped::NoRule)),
        (r#"{"realm_access": "roles", "roles": ["ops"], "email_verified": true}"#, Err(Unmapped::NoRule)),
        (r#"{"scope": "undecided", "org": "acme"}"#, Err(Unmapped::NoRule)),
        (r#"{"groups": ["agents", "elsewhere"]}"#, Err(Unmapped::Tenants([0, 4]))),
        (r#"{"groups": ["agents", "reviewers"]}"#, Err(Unmapped::Roles([0, 1]))),
        (r#"{"groups": ["agents", "payments"]}"#, Err(Unmapped::Policies([0, 5]))),
        (r#"{"scope": "decide"}"#, Err(Unmapped::NoTenant(7))),
        (r#"{"scope": "decide", "org": ["acme"]}"#, Err(Unmapped::NoTenant(7))),
        (r#"{"scope": "decide", "org": "acme2"}"#, Err(Unmapped::OtherTenant(7))),
        (r#"{"scope": "decide", "org": "local"}"#, Err(Unmapped::OtherTenant(7))),
        (r#"{"scope": "decide", "org": "team-/../acme"}"#, Err(Unmapped::OtherTenant(7))),
        (r#"{"scope": "decide", "org": "other", "groups": ["agents"]}"#, Err(Unmapped::OtherTenant(7))),
    ] {
        assert_eq!(given(claims), wanted.map(str::to_owned), "{claims}");
    }
}

#[test]
fn files_that_could_be_understood_differently_are_refused() {
    const FULL: &str = "claim: groups, has: a, role: agent, tenant: acme";
    let long = "x".repeat(257);
    let many = format!("{{{FULL}}},").repeat(257);
    let rule = |rule: &str| format!("version: 1\nrules: [{{{rule}}}]");
    assert!(map(&rule(FULL)).is_ok());
    for (text, wanted) in [
        ("", "expected an object"),
        ("[]", "expected an object"),
        ("version: 1", "`rules`: missing field"),
        ("rules: []", "`version`: missing field"),
        ("version: 2\nrules: []", "`version`: unknown version"),
        ("version: 1\nrules: []", "`rules`: there are no rules"),
        ("version: 1\nrules: {}", "`rules`: expected an array"),
        ("version: 1\nrules: [agent]", "`rules[0]`: expected an object"),
        ("version: 1\nversion: 1\nrules: []", "duplicate key"),
        (&format!("version: 1\nrules: [{many}]"), "257 rules are too many"),
        (&format!("version: 1\ndefault: agent\nrules: [{{{FULL}}}]"), "`default`: unknown field"),
        (&rule(&format!("{FULL}, rolle: admin")), "`rules[0].rolle`: unknown field"),
        (&rule(&format!("{FULL}, has: b")), "duplicate key"),
        (&rule(&format!("{FULL}, is: b")), "one condition has one test"),
        (&rule(&format!("{FULL}, tenant_claim: org")), "says the same"),
        (&rule(&format!("{FULL}, tenants: [acme]")), "`tenants` belongs to `tenant_claim`"),
        (&rule(&format!("{FULL}, and: []")), "there are no conditions"),
        (&rule(&format!("{FULL}, and: [{{claim: b, is: c, role: admin}}]")), "`rules[0].and[0].role`: unknown field"),
        (&rule(&format!("{FULL}, holds: []")), "name 1 to 64 roles"),
        (&rule(&format!("{FULL}, policy: 'a b'")), "a b"),
        (&rule("claim: groups, has: a, tenant: acme"), "`rules[0].role`: missing field"),
        (&rule("claim: groups, has: a, role: agent"), "`rules[0].tenant`: missing field"),
        (&rule("has: a, role: agent, tenant: acme"), "`rules[0].claim`: missing field"),
        (&rule("claim: groups, role: agent, tenant: acme"), "`rules[0].has`: missing field"),
        (&rule("claim: groups, has: a, role: root, tenant: acme"), "unknown value `root`"),
        (&rule("claim: groups, has: a, role: agent, tenant: local"), "local"),
        (&rule("claim: groups, has: a, role: agent, tenant: 'a b'"), "`rules[0].tenant`"),
        (&rule("claim: groups, has: '', role: agent, tenant: acme"), "empty or too long"),
        (&rule(&format!("claim: groups, has: {long}, role: agent, tenant: acme")), "empty or too long"),
        (&rule("claim: groups, has: true, role: agent, tenant: acme"), "expected a string"),
        (&rule("claim: groups, is: 1, role: agent, tenant: acme"), "expected a string"),
        (&rule("claim: scope, word: 'a b', role: agent, tenant: acme"), "the word has a space"),
        (&rule("claim: [], has: a, role: agent, tenant: acme"), "there are no names"),
        (&rule("claim: [a, b, c, d, e], has: a, role: agent, tenant: acme"), "5 names are too many"),
        (&rule("claim: g, has: a, role: agent, tenant_claim: org"), "`rules[0].tenants`: missing field"),
        (&rule("claim: g, has: a, role: agent, tenant_claim: org, tenants: []"), "there are no tenants"),
        (&rule("claim: g, has: a, role: agent, tenant_claim: org, tenants: ['*']"), "`*` allows every tenant"),
        (&rule("claim: g, has: a, role: agent, tenant_claim: org, tenants: ['a*b']"), "`rules[0].tenants[0]`"),
        (&rule("claim: g, has: a, role: agent, tenant_claim: org, tenants: [local]"), "local"),
    ] {
        let error = map(text).unwrap_err();
        assert!(error.contains(wanted), "{text}: {error}");
    }
}

#[test]
fn rules_on_what_people_choose_are_suspicious() {
    let warnings =
        |rule: &str| map(&format!("version: 1\nrules: [{{{rule}, role: agent, tenant: acme}}]")).unwrap().warnings();
    assert_eq!(warnings("claim: email, is: ann@example.org").len(), 1);
    assert_eq!(warnings("claim: name, is: Ann, and: [{claim: email, is: ann@example.org}]").len(), 1);
    assert!(warnings("claim: email, is: ann@example.org, and: [{claim: email_verified, is: true}]").is_empty());
    assert_eq!(warnings("claim: iss, is: a, and: [{claim: email, is: ann@example.org}]").len(), 1);
    assert_eq!(warnings("claim: iss, is: a").len(), 1);
    assert!(warnings("claim: sub, is: ann").is_empty());
    let chosen = "claim: sub, is: ann, role: agent, tenant_claim: preferred_username, tenants: ['a*']";
    assert_eq!(map(&format!("version: 1\nrules: [{{{chosen}}}]")).unwrap().warnings().len(), 1);
}

#[test]
fn an_issuer_is_an_address_that_nobody_on_the_way_changes() {
    for url in
        ["https://login.example.org", "https://h/realms/a/", "https://h:8443", "http://127.0.0.1:9", "http://localhost"]
    {
        assert_eq!(url.parse::<IssuerUrl>().map(|url| url.as_str().to_owned()), Ok(url.to_owned()), "{url}");
    }
    for url in
        ["http://example.org", "http://localhost.example.org", "http://127.0.0.1.example.org", "http://169.254.169.254"]
    {
        assert_eq!(url.parse::<IssuerUrl>(), Err(IssuerUrlError::Plain), "{url}");
    }
    for url in [
        "",
        "login.example.org",
        "ftp://h",
        "https://",
        "https://u:p@h",
        "https://u@h",
        "https://h?x=1",
        "https://h/#a",
        "https://h/a b",
        "HTTPS://h",
        "file:///etc/passwd",
        "https://h/\u{e9}",
        "https://h\\@evil",
    ] {
        assert_eq!(url.parse::<IssuerUrl>(), Err(IssuerUrlError::Url), "{url}");
    }
    assert_eq!(format!("https://{}", "h".repeat(128)).parse::<IssuerUrl>(), Err(IssuerUrlError::TooLong));
}

#[test]
fn keys_that_no_token_is_signed_with_are_left_out() {
    let (x, y) = ("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU");
    let number = |text: &str| {
        KeySet::read(&Json::parse(format!(r#"{{"keys": [{text}]}}"#).as_bytes()).unwrap()).map(|set| set.len())
    };
    let ed = format!(r#""kty": "OKP", "crv": "Ed25519", "x": "{x}""#);
    for (key, is_used) in [
        (format!(r#"{{"kid": "a", {ed}}}"#), true),
        (format!(r#"{{"kid": "a", "use": "sig", "alg": "EdDSA", "key_ops": ["verify"], {ed}}}"#), true),
        (format!(r#"{{"kid": "a", "kty": "EC", "crv": "P-256", "x": "{x}", "y": "{y}"}}"#), true),
        (r#"{"kid": "a", "kty": "RSA", "n": "AQAB", "e": "AQAB"}"#.to_owned(), true),
        (r#"{"kid": "a", "kty": "RSA", "alg": "PS256", "n": "AQAB", "e": "AQAB"}"#.to_owned(), true),
        (format!(r#"{{{ed}}}"#), false),
        (format!(r#"{{"kid": "", {ed}}}"#), false),
        (format!(r#"{{"kid": "{}", {ed}}}"#, "k".repeat(257)), false),
        (format!(r#"{{"kid": "a", "use": "enc", {ed}}}"#), false),
        (format!(r#"{{"kid": "a", "use": ["sig"], {ed}}}"#), false),
        (format!(r#"{{"kid": "a", "key_ops": ["encrypt"], {ed}}}"#), false),
        (format!(r#"{{"kid": "a", "alg": "RS256", {ed}}}"#), false),
        (format!(r#"{{"kid": "a", "alg": "HS256", {ed}}}"#), false),
        (format!(r#"{{"kid": "a", "alg": "none", {ed}}}"#), false),
        (format!(r#"{{"kid": "a", "alg": null, {ed}}}"#), false),
        (r#"{"kid": "a", "kty": "oct", "k": "c2VjcmV0"}"#.to_owned(), false),
        (r#"{"kid": "a", "kty": "oct", "alg": "HS256", "k": "c2VjcmV0"}"#.to_owned(), false),
        (r#"{"kid": "a", "kty": "OKP", "crv": "Ed25519", "x": "AQAB"}"#.to_owned(), false),
        (r#"{"kid": "a", "kty": "EC", "crv": "P-256", "x": "AQAB", "y": "AQAB"}"#.to_owned(), false),
        (format!(r#"{{"kid": "a", "kty": "EC", "crv": "P-384", "x": "{x}", "y": "{y}"}}"#), false),
        (r#"{"kid": "a", "kty": "RSA", "n": "AA", "e": "AQAB"}"#.to_owned(), false),
        (r#"{"kid": "a", "kty": "RSA", "n": "A+/=", "e": "AQAB"}"#.to_owned(), false),
        ("[]".to_owned(), false),
        ("null".to_owned(), false),
    ] {
        assert_eq!(number(&key), Some(usize::from(is_used)), "{key}");
    }
    assert_eq!(number(&vec!["{}"; 129].join(",")), None);
    for text in ["[]", "{}", r#"{"keys": {}}"#] {
        assert!(KeySet::read(&Json::parse(text.as_bytes()).unwrap()).is_none(), "{text}");
    }
}

#[test]
fn no_api_key_is_named_like_who_holds_a_token() {
    for id in ["https://login.example.org#ann", "http://localhost#ann"] {
        assert!(new_key(id, Role::Agent, "acme", &ReviewerEntry::default()).is_err(), "{id}");
        let entry =
            object! { "id": id, "sha256": format!("sha256:{}", "0".repeat(64)), "role": "agent", "tenant": "acme" };
        let keys = object! { "keys": vec![Json::from(entry)] };
        assert!(ApiKeys::read(&keys.into()).is_err(), "{id}");
    }
}

/// Any claims, of which some are those that the rules look at.
fn claims() -> impl Strategy<Value = Json> {
    let word = prop_oneof![
        Just("agents"),
        Just("reviewers"),
        Just("finance"),
        Just("elsewhere"),
        Just("payments"),
        Just("ops"),
        Just("decide"),
        Just("acme"),
        Just("other"),
        Just("local"),
        Just("team-1"),
        Just("x"),
    ];
    let leaf = prop_oneof![
        word.prop_map(Json::from),
        any::<bool>().prop_map(Json::Bool),
        Just(Json::Null),
        "[a-z -]{0,12}".prop_map(Json::from),
    ];
    let name = prop_oneof![
        Just("groups"),
        Just("scope"),
        Just("org"),
        Just("realm_access"),
        Just("roles"),
        Just("email_verified"),
        Just("sub"),
    ];
    let object = |value: BoxedStrategy<Json>| {
        prop::collection::vec((name.clone(), value), 0..6).prop_map(|members| {
            let mut object = proofmark_receipt::Object::new();
            for (name, value) in members {
                object.insert(name, value);
            }
            Json::Object(object)
        })
    };
    let value = prop_oneof![leaf.clone(), prop::collection::vec(leaf.clone(), 0..4).prop_map(Json::from)].boxed();
    let nested = prop_oneof![value.clone(), object(value)].boxed();
    object(nested)
}

proptest! {
    #[test]
    fn whatever_the_claims_are_only_a_rule_that_applies_gives_something(claims in claims()) {
        let claims = claims.as_object().unwrap();
        let all = map(RULES).unwrap();
        let alone: Vec<_> = (0..all.len()).map(|index| all.only(index).grant(claims)).collect();
        let applying: Vec<_> = alone.iter().filter(|one| **one != Err(Unmapped::NoRule)).collect();
        match all.grant(claims) {
            Ok(grant) => {
                // Each rule that applies gives this tenant, this role and this policy, and each role that is held is of one of them.
                prop_assert!(!applying.is_empty());
                for one in &applying {
                    let one = one.as_ref().unwrap();
                    prop_assert_eq!((&one.tenant, one.role, &one.policy), (&grant.tenant, grant.role, &grant.policy));
                }
                for role in &grant.holds {
                    prop_assert!(applying.iter().any(|one| one.as_ref().unwrap().holds.contains(role)));
                }
                prop_assert!(grant.tenant.as_str() != "local");
            }
            Err(Unmapped::NoRule) => prop_assert!(applying.is_empty()),
            Err(_) => prop_assert!(!applying.is_empty()),
        }
    }

    #[test]
    fn whatever_a_token_is_its_header_is_read_or_refused(token in "[A-Za-z0-9_.-]{0,200}") {
        drop(super::token::Header::read(&token));
    }
}
