use proofmark_contract::response::{BlockForm, MAX_RESPONSE_BYTES, ResponseError, extract};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

#[test]
fn the_result_block_is_found_in_each_of_its_forms() {
    let table = [
        ("Done.\n```result\n{\"a\": 1}\n```\n", BlockForm::Fence, 2),
        ("Done.\n```json result\n{\"a\": 1}\n```", BlockForm::Fence, 2),
        ("```result json\n{\"a\": 1}\n```", BlockForm::Fence, 1),
        ("~~~result yaml\na: 1\n~~~", BlockForm::Fence, 1),
        ("```yaml result\na: 1\n```", BlockForm::Fence, 1),
        ("```result\na: 1\n```", BlockForm::Fence, 1),
        ("x\n\n  ````result\n{\"a\": 1}\n  ````", BlockForm::Fence, 3),
        ("<result>{\"a\": 1}</result> \n", BlockForm::Tag, 1),
        ("I am done.\r\n<result>{\"a\":\r\n1}</result>\r\nYes.", BlockForm::Tag, 2),
        ("Between `<result>` and `</result>`:\n\n<result>\na: 1\n</result>", BlockForm::Tag, 3),
        ("- done\n\n<result>\na: 1\n</result>", BlockForm::Tag, 3),
        ("one\n<result>\na: 1\n</result>\n", BlockForm::Tag, 2),
        ("  {\"a\": 1}\n", BlockForm::Whole, 1),
        ("````markdown\n```result\n{\"b\": 2}\n```\n````\n```result\n{\"a\": 1}\n```", BlockForm::Fence, 6),
        ("```json\n{\"b\": 2}\n```\n```result\n{\"a\": 1}\n```", BlockForm::Fence, 4),
        ("1. ran `ls`:\n   ```bash\n   ls\n   ```\n2. done\n```result\n{\"a\": 1}\n```", BlockForm::Fence, 6),
        ("- x\n  ~~~\n  ```result\n  {}\n  ~~~\n\nDone:\n\n```result\n{\"a\": 1}\n```", BlockForm::Fence, 9),
        ("> ```result\n> {}\n> ```\n```result\n{\"a\": 1}\n```", BlockForm::Fence, 4),
        ("- a\n\nThen:\n  ```sh\n  x\n  ```\n```result\na: 1\n```", BlockForm::Fence, 7),
    ];
    for (text, form, line) in table {
        let payload = extract(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!((payload.form, payload.line), (form, line), "{text}");
        assert_eq!(payload.json.to_text(), "{\"a\":1}", "{text}");
    }
}

#[test]
fn anything_else_is_no_evidence() {
    let table = [
        ("", "result_missing"),
        ("All done, verified and deployed. performed: true", "result_missing"),
        ("```json\n{\"a\": 1}\n```", "result_missing"),
        ("```results\n{\"a\": 1}\n```", "result_missing"),
        ("```result of the day\n{\"a\": 1}\n```", "result_missing"),
        ("`<b>` ```result {\"a\": 1}```", "result_missing"),
        ("    ```result\n    {\"a\": 1}\n    ```", "result_missing"),
        ("\"done\"", "result_missing"),
        ("true", "result_missing"),
        ("```result\n{\"a\": 1}\n```\n```result\n{\"a\": 1}\n```", "result_ambiguous"),
        ("I am done <result>{\"a\": 1}</result> as you see", "result_missing"),
        ("The block `<result>{\"a\": 1}</result>` is missing", "result_missing"),
        ("Write `like\n<result>{\"a\": 1}</result>\nthis`", "result_missing"),
        (" <result>{\"a\": 1}</result>", "result_missing"),
        ("> <result>{\"a\": 1}</result>", "result_missing"),
        ("> quoted\n<result>\n{\"a\": 1}\n</result>", "result_missing"),
        ("- listed\n<result>\n{\"a\": 1}\n</result>", "result_missing"),
        ("- listed\n  <result>{\"a\": 1}</result>", "result_missing"),
        ("```\n<result>{\"a\": 1}</result>\n```", "result_missing"),
        ("- x\n  ```result\n  {\"a\": 1}\n  ```", "result_missing"),
        ("- ```markdown\n  ```result\n  {\"a\": 1}\n  ```\n  ```", "result_missing"),
        ("1) x\n\n   ~~~result\n   {\"a\": 1}\n   ~~~", "result_missing"),
        ("> ```result\n> {\"a\": 1}\n> ```", "result_missing"),
        ("> - ```result\n>   {\"a\": 1}\n>   ```", "result_missing"),
        ("```\n```\u{a0}\n```result\n{\"a\": 1}\n```", "result_missing"),
        ("x\r~~~\n```result\n{\"a\": 1}\n```", "result_missing"),
        // Each of these fences may be at the top, so that the block after it is text, or in the list.
        ("- a\nlazy\n  ```\n```result\n{\"a\": 1}\n```", "result_unclear"),
        ("- a\n ```\n```result\n{\"a\": 1}\n```", "result_unclear"),
        ("-\n\n  ```\n```result\n{\"a\": 1}\n```", "result_unclear"),
        ("* * *\n  ```\n```result\n{\"a\": 1}\n```", "result_unclear"),
        ("a\n2. b\n   ```\n```result\n{\"a\": 1}\n```", "result_unclear"),
        ("- a\n # h\nb\n7. x\n   ```\n```result\n{\"a\": 1}\n```", "result_unclear"),
        ("<result>{\"a\": 1}</result> as you see", "result_unclear"),
        ("<result>{}</result><result>{}</result>", "result_ambiguous"),
        ("<result>{}</result>\n```result\n{}\n```", "result_ambiguous"),
        ("```result\n{\"a\": 1}\n", "result_unclosed"),
        ("<result>{\"a\": 1}", "result_unclosed"),
        ("```result\n{\"a\": 1,}\n```", "result_unreadable"),
        ("```result\n{\"a\": 1, \"a\": 2}\n```", "result_unreadable"),
        ("```result yaml\na: 1\na: 2\n```", "result_unreadable"),
        ("```result\ndone\n```", "result_not_an_object"),
        ("```result\n[1]\n```", "result_not_an_object"),
        ("[1]", "result_not_an_object"),
    ];
    for (text, code) in table {
        let error = extract(text.as_bytes()).expect_err(text);
        assert_eq!(error.code(), code, "{text}: {error}");
        assert!(!error.is_bad_input(), "{text}");
    }
}

#[test]
fn ambiguous_blocks_are_named_with_their_lines() {
    let error = extract(b"a\n```result\n{}\n```\n<result>{}</result> and <result>{}</result>\n").unwrap_err();
    assert_eq!(error, ResponseError::Ambiguous(vec![2, 5]));
}

#[test]
fn a_response_of_50_mb_is_refused_by_its_size() {
    let error = extract(&vec![b'a'; 50 << 20]).unwrap_err();
    assert_eq!(error.code(), "response_too_large");
    assert!(error.is_bad_input());
    assert!(extract(&vec![b' '; MAX_RESPONSE_BYTES]).is_err_and(|error| error == ResponseError::Missing));
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    let error = extract(b"ok \xff").unwrap_err();
    assert_eq!(error, ResponseError::NotUtf8(3));
    assert!(error.is_bad_input());
}

#[test]
fn many_fences_and_tags_are_read_in_one_go() {
    let text = "```\n```\n<result>".repeat(200_000);
    assert_eq!(extract(text.as_bytes()).unwrap_err().code(), "result_unclosed");
    let text = "<result>\n".repeat(400_000) + "</result> x";
    assert_eq!(extract(text.as_bytes()).unwrap_err().code(), "result_unclear");
    let text = "- `\n  ```result\n<result>\n".repeat(200_000);
    assert_eq!(extract(text.as_bytes()).unwrap_err().code(), "result_missing");
    let text = "<result></result>".repeat(200_000);
    assert_eq!(extract(text.as_bytes()).unwrap_err().code(), "result_ambiguous");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused(text in text()) {
        if let Ok(payload) = extract(text.as_bytes()) {
            let ends = text.replace("\r\n", "\n");
            let line = ends.split(['\n', '\r']).nth(usize::try_from(payload.line).unwrap() - 1).unwrap();
            let line = line.trim_start_matches(' ');
            let due = match payload.form {
                BlockForm::Fence => line.starts_with("```") || line.starts_with("~~~"),
                BlockForm::Tag => line.starts_with("<result>"),
                BlockForm::Whole => true,
            };
            prop_assert!(due, "{line:?} of {text:?}");
        }
    }

    #[test]
    fn nothing_counts_in_a_quote_a_list_or_another_block(text in text(), marker in select(vec!["> ", "- ", "1. "])) {
        let below = if marker == "> " { marker } else { &"   "[..marker.len()] };
        let lines: String = text.split(['\n', '\r']).map(|line| format!("{below}{line}\n")).collect();
        let fence = "`".repeat(20);
        for text in [format!("{marker}x\n{lines}"), format!("{fence}\n{text}\n{fence}")] {
            prop_assert!(extract(text.as_bytes()).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_block_after_an_empty_line_counts_whatever_sentences_come_before(words in "[a-z`<>/ ]{0,40}", tag: bool) {
        let block = if tag { "<result>\na: 1\n</result>" } else { "```result\na: 1\n```" };
        prop_assume!(!words.contains("```"));
        let text = format!("I {words}\n\n{block}\n");
        prop_assert!(extract(text.as_bytes()).is_ok(), "{text:?}");
    }
}

/// Pieces of responses in any order; most often lines of Markdown.
fn text() -> impl Strategy<Value = String> {
    let pieces = vec![
        "```",
        "```result",
        "~~~",
        "~~~~result",
        "<result>",
        "</result>",
        "a: 1",
        "{}",
        "{\"a\": 1}",
        "text",
        "`",
        "> ",
        "- ",
        "1. ",
        "2) ",
        "* * *",
        "  ",
        "   ",
        "    ",
        "\t",
        "",
        "",
        "\n",
        "\n",
        "\n",
        "\n\n",
        "\r\n",
        "\r",
        "\u{a0}",
    ];
    let line = vec(select(pieces), 0..4).prop_map(|pieces| pieces.concat());
    vec(line, 0..12).prop_map(|lines| lines.join("\n"))
}
