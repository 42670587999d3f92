//! Texts of JSON are changed in place.
#![expect(clippy::unwrap_used, reason = "helpers of tests, which may fail by panicking")]

use proofmark_hosts::{JsonText, Step};
use proofmark_receipt::Json;
use proptest::prelude::*;

fn read(text: &str) -> JsonText {
    JsonText::read(text.as_bytes(), true).unwrap()
}

fn json(text: &str) -> Json {
    Json::parse(text.as_bytes()).unwrap()
}

#[test]
fn what_is_added_has_the_form_of_what_is_there() {
    for (before, after) in [
        ("{}", "{\n  \"a\": {\n    \"b\": [\n      1\n    ]\n  }\n}"),
        ("{ \"a\": {\"b\": [0]} }\n", "{ \"a\": {\"b\": [0,\n      1]} }\n"),
        (
            "{\n\t// why\n\t\"a\": {\n\t\t\"b\": [ // list\n\t\t]\n\t}\n}\n",
            "{\n\t// why\n\t\"a\": {\n\t\t\"b\": [ // list\n\t\t\t1\n\t\t]\n\t}\n}\n",
        ),
        ("{\r\n  \"x\": 1\r\n}", "{\r\n  \"x\": 1,\r\n  \"a\": {\r\n    \"b\": [\r\n      1\r\n    ]\r\n  }\r\n}"),
        ("{\"x\": \"//\" /* \"a\" */}", "{\"x\": \"//\",\n  \"a\": {\n    \"b\": [\n      1\n    ]\n  } /* \"a\" */}"),
    ] {
        let mut text = read(before);
        text.push(&["a", "b"], &json("1")).unwrap();
        assert_eq!(text.text(), after);
    }
}

#[test]
fn what_is_put_in_the_place_of_a_value_leaves_the_rest() {
    for (before, path, value, after) in [
        ("{ \"a\" : 1 ,\"b\":[ 2 ] }", &["a"][..], "2", "{ \"a\" : 2 ,\"b\":[ 2 ] }"),
        // What says the same keeps its form.
        ("{\"a\": [ 1,2 ]}", &["a"], "[1, 2]", "{\"a\": [ 1,2 ]}"),
        ("{\"a\": [\"x\"] /* why */}", &["a"], "[\"y\", \"z\"]", "{\"a\": [\"y\", \"z\"] /* why */}"),
        (
            "{\n\t// one\n\t\"a\": {\"b\": 1}, // two\n\t\"c\": 3\n}\n",
            &["a", "b"],
            "{\"d\": 4}",
            "{\n\t// one\n\t\"a\": {\"b\": {\n\t\t\"d\": 4\n\t}}, // two\n\t\"c\": 3\n}\n",
        ),
        ("{}\n", &["a", "b"], "1", "{\n  \"a\": {\n    \"b\": 1\n  }\n}\n"),
        ("{\"a\": {}}", &["a", "b"], "1", "{\"a\": {\n    \"b\": 1\n  }}"),
    ] {
        let mut text = read(before);
        text.put(path, &json(value)).unwrap();
        assert_eq!(text.text(), after);
    }
    assert!(read("{\"a\": 1}").put(&["a", "b"], &json("1")).is_err());
    assert!(read("[]").put(&["a"], &json("1")).is_err());
}

#[test]
fn what_is_taken_out_leaves_the_rest() {
    for (before, path, after) in [
        ("[1, 2, 3]", Step::Index(0), "[2, 3]"),
        ("[1, 2, 3]", Step::Index(1), "[1, 3]"),
        ("[1, 2, 3]", Step::Index(2), "[1, 2]"),
        ("[ 1 ]", Step::Index(0), "[]"),
        ("[1, /* a */ 2 /* b */, 3]", Step::Index(1), "[1, /* a */  /* b */ 3]"),
        ("[1, // a\n 2]", Step::Index(1), "[1 // a\n ]"),
        ("[/* , */ 1 /* , */]", Step::Index(0), "[/* , */  /* , */]"),
        ("{\"a\": 1, \"b\": {}}", Step::Name("a"), "{\"b\": {}}"),
        ("{\"a\": 1}", Step::Name("b"), "{\"a\": 1}"),
    ] {
        let mut text = read(before);
        text.remove(&[path]).unwrap();
        assert_eq!(text.text(), after);
    }
}

#[test]
fn what_was_added_is_taken_out_again_exactly() {
    for before in [
        "{}",
        "{\"hooks\": {\"Stop\": [1]}, \"b\": 2}",
        "{\n    // note\n    \"hooks\": {\n        \"Stop\": [ {\"x\": [\"}\"]} ] // end\n    }\n}\n",
        "{\"hooks\": {\"Other\": []}}",
    ] {
        let mut text = read(before);
        let count =
            text.json().as_object().unwrap().get("hooks").map_or(0, |hooks| {
                hooks.as_object().unwrap().get("Stop").map_or(0, |stop| stop.as_array().unwrap().len())
            });
        text.push(&["hooks", "Stop"], &json("{\"hooks\": [{\"command\": \"a\"}]}")).unwrap();
        text.remove(&[Step::Name("hooks"), Step::Name("Stop"), Step::Index(count)]).unwrap();
        if count > 0 {
            assert_eq!(text.text(), before);
        }
        assert!(!text.text().contains("command"));
    }
}

#[test]
fn what_cannot_be_read_is_refused() {
    for text in ["", "{", "[1,]", "{\"a\":1,\"a\":2}", "/* open", "{} {}", "\u{feff}{}"] {
        assert!(JsonText::read(text.as_bytes(), true).is_err(), "{text}");
    }
    assert!(JsonText::read(b"// a\n{}", false).is_err());
    assert!(JsonText::read(&[0xff], true).is_err());
    assert!(read("[]").push(&["a"], &json("1")).is_err());
    assert!(read("{\"a\": {}}").push(&["a"], &json("1")).is_err());
    assert!(read("{\"a\": 1}").push(&["a", "b"], &json("1")).is_err());
}

/// Documents with white space and comments in every place.
fn document() -> impl Strategy<Value = String> {
    let space = || prop::sample::select(vec!["", " ", "\n  ", "\t", "/* , } */", "// ] \"\n", "\r\n"]);
    let leaf =
        prop::sample::select(vec!["1", "null", "\"a\"", "\"}\\\"/*\"", "true", "[]", "{}"]).prop_map(str::to_owned);
    leaf.prop_recursive(4, 24, 4, move |inner| {
        let item = (space(), inner, space()).prop_map(|(before, value, after)| format!("{before}{value}{after}"));
        let items = prop::collection::vec(item, 0..4);
        (items, any::<bool>(), space()).prop_map(|(items, is_object, empty)| {
            let (open, close) = if is_object { ('{', '}') } else { ('[', ']') };
            let member =
                |(at, item): (usize, &String)| if is_object { format!("\"m{at}\":{item}") } else { item.clone() };
            let body = items.iter().enumerate().map(member).collect::<Vec<_>>().join(",");
            format!("{open}{}{close}", if items.is_empty() { empty.to_owned() } else { body })
        })
    })
}

proptest! {
    /// What is added is there, nothing else changes, and taking it out again gives the same document.
    #[test]
    fn an_addition_is_undone(text in document()) {
        let Ok(before) = JsonText::read(text.as_bytes(), true) else { return Ok(()) };
        let mut changed = before.clone();
        let value = Json::parse(b"{\"command\": [\"a\"]}").unwrap();
        if changed.push(&["hooks", "Stop"], &value).is_err() {
            prop_assert_eq!(&changed, &before);
            return Ok(());
        }
        let stop = |text: &JsonText| {
            text.json().as_object()?.get("hooks")?.as_object()?.get("Stop")?.as_array().map(<[Json]>::to_vec)
        };
        let list = stop(&changed).unwrap();
        prop_assert_eq!(list.last(), Some(&value));
        changed.remove(&[Step::Name("hooks"), Step::Name("Stop"), Step::Index(list.len() - 1)]).unwrap();
        prop_assert_eq!(stop(&changed).unwrap().len(), list.len() - 1);
        if list.len() == 1 && stop(&before).is_none() {
            changed.remove(&[Step::Name("hooks"), Step::Name("Stop")]).unwrap();
            if before.json().as_object().unwrap().get("hooks").is_none() {
                changed.remove(&[Step::Name("hooks")]).unwrap();
            }
        }
        prop_assert_eq!(changed.json(), before.json());
    }

    /// What is put is there, and nothing else changes.
    #[test]
    fn a_value_is_put_and_the_rest_stays(text in document(), name in "m[0-3]", inner in "m[0-3]") {
        let Ok(before) = JsonText::read(text.as_bytes(), true) else { return Ok(()) };
        let mut changed = before.clone();
        let value = Json::parse(b"{\"command\": [\"a\"]}").unwrap();
        let path = [name.as_str(), inner.as_str()];
        if changed.put(&path, &value).is_err() {
            prop_assert_eq!(&changed, &before);
            return Ok(());
        }
        let steps = path.map(Step::Name);
        prop_assert_eq!(changed.at(&steps), Some(&value));
        let comments = |text: &JsonText| text.text().matches("/* , } */").count();
        // A list or an object that is replaced takes the comments within it along.
        if !before.at(&steps).is_some_and(|old| old.as_array().is_some() || old.as_object().is_some()) {
            prop_assert_eq!(comments(&before), comments(&changed));
        }
        let without = |text: &JsonText| {
            let mut text = text.clone();
            text.remove(&[steps[0]]).unwrap();
            text.json().clone()
        };
        prop_assert_eq!(without(&changed), without(&before));
    }

    /// Any bytes are read or refused, and each of its parts can be taken out.
    #[test]
    fn every_part_can_be_taken_out(text in document(), steps in prop::collection::vec(0_usize..4, 1..4)) {
        let Ok(mut changed) = JsonText::read(text.as_bytes(), true) else { return Ok(()) };
        let names: Vec<String> = steps.iter().map(|step| format!("m{step}")).collect();
        let mut path = Vec::new();
        let mut json = changed.json().clone();
        for (step, name) in steps.iter().zip(&names) {
            let within = match &json {
                Json::Object(object) => object.get(name).cloned().map(|value| (Step::Name(name), value)),
                Json::Array(items) => items.get(*step).cloned().map(|value| (Step::Index(*step), value)),
                _ => None,
            };
            let Some((step, value)) = within else { break };
            path.push(step);
            json = value;
        }
        if path.is_empty() {
            return Ok(());
        }
        let comments = changed.text().matches("/* , } */").count();
        changed.remove(&path).unwrap();
        let left = changed.text().matches("/* , } */").count();
        prop_assert!(left <= comments, "{left} comments");
    }
}
