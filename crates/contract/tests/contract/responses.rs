use proofmark_contract::response::{Form, MAX_RESPONSE_BYTES, ResponseError, extract};

#[test]
fn the_result_block_is_found_in_each_of_its_forms() {
    let table = [
        ("Done.\n```result\n{\"a\": 1}\n```\n", Form::Fence, 2),
        ("Done.\n```json result\n{\"a\": 1}\n```", Form::Fence, 2),
        ("```result json\n{\"a\": 1}\n```", Form::Fence, 1),
        ("~~~result yaml\na: 1\n~~~", Form::Fence, 1),
        ("```yaml result\na: 1\n```", Form::Fence, 1),
        ("```result\na: 1\n```", Form::Fence, 1),
        ("x\n\n  ````result\n{\"a\": 1}\n  ````", Form::Fence, 3),
        ("I am done <result>{\"a\": 1}</result> as you see", Form::Tag, 1),
        ("one\n<result>\na: 1\n</result>\n", Form::Tag, 2),
        ("  {\"a\": 1}\n", Form::Whole, 1),
        ("````markdown\n```result\n{\"b\": 2}\n```\n````\n```result\n{\"a\": 1}\n```", Form::Fence, 6),
        ("```json\n{\"b\": 2}\n```\n```result\n{\"a\": 1}\n```", Form::Fence, 4),
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
    assert_eq!(error, ResponseError::Ambiguous(vec![2, 5, 5]));
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
    let text = "<result></result>".repeat(200_000);
    assert_eq!(extract(text.as_bytes()).unwrap_err().code(), "result_ambiguous");
}
