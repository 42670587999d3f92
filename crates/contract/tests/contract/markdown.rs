//! Result blocks, compared with two public readers of CommonMark: what counts here is a block, or a tag, to both of them.

use markdown::mdast::Node;
use markdown::{ParseOptions, to_mdast};
use proofmark_contract::response::{BlockForm, extract};
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

/// Lines that responses are made of. Each of them begins, ends or hides a block to some reader.
const LINES: [&str; 44] = [
    "",
    "",
    "",
    "",
    "I am done.",
    "x < 5 and y > 3",
    "# Result",
    "Title\n===",
    "---",
    "- item",
    "  more",
    "1. one",
    "> quote",
    "    code",
    "```",
    "````",
    "~~~",
    "```json",
    "  ```",
    "```result",
    "```result",
    "```json result",
    "~~~result",
    "  ```result",
    "- ```result",
    "> ```result",
    "<div>",
    "</div>",
    "<div class=\"a\">",
    "<span>",
    "<a href='x' b>",
    "<a href==>",
    "<b>x</b>",
    "<!--",
    "-->",
    "<!-- x -->",
    "text <!-- open",
    "<pre>",
    "</pre>",
    "<?php",
    "?>",
    "<result>",
    "</result>",
    "`code",
];
const BODY: &str = "{\"a\": 1}";

/// A place that counts: the line, from 1, and whether it is a fence.
type Found = Vec<(usize, bool)>;

fn line_of(text: &str, offset: usize) -> usize {
    text[..offset].matches('\n').count() + 1
}

fn is_result(info: &str) -> bool {
    matches!(info.split_whitespace().collect::<Vec<_>>()[..], ["result"] | ["json", "result"] | ["result", "json"])
}

/// The lines in a piece of HTML on which a result tag is that is in no comment.
fn tags(text: &str, start: usize, html: &str) -> Found {
    let is_comment = html.trim_start().starts_with("<!") || html.trim_start().starts_with("<?");
    if is_comment {
        Vec::new()
    } else {
        html.match_indices("<result>").map(|(at, _)| (line_of(text, start + at), false)).collect()
    }
}

fn by_pulldown(text: &str) -> Found {
    let (mut found, mut inside) = (Vec::new(), 0);
    for (event, range) in Parser::new(text).into_offset_iter() {
        match event {
            Event::Start(Tag::List(_) | Tag::BlockQuote(_)) => inside += 1,
            Event::End(TagEnd::List(_) | TagEnd::BlockQuote(_)) => inside -= 1,
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) if inside == 0 && is_result(&info) => {
                found.push((line_of(text, range.start), true));
            }
            Event::Html(html) | Event::InlineHtml(html) if inside == 0 => found.extend(tags(text, range.start, &html)),
            _ => {}
        }
    }
    found
}

fn by_markdown(text: &str) -> Found {
    fn walk(text: &str, node: &Node, found: &mut Found) {
        match node {
            Node::List(_) | Node::Blockquote(_) => return,
            Node::Code(code) => {
                let info =
                    [code.lang.as_deref(), code.meta.as_deref()].into_iter().flatten().collect::<Vec<_>>().join(" ");
                if is_result(&info) {
                    found.push((code.position.as_ref().unwrap().start.line, true));
                }
            }
            Node::Html(html) => found.extend(tags(text, html.position.as_ref().unwrap().start.offset, &html.value)),
            _ => {}
        }
        node.children().into_iter().flatten().for_each(|child| walk(text, child, found));
    }
    let mut found = Vec::new();
    walk(text, &to_mdast(text, &ParseOptions::default()).unwrap(), &mut found);
    found
}

fn check(text: &str) -> Option<bool> {
    let payload = extract(text.as_bytes()).ok()?;
    if payload.form == BlockForm::Whole {
        return None;
    }
    let place = (usize::try_from(payload.line).unwrap(), payload.form == BlockForm::Fence);
    // On some texts this reader fails, and says nothing.
    let other = std::panic::catch_unwind(|| by_markdown(text)).ok();
    let readers = [("pulldown-cmark", Some(by_pulldown(text))), ("markdown", other)];
    for (reader, found) in readers.into_iter().filter_map(|(reader, found)| Some((reader, found?))) {
        assert!(found.contains(&place), "{reader} has no result block at {place:?} but {found:?}:\n{text}");
        let fences = |found: &Found| found.iter().filter(|(_, is_fence)| *is_fence).count();
        assert!(fences(&found) <= 1, "{reader} has two blocks: {found:?}:\n{text}");
    }
    Some(true)
}

/// 4,000 responses that were made by chance, the same ones in each run.
#[test]
fn what_counts_is_a_block_to_two_public_readers() {
    let mut state = 11_u64;
    let mut next = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % limit
    };
    let mut counted = 0;
    for _ in 0..4_000 {
        let mut text = String::new();
        for _ in 0..next(7) {
            text.push_str(LINES[next(LINES.len())]);
            text.push('\n');
        }
        let (open, close) = [("```result", "```"), ("~~~json result", "~~~"), ("<result>", "</result>")][next(3)];
        text.push_str(&format!("{open}\n{BODY}\n{close}\n"));
        for _ in 0..next(3) {
            text.push_str(LINES[next(LINES.len())]);
            text.push('\n');
        }
        counted += usize::from(check(&text).is_some());
    }
    assert!(counted >= 500, "only {counted} of the responses have a result");
}

#[test]
fn what_html_hides_is_no_result() {
    let block = format!("```result\n{BODY}\n```\n");
    let tag = format!("<result>{BODY}</result>\n");
    let hidden = [
        format!("<!--\n{block}-->\n"),
        format!("<!--\n{tag}-->\n"),
        format!("<div>\n{block}</div>\n"),
        format!("<pre>\n\n{block}</pre>\n"),
        format!("<script>\n{tag}</script>\n"),
        format!("<span>\n{block}"),
        format!("# Title\n<span>\n{block}"),
        format!("text <!-- open\n{tag}-->\n"),
        format!("> <div>\n> {tag}"),
        format!("- <div>\n  {tag}"),
    ];
    for text in hidden {
        let error = extract(text.as_bytes()).expect_err(&text);
        assert!(matches!(error.code(), "result_missing" | "result_unclear"), "{}: {text}", error.code());
    }
    for text in [
        format!("<div>\nx\n</div>\n\n{block}"),
        format!("<!-- x -->\n{block}"),
        format!("a <b>c</b>\n{tag}"),
        format!("x\n<br>\n\n{block}"),
    ] {
        assert!(extract(text.as_bytes()).is_ok(), "{text}");
    }
}
