use std::collections::BTreeSet;

use proofmark_receipt::{Json, Object};
use roxmltree::Document;

use super::*;

/// What a submission may return to drive a terminal, to end a string, or to begin a command.
const HOSTILE: [&str; 14] = [
    "\x1b[31mred\x1b[0m\x07",
    "two\nlines\r\n\n# SKIP",
    "ok # SKIP all\n1..0\nBail out!",
    "  ---\n  ...\nnot ok 9",
    "]]></failure><testcase name=\"x\"/>&amp;<!--",
    "::error file=a,line=1::no\n::stop-commands::x\n  ::add-mask::y %0A",
    "##[error]no ##vso[task.complete result=Succeeded;]",
    "a|b\\|c`d``e</code></summary></details><script>alert(1)</script>",
    "![i](http://x/y.png) [l](javascript:x) www.x.org @octocat #1 <img src=x>",
    "\u{202e}gpj.exe \u{2066}x\u{2069} \u{feff}\u{fffe}\u{0}\u{85}\u{2028}",
    "```\n</pre>\n<h1>",
    "\" \\\" ${{ secrets.TOKEN }} %s $(id)",
    "key: value\n- item\n? x\n!!python/object",
    "",
];

fn groups() -> Vec<Group> {
    let case = |text: &&str| Case {
        location: Some(Location { file: format!("dir/{text}"), line: Some(3), column: Some(2) }),
        message: Some((*text).to_owned()),
        details: vec![
            ("input", (*text).to_owned()),
            ("difference", format!("- {text}\n+ {text}")),
            ("stdout", (*text).to_owned()),
            ("stderr", (*text).to_owned()),
        ],
        help: Some((*text).to_owned()),
        ..Case::new(*text, Status::Fail)
    };
    let group = |text: &&str| Group { qualifies: true, ..Group::of_cases(*text, HOSTILE.iter().map(case).collect()) };
    HOSTILE.iter().map(group).collect()
}

fn count_of_cases() -> usize {
    HOSTILE.len() * HOSTILE.len()
}

/// No line of the text drives a terminal or begins a command of a CI system.
fn assert_harmless(text: &str) {
    for line in text.split('\n') {
        assert!(!line.chars().any(|c| c.is_control() && c != '\t'), "{line:?}");
        assert!(!line.trim_start().starts_with("::"), "{line:?}");
        assert!(!line.contains("##[") && !line.contains("##vso["), "{line:?}");
        assert!(!line.contains(['\u{202e}', '\u{2066}', '\u{feff}', '\u{fffe}', '\u{2028}']), "{line:?}");
    }
}

fn written(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut bytes = Vec::new();
    write(&mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn text_for_people_is_harmless() {
    for style in [Style::Verdicts, Style::Cases] {
        let mut human = Human::new(style).with_extent(Extent::WHOLE);
        let text = written(|out| {
            groups().iter().try_for_each(|group| human.group(out, group))?;
            human.finish(out)
        });
        assert_harmless(&text);
    }
}

#[test]
fn json_says_the_same_and_is_harmless() {
    for text in HOSTILE.iter().copied().chain(["\u{7f}\u{9b}2J \\##[error]\\\"##[", "💩\u{e0041}"]) {
        let mut object = Object::new();
        object.insert(text, vec![Json::from(text)]);
        let json = Json::from(object);
        let shown = crate::paint::printable_json(&json.to_text());
        assert_harmless(&shown);
        assert_eq!(Json::parse(shown.as_bytes()).unwrap(), json, "{shown}");
    }
}

#[test]
fn junit_has_every_case_and_nothing_else() {
    let text = junit::report("verify", &groups()).to_string().unwrap();
    assert_harmless(&text);
    let document = Document::parse(&text).unwrap();
    let elements = |name: &'static str| document.descendants().filter(move |node| node.has_tag_name(name));
    assert_eq!(elements("testcase").count(), count_of_cases());
    assert_eq!(elements("failure").count(), count_of_cases());
    let known = ["testsuites", "testsuite", "testcase", "failure", "system-out", "system-err"];
    assert!(
        document.descendants().filter(|node| node.is_element()).all(|node| known.contains(&node.tag_name().name()))
    );
}

#[test]
fn tap_has_a_point_for_every_case_and_one_plan() {
    let mut tap = tap::Tap::default();
    let text = written(|out| {
        groups().iter().try_for_each(|group| tap.group(out, group))?;
        tap.finish(out)
    });
    assert_harmless(&text);
    let own: Vec<&str> = text.lines().filter(|line| !line.starts_with("  ")).collect();
    let points = own.iter().filter(|line| line.starts_with("not ok ")).count();
    assert_eq!((points, own.len()), (count_of_cases(), count_of_cases() + 2), "{text}");
    assert!(own.iter().all(|line| !line.replace("\\#", "").contains('#')), "a directive");
    // Each block is closed once, before the next point.
    assert_eq!(text.lines().filter(|line| *line == "  ---").count(), count_of_cases());
    assert_eq!(text.lines().filter(|line| *line == "  ...").count(), count_of_cases());
}

#[test]
fn github_gets_one_command_for_each_case() {
    let text = written(|out| groups().iter().try_for_each(|group| github::group(out, group)));
    assert_eq!(text.lines().count(), count_of_cases());
    for line in text.lines() {
        let properties = line.strip_prefix("::error ").and_then(|rest| rest.split_once("::")).unwrap().0;
        let names: Vec<&str> = properties.split(',').map(|property| property.split_once('=').unwrap().0).collect();
        assert_eq!(names, ["file", "line", "col", "title"], "{line}");
    }
}

#[test]
fn sarif_has_a_result_for_each_case_and_no_link() {
    let text = sarif::log(&groups()).to_text();
    let log = Json::parse(text.as_bytes()).unwrap();
    let run = &log.as_object().unwrap().get("runs").and_then(Json::as_array).unwrap()[0];
    let results = run.as_object().unwrap().get("results").and_then(Json::as_array).unwrap();
    assert_eq!(results.len(), count_of_cases());
    for result in results {
        let message = result.as_object().unwrap().get("message").unwrap().to_text();
        assert!(!message.contains("]("), "a link in {message}");
        let text = result.to_text();
        let uri = text.split("\"uri\":\"").nth(1).unwrap().split('"').next().unwrap();
        let kept = |c: char| c.is_ascii_alphanumeric() || "/.-_~%".contains(c);
        assert!(uri.chars().all(kept), "{uri}");
    }
}

#[test]
fn markdown_has_only_its_own_tags_and_rows() {
    let text = written(|out| markdown::write(out, "verify", &groups()));
    assert_harmless(&text);
    let tags: BTreeSet<&str> = text.split('<').skip(1).filter_map(|rest| rest.split('>').next()).collect();
    assert_eq!(tags, BTreeSet::from(["/code", "/details", "/pre", "/summary", "code", "details", "pre", "summary"]));
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
    assert_eq!(rows.len(), HOSTILE.len() + 2);
    assert!(rows.iter().all(|row| row.matches('|').count() == 5), "{rows:?}");
    let inside: String = rows.iter().skip(2).map(|row| row.replace('|', "")).collect();
    for meaning in ["](", "www.", "@", "`", "\\", "http:"] {
        assert!(!inside.contains(meaning), "{meaning} in {inside}");
    }
    // Text of the submission is either in a row, in a summary, or between `<pre>` and `</pre>`.
    assert_eq!(text.matches("<pre>").count(), text.matches("</pre>").count());
}

#[test]
fn no_format_hides_that_a_group_failed() {
    let hidden = |status| Group { status, ..Group::of_cases("secret", vec![Case::new("shown", Status::Pass)]) };
    for mut group in [hidden(Status::Fail), hidden(Status::Error)] {
        group.complete();
        let groups = [group];
        assert!(junit::report("verify", &groups).to_string().unwrap().contains("name=\"secret\""));
        assert!(sarif::log(&groups).to_text().contains("secret"));
        assert!(written(|out| github::group(out, &groups[0])).starts_with("::error "));
        let mut tap = tap::Tap::default();
        assert!(written(|out| tap.group(out, &groups[0])).contains("not ok 2 - secret"));
    }
    let skipped = Group { status: Status::Fail, ..Group::of_cases("partial", vec![Case::new("a", Status::Skipped)]) };
    let mut skipped = skipped;
    skipped.complete();
    assert!(junit::report("verify", &[skipped]).to_string().unwrap().contains("<failure"));
}

#[test]
fn the_signs_of_a_difference_are_explained_where_they_are_known() {
    let difference = ("difference", "- 1\n+ 2".to_owned());
    let case = |details| Case { details, ..Case::new("a", Status::Fail) };
    let own = case(vec![("expected", "1".to_owned()), difference.clone()]);
    assert_eq!(own.heading("difference"), "difference (- expected, + actual)");
    assert_eq!(own.heading("expected"), "expected");
    // Runners of tests use the signs as they like.
    assert_eq!(case(vec![difference]).heading("difference"), "difference");
}

#[test]
fn places_and_names_are_those_of_the_repository() {
    let location = Some(Location { file: "././tests/test_a.py".to_owned(), line: Some(3), column: None });
    let case = Case { location, ..Case::new("tests/test_a.py::test_b", Status::Fail) };
    let group = Group { qualifies: true, ..Group::of_cases(".", vec![case]) };
    let text = written(|out| github::group(out, &group));
    assert!(
        text.starts_with("::error file=tests/test_a.py,line=3,col=1,title=tests/test_a.py%3A%3Atest_b::"),
        "{text}"
    );
    assert!(sarif::log(std::slice::from_ref(&group)).to_text().contains(r#""uri":"tests/test_a.py""#));
    let text = written(|out| markdown::write(out, "verify", std::slice::from_ref(&group)));
    assert!(text.starts_with("### proofmark verify: fail\n"), "{text}");
}
