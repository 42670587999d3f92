//! What is kept of a text.

use std::time::Duration;

use proofmark_receipt::Json;
use proofmark_session::Keep;
use proofmark_testing::cpu_time;
use proptest::prelude::*;

fn kept(keep: Keep, text: &str) -> Option<String> {
    let (excerpt, text) = keep.of(text);
    excerpt.or(text)
}

#[test]
fn secrets_are_masked_wherever_they_are() {
    let key = format!("ghp_{}", "a".repeat(36));
    for (text, masked) in [
        (key.clone(), "ghp_[masked]".to_owned()),
        (format!("x {key} y"), "x ghp_[masked] y".to_owned()),
        ("ghp_short".to_owned(), "ghp_short".to_owned()),
        (format!("sk-{} sk-", "b".repeat(20)), "sk-[masked] sk-".to_owned()),
        ("a -----BEGIN RSA PRIVATE KEY-----\nb".to_owned(), "a [masked]".to_owned()),
        ("a -----BEGIN CERTIFICATE-----\nb".to_owned(), "a -----BEGIN CERTIFICATE-----\nb".to_owned()),
    ] {
        assert_eq!(kept(Keep::Full, &text), Some(masked.clone()));
        assert_eq!(kept(Keep::Excerpt, &text), Some(masked));
        assert_eq!(kept(Keep::Digest, &text), None);
    }
}

#[test]
fn a_secret_at_the_end_of_an_excerpt_is_masked() {
    for before in 1_950..2_001 {
        let text = format!("{}AKIA{}", " ".repeat(before), "A".repeat(16));
        let excerpt = kept(Keep::Excerpt, &text).unwrap();
        assert!(!excerpt.contains("AKIAA") && excerpt.chars().count() <= 2_000, "{before}");
    }
}

#[test]
fn what_is_kept_of_a_long_text_takes_little_time() {
    // Each of these begins like a secret, and the last makes a whole search of the text necessary.
    let text = "AKIA sk- ghp_ -----BEGIN ".repeat(400_000);
    let before = cpu_time();
    assert_eq!(kept(Keep::Excerpt, &text).unwrap().chars().count(), 2_000);
    assert_eq!(kept(Keep::Full, &text).unwrap().chars().count(), 2_000);
    let took = cpu_time() - before;
    assert!(took < Duration::from_secs(5), "{took:?}");
}

proptest! {
    #[test]
    fn an_excerpt_is_how_the_masked_text_begins(text in "(AKIA[A-Z0-9]{0,20}|sk-[a-z]{15,25}|Bearer |ä|\\PC){0,60}") {
        let full = kept(Keep::Full, &text).unwrap();
        prop_assert!(Json::from(full.as_str()).to_text().len() <= 512 << 10);
        prop_assert_eq!(kept(Keep::Excerpt, &text).unwrap(), full.chars().take(2_000).collect::<String>());
    }
}
