//! YAML is read as the JSON it stands for, or refused, whatever it is.

use std::fmt::Write as _;

use proofmark_receipt::document::{Format, MAX_DOCUMENT_DEPTH, Place, line_and_column, parse, parse_with_places};
use proofmark_receipt::json::Number;
use proofmark_receipt::{Json, Object};
use proptest::collection::vec;
use proptest::prelude::*;

proptest! {
    #[test]
    fn a_document_in_yaml_is_the_document_in_json(document in document()) {
        let text = document.to_text();
        prop_assert_eq!(parse(text.as_bytes(), Format::Json), Ok(document.clone()));
        prop_assert_eq!(parse(text.as_bytes(), Format::Yaml), Ok(document.clone()), "{}", text);
        let mut block = String::new();
        write_block(&mut block, &document, 0);
        prop_assert_eq!(parse(block.as_bytes(), Format::Yaml), Ok(document.clone()), "{}", block);
        let lines = block.replace('\n', "\r\n");
        prop_assert_eq!(parse(lines.as_bytes(), Format::Yaml), Ok(document), "{}", block);
    }

    #[test]
    fn every_value_is_where_its_place_says(document in document()) {
        let text = document.to_text();
        for format in [Format::Json, Format::Yaml] {
            let (read, places) = parse_with_places(text.as_bytes(), format).unwrap();
            for (path, value) in values(&read) {
                let start = places.find(&read, &path).unwrap();
                prop_assert!(text[start..].starts_with(&value.to_text()), "{} at {}: {}", path, start, text);
                prop_assert_eq!(line_and_column(text.as_bytes(), start).1 as usize, text[..start].chars().count() + 1);
            }
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[-a-c0-2:,\\[\\]{}&*!|>'\"?#%@ \n\t._+~<]{0,60}") {
        if let Ok(read) = parse(text.as_bytes(), Format::Yaml) {
            prop_assert_eq!(parse(read.to_text().as_bytes(), Format::Json), Ok(read));
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..60)) {
        let _ = parse_with_places(&bytes, Format::Yaml);
    }
}

fn document() -> impl Strategy<Value = Json> {
    let number = "-?(0|[1-9][0-9]{0,22})(\\.[0-9]{1,18})?([eE][+-]?[0-9]{1,3})?";
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        number.prop_map(|token| Json::from(token.parse::<Number>().unwrap())),
        string().prop_map(Json::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        let key = prop_oneof!["[a-c]{1,3}", "[a-z]{200,900}", string()]
            .prop_filter("a path", |key| !key.contains(['.', '[', ']']) && !key.is_empty());
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Json::from),
            vec((key, inner), 0..6).prop_map(|members| {
                let mut object = Object::new();
                for (name, value) in members {
                    object.insert(name, value);
                }
                Json::from(object)
            }),
        ]
    })
}

/// What YAML may contain unescaped, words with a meaning of their own, and characters that JSON escapes.
fn string() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~\u{a0}-\u{d7ff}\u{e000}-\u{fefe}\u{ff00}-\u{fffd}\u{10000}-\u{10fff}\n\t\u{1}-\u{1f}]{0,12}",
        proptest::sample::select(vec!["yes", "null", "1", "1.0", "0x1f", "<<", "~", "- a", "a: b", "#", "", "'", "\\"])
            .prop_map(str::to_owned),
    ]
}

/// Writes the document as people write YAML.
fn write_block(out: &mut String, value: &Json, indent: usize) {
    let pad = " ".repeat(indent);
    match value {
        Json::Object(object) if !object.is_empty() => {
            for (name, value) in object.iter() {
                write!(out, "{pad}{}:", scalar(&Json::from(name))).unwrap();
                write_below(out, value, indent);
            }
        }
        Json::Array(items) if !items.is_empty() => {
            for item in items {
                write!(out, "{pad}-").unwrap();
                write_below(out, item, indent);
            }
        }
        value => writeln!(out, "{pad}{}", scalar(value)).unwrap(),
    }
}

fn write_below(out: &mut String, value: &Json, indent: usize) {
    match value {
        Json::Object(object) if !object.is_empty() => out.push('\n'),
        Json::Array(items) if !items.is_empty() => out.push('\n'),
        value => {
            writeln!(out, " {}", scalar(value)).unwrap();
            return;
        }
    }
    write_block(out, value, indent + 2);
}

fn scalar(value: &Json) -> String {
    match value {
        Json::String(text)
            if text.len() > 2 && text.bytes().all(|byte| byte.is_ascii_lowercase()) && !is_word(text) =>
        {
            text.clone()
        }
        Json::String(text) if !text.contains(char::is_control) => format!("'{}'", text.replace('\'', "''")),
        value => value.to_text(),
    }
}

fn is_word(text: &str) -> bool {
    ["yes", "off", "null", "true", "false"].contains(&text)
}

/// Every value with its path.
fn values(document: &Json) -> Vec<(String, &Json)> {
    let mut found = vec![(String::new(), document)];
    let mut next = 0;
    while let Some((path, value)) = found.get(next).cloned() {
        match value {
            Json::Object(object) => {
                found.extend(object.iter().map(|(name, value)| (format!("{path}.{name}"), value)));
            }
            Json::Array(items) => {
                found.extend(items.iter().enumerate().map(|(index, value)| (format!("{path}[{index}]"), value)));
            }
            _ => {}
        }
        next += 1;
    }
    found
}

#[test]
fn what_two_readers_read_differently_is_refused_at_its_place() {
    let bomb: String = (1..10)
        .map(|level| format!("l{level}: &l{level} [{}]\n", vec![format!("*l{}", level - 1); 10].join(",")))
        .collect();
    for (text, line, column) in [
        ("a: 1\nb: yes\n", 2, 4),
        ("a: [1, Off]\n", 1, 8),
        ("a: 1\ny: 1\n", 2, 1),
        ("a: 017\n", 1, 4),
        ("a: 1_000\n", 1, 4),
        ("a: .inf\n", 1, 4),
        ("a: 1\n'a': 2\n", 2, 1),
        ("a: {b: 1, b: 2}\n", 1, 11),
        ("a: {<<: {b: 1}}\n", 1, 5),
        ("a: !!str 1\n", 1, 4),
        ("a: !include x\n", 1, 4),
        ("a: 1\n---\nb: 1\n", 2, 1),
        ("a: &x [*x]\n", 1, 8),
        ("a: *x\n", 1, 4),
        ("? [a]\n: 1\n", 1, 3),
        ("a: &k 1\nb: {*k : 2}\n", 2, 5),
        ("a: {1: 2}\n", 1, 5),
        ("a: {: 2}\n", 1, 5),
        ("a:\n\t- 1\n", 2, 2),
        ("a: \"x\0y\"\n", 1, 6),
        ("a: b\0c\n", 1, 5),
        ("a: [1\n", 1, 4),
        (&format!("l0: &l0 [x]\n{bomb}"), 6, 22),
        (&format!("a: &a {}\nb: [{}]\n", "x".repeat(1 << 20), vec!["*a"; 20].join(",")), 2, 53),
        (&format!("{}1{}\n", "[".repeat(65), "]".repeat(65)), 1, 65),
        (&format!("{}1\n", "- ".repeat(65)), 1, 129),
    ] {
        let error = parse(text.as_bytes(), Format::Yaml).unwrap_err();
        assert_eq!(error.code(), "invalid_yaml", "{error}");
        assert_eq!(error.place(), &Place::Text { line, column }, "{error}: {}", text.get(..100).unwrap_or(text));
    }
    let nodes = format!("[{}]", "1,".repeat(250_001));
    for text in [&nodes, &"[".repeat(1 << 20), &"{a: ".repeat(1 << 18), &"- ".repeat(1 << 18), &"? ".repeat(1 << 18)] {
        assert_eq!(parse(text.as_bytes(), Format::Yaml).unwrap_err().code(), "invalid_yaml");
    }
    assert_eq!(parse(b"a: \xff", Format::Yaml).unwrap_err().code(), "invalid_yaml");
    assert_eq!(parse("\u{feff}a: 1".as_bytes(), Format::Yaml), parse(b"a: 1", Format::Yaml));
}

#[test]
fn what_json_can_say_yaml_can_say_as_large_and_as_deep() {
    let deep = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    let keys: Vec<_> = (0..50_000).map(|key| format!("\"k{key}\":{key}")).collect();
    let digits = format!("[{}]", "9".repeat(1 << 20));
    for text in [deep(MAX_DOCUMENT_DEPTH), format!("{{{}}}", keys.join(",")), digits] {
        let json = parse(text.as_bytes(), Format::Json).unwrap();
        assert_eq!(parse(text.as_bytes(), Format::Yaml), Ok(json));
    }
    let used: String = (0..2_000).map(|_| "- *a\n").collect();
    let read = parse(format!("a: &a {{b: [1]}}\nc:\n{used}").as_bytes(), Format::Yaml).unwrap();
    assert!(read.to_text().starts_with(r#"{"a":{"b":[1]},"c":[{"b":[1]},{"b":[1]},"#));
    for empty in ["", "# a comment\n", "---\n...\n"] {
        assert_eq!(parse(empty.as_bytes(), Format::Yaml), Ok(Json::Null));
    }
}
