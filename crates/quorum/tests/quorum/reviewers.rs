//! The reviewers file.

use std::fmt::Write;

use proofmark_quorum::{MAX_REVIEWERS, MAX_REVIEWERS_BYTES, Reviewers, ReviewersErrorKind};
use proofmark_receipt::SignerId;

use crate::samples::key;

fn refused(text: &str) -> (usize, ReviewersErrorKind) {
    let error = Reviewers::parse(text.as_bytes()).unwrap_err();
    assert!(!error.help().is_empty() && error.to_string().starts_with("line "), "{error}");
    (error.line, error.kind)
}

#[test]
fn lines_name_operators_and_keys() {
    let (a, b, c) = (key(1).signer(), key(2).signer(), key(3).signer());
    let text = format!(
        "# whose reviews count\n\nreviewer acme {a}\n  # indented\nreviewer\tacme  {}  \nreviewer bücher.example {c}",
        b.did_key()
    );
    let reviewers = Reviewers::parse(text.as_bytes()).unwrap();
    assert_eq!(reviewers.operator(&a), Some("acme"));
    assert_eq!(reviewers.operator(&b), Some("acme"));
    assert_eq!(reviewers.operator(&c), Some("bücher.example"));
    assert_eq!(reviewers.operator(&key(4).signer()), None);
    assert_eq!(reviewers.operators().into_iter().collect::<Vec<_>>(), ["acme", "bücher.example"]);
}

#[test]
fn a_key_is_listed_once() {
    let signer = key(1).signer();
    for second in ["acme", "other"] {
        let text = format!("reviewer acme {signer}\nreviewer {second} {}\n", signer.did_key());
        assert_eq!(refused(&text), (2, ReviewersErrorKind::Twice("acme".to_owned())));
    }
}

#[test]
fn other_lines_are_refused() {
    let signer = key(1).signer();
    for line in [
        format!("reviewer acme {signer} extra"),
        format!("reviewer acme {signer} # comment"),
        format!("Reviewer acme {signer}"),
        format!("witness acme {signer}"),
        "reviewer acme".to_owned(),
        "reviewer".to_owned(),
    ] {
        let (at, kind) = refused(&format!("\n{line}\n"));
        assert!(at == 2 && matches!(kind, ReviewersErrorKind::Line(_)), "{line}: {kind:?}");
    }
    for operator in ["a\u{200b}b", "a\u{a0}b", "a\u{7}", &"x".repeat(257)] {
        let (at, kind) = refused(&format!("reviewer {operator} {signer}"));
        assert!(at == 1 && matches!(kind, ReviewersErrorKind::Operator(_)), "{operator}: {kind:?}");
    }
    for key in ["MCowBQYDK2VwAyEA", "acme.pem"] {
        assert!(matches!(refused(&format!("reviewer acme {key}")), (1, ReviewersErrorKind::Key(_))));
    }
    // A line end of Windows is part of the key.
    assert!(matches!(refused(&format!("reviewer acme {signer}\r\n")), (1, ReviewersErrorKind::Key(_))));
    let bytes = Reviewers::parse(b"# fine\n\xff\n").unwrap_err();
    assert_eq!((bytes.line, bytes.kind), (2, ReviewersErrorKind::Utf8));
}

#[test]
fn a_file_has_limits() {
    for nothing in ["", "\n", "# nobody\n"] {
        assert_eq!(refused(nothing), (1, ReviewersErrorKind::Empty));
    }
    let lines = |count: usize| {
        (0..count).fold(String::new(), |mut text, at| {
            let mut bytes = [0; 32];
            bytes[..8].copy_from_slice(&(at as u64).to_be_bytes());
            writeln!(text, "reviewer acme {}", SignerId::from_bytes(bytes)).unwrap();
            text
        })
    };
    assert!(Reviewers::parse(lines(MAX_REVIEWERS).as_bytes()).is_ok());
    assert_eq!(refused(&lines(MAX_REVIEWERS + 1)), (MAX_REVIEWERS + 1, ReviewersErrorKind::TooMany));
    let long = "#".repeat(MAX_REVIEWERS_BYTES + 1);
    assert_eq!(refused(&long), (1, ReviewersErrorKind::TooLarge(MAX_REVIEWERS_BYTES + 1)));
}
