"""Writes the vectors beside it, with an implementation of its own. Needs the package `cryptography`."""

import base64
import copy
import hashlib
import json
import pathlib

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

HERE = pathlib.Path(__file__).parent
ORDER = 2**252 + 27742317777372353535851937790883648493
SPKI = bytes.fromhex("302a300506032b6570032100")
IDENTITY = bytes([1]) + bytes(31)


class Number(str):
    """A number as the text it is written with."""


class Key:
    def __init__(self, seed):
        self.private = Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32)
        self.raw = self.private.public_key().public_bytes_raw()
        self.spki = spki(self.raw)

    def sign_with_small_order_commitment(self, message):
        """A signature whose R is the identity: one that only a strict verifier refuses."""
        scalar = int.from_bytes(hashlib.sha512(self.private.private_bytes_raw()).digest()[:32], "little")
        scalar = scalar & ((1 << 254) - 8) | (1 << 254)
        challenge = int.from_bytes(hashlib.sha512(IDENTITY + self.raw + message).digest(), "little")
        return IDENTITY + (challenge * scalar % ORDER).to_bytes(32, "little")


def spki(raw):
    return base64.b64encode(SPKI + raw).decode()


ISSUER, OTHER = Key(1), Key(2)
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def base58(data):
    value, text = int.from_bytes(data, "big"), ""
    while value:
        value, digit = divmod(value, 58)
        text = BASE58[digit] + text
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + text


SPELLINGS = {
    "in_raw_base64": base64.b64encode(ISSUER.raw).decode(),
    "in_hex": "ed25519:" + ISSUER.raw.hex(),
    "as_did_key": "did:key:z" + base58(b"\xed\x01" + ISSUER.raw),
}

PRIME = 2**255 - 19
# The y coordinate of a point of order 8: a root of d·y⁴ + 2·y² − 1.
ORDER_8 = 0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826
SMALL_ORDER = {
    "1": IDENTITY, "2": (PRIME - 1).to_bytes(32, "little"), "4": bytes(32), "4_other_sign": bytes(31) + b"\x80",
    "8": ORDER_8.to_bytes(32, "little"), "8_other_sign": (ORDER_8 + 2**255).to_bytes(32, "little"),
    "8_negated": (PRIME - ORDER_8).to_bytes(32, "little"), "1_not_canonical": (PRIME + 1).to_bytes(32, "little"),
    "4_not_canonical": PRIME.to_bytes(32, "little"), "1_other_sign": (1 + 2**255).to_bytes(32, "little"),
}


def text_of(value, string, number, order=None):
    def write(value):
        if isinstance(value, Number):
            return number(value)
        if isinstance(value, str):
            return string(value)
        if isinstance(value, dict):
            members = sorted(value.items(), key=order) if order else value.items()
            return "{" + ",".join(string(k) + ":" + write(v) for k, v in members) + "}"
        if isinstance(value, list):
            return "[" + ",".join(map(write, value)) + "]"
        return json.dumps(value)

    return write(value)


def raw_string(text):
    return json.dumps(text, ensure_ascii=False)


def by_code_point(member):
    return member[0]


def by_utf16(member):
    return member[0].encode("utf-16-be")


def python_number(token):
    return json.dumps(json.loads(token))


def ecmascript_number(token):
    value = float(token)
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = f"{abs(value)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + ("" if fraction == "0" else fraction)).lstrip("0")
    point = len(whole) + int(exponent or 0)
    if whole == "0":
        point = int(exponent or 0) - (len(fraction) - len(fraction.lstrip("0")))
    digits = digits.rstrip("0") or "0"
    if len(digits) <= point <= 21:
        return sign + digits.ljust(point, "0")
    if 0 < point <= 21:
        return sign + digits[:point] + "." + digits[point:]
    if -6 < point <= 0:
        return sign + "0." + "0" * -point + digits
    tail = "." + digits[1:] if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{tail}e{point - 1:+d}"


def vrf(value):
    return text_of(value, raw_string, str, by_code_point)


FORMS = {
    "vrf": vrf,
    "jcs": lambda value: text_of(value, raw_string, ecmascript_number, by_utf16),
    "py-utf8": lambda value: text_of(value, raw_string, python_number, by_code_point),
    "py-ascii": lambda value: text_of(value, json.dumps, python_number, by_code_point),
}


def as_written(value):
    return text_of(value, raw_string, str)


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def unsigned(document):
    return {name: value for name, value in document.items() if name != "signature"}


def sign(document, key=ISSUER, form=vrf, content_hash=None, message=None, **changes):
    content_hash = content_hash or sha256(form(unsigned(document)))
    signature = key.private.sign(message if message is not None else content_hash.encode()).hex()
    fields = {"algorithm": "ed25519", "signer_id": key.spki, "content_hash": content_hash, "signature": signature}
    return {**document, "signature": {**fields, **changes}}


def body(**metadata):
    return {
        "vrf_version": "1.0",
        "receipt_id": "f47ac10b-58cc-4372-a567-0e02b2c3d479",
        "verified_at": "2026-02-19T00:46:00.000Z",
        "tier": Number("0"),
        "verdict": "partial",
        "task": {"task_id": "order-17", "task_type": "code_generation", "description": "sort a list"},
        "results": {
            "total": Number("3"), "passed": Number("1"), "failed": Number("1"), "errors": Number("1"),
            "details": [
                {"name": "empty", "status": "pass", "expected": "[]", "actual": "[]", "elapsed_ms": Number("2")},
                {"name": "three", "status": "fail", "expected": "[1,2,3]", "actual": "[1,3,2]"},
                {"name": "large", "status": "error", "message": "timed out"},
            ],
        },
        "hashes": {name: "sha256:" + sha256(name) for name in ("specification", "output", "tests")},
        "metadata": {"verifier": "vectors/1", **metadata, "issuer_key": ISSUER.spki},
    }


def at(document, path):
    *parents, last = path
    for name in parents:
        document = document[name]
    return document, last


def changed(document, *path_and_value):
    *path, value = path_and_value
    document = copy.deepcopy(document)
    parent, last = at(document, path)
    parent[last] = value
    return document


def without(document, *path):
    document = copy.deepcopy(document)
    parent, last = at(document, path)
    del parent[last]
    return document


def write(name, about, cases):
    names = [case["name"] for case in cases]
    assert len(names) == len(set(names)), [name for name in names if names.count(name) > 1]
    accepts = sum(case["expect"] in ("ok", "valid") for case in cases)
    assert accepts and len(cases) >= 4 * accepts, (name, accepts, len(cases))
    document = {"about": about, "cases": cases}
    (HERE / name).write_text(json.dumps(document, indent=1) + "\n")
    print(f"{name}: {accepts} accepts, {len(cases) - accepts} rejects")


# json.json

JSON_OK = [
    ("keys_sorted_at_every_level", "sorting only the top level", '{"b":{"d":1,"c":2},"a":[{"f":1,"e":2}]}'),
    ("keys_sorted_by_code_point_or_utf16", "one sort order for all profiles", '{"\U0001f600":1,"\ufb33":2,"z":3,"\u00e9":4}'),
    ("key_that_is_a_prefix", "sorting with the quotes", '{"ab":1,"a!":2,"a":3}'),
    ("numbers_as_written", "reading numbers as doubles", "[1.50,15e-1,-0,0.0,1E2,123456789012345678901234567890]"),
    ("number_exponents", "another language's exponents", "[1e21,1e16,123456789012345680.0,1e-5,0.0001,1e-7,0.000001,-1.5e300,5e-324]"),
    ("escapes_to_the_shortest_form", "escaping what need not be", '"\\u0041\\/\\u0008\\u001F\\u007f\\u2028\\u00e9\\ud83d\\ude00\\"\\\\"'),
    ("no_unicode_normalisation", "normalising before hashing", '["\u00e9","e\u0301"]'),
    ("white_space_between_tokens", "white space in what is hashed", ' {\t"a" :\r\n[ 1 , 2 ] } \n'),
    ("no_number_beyond_a_double", "`Infinity` in a canonical form", "[1e400]"),
    ("scalar_document", "wanting an object on top", "null"),
    ("nested_64_deep", "a lower limit of depth", "[" * 64 + "]" * 64),
]

JSON_BAD = [
    ("duplicate_key", "the last one wins", '{"a":1,"a":2}', "duplicate_key"),
    ("duplicate_key_same_value", "equal values excused", '{"a":1,"a":1}', "duplicate_key"),
    ("duplicate_key_escaped", "comparing keys before unescaping", '{"a":1,"\\u0061":2}', "duplicate_key"),
    ("duplicate_key_nested", "checking only the top level", '[{"x":{"a":1,"b":2,"a":3}}]', "duplicate_key"),
    ("duplicate_key_in_large_object", "checking only small objects", "{" + "".join(f'"k{n}":{n},' for n in range(40)) + '"k7":0}', "duplicate_key"),
    ("lone_high_surrogate", "replacing it by U+FFFD", '"\\ud800"', "lone_surrogate"),
    ("lone_low_surrogate", "replacing it by U+FFFD", '"\\udc00"', "lone_surrogate"),
    ("high_surrogate_then_text", "replacing it by U+FFFD", '"\\ud800x"', "lone_surrogate"),
    ("two_high_surrogates", "pairing any two escapes", '"\\ud800\\ud800"', "lone_surrogate"),
    ("lone_surrogate_in_key", "checking only values", '{"\\udfff":1}', "lone_surrogate"),
    ("byte_order_mark", "skipping it", b"\xef\xbb\xbf{}", "byte_order_mark"),
    ("utf16", "guessing the encoding", "{}".encode("utf-16-le"), "unexpected_character"),
    ("invalid_utf8", "lossy decoding", b'"\xff"', "invalid_utf8"),
    ("overlong_utf8", "a lenient decoder", b'"\xc0\xaf"', "invalid_utf8"),
    ("surrogate_in_utf8", "a decoder of CESU-8", b'"\xed\xa0\x80"', "invalid_utf8"),
    ("utf8_past_the_end_of_unicode", "a decoder of four bytes", b'"\xf4\x90\x80\x80"', "invalid_utf8"),
    ("leading_zero", "octal or lenient numbers", "[01]", "leading_zero"),
    ("negative_leading_zero", "checking only positive numbers", "[-01]", "leading_zero"),
    ("plus_sign", "`strtod`", "[+1]", "unexpected_character"),
    ("no_digit_before_point", "`strtod`", "[.5]", "unexpected_character"),
    ("no_digit_after_point", "`strtod`", "[1.]", "invalid_number"),
    ("no_digit_in_exponent", "`strtod`", "[1e+]", "invalid_number"),
    ("minus_alone", "zero for no digits", "[-]", "invalid_number"),
    ("nan", "Python's default", "[NaN]", "invalid_literal"),
    ("infinity", "Python's default", "[-Infinity]", "invalid_number"),
    ("hexadecimal", "JSON5", "[0x10]", "unexpected_character"),
    ("capitalised_literal", "Python's literals", "[True]", "invalid_literal"),
    ("single_quotes", "JSON5", "['a']", "unexpected_character"),
    ("unquoted_key", "JSON5", "{a:1}", "unexpected_character"),
    ("comment", "JSON5", "[1]/**/", "trailing_data"),
    ("trailing_comma_in_array", "JSON5", "[1,]", "trailing_comma"),
    ("trailing_comma_in_object", "JSON5", '{"a":1,}', "trailing_comma"),
    ("two_documents", "reading only the first", "{}{}", "trailing_data"),
    ("null_byte_after", "C strings", "{}\0", "trailing_data"),
    ("vertical_tab", "`isspace`", "[\v1]", "unexpected_character"),
    ("no_break_space", "Unicode's white space", "[\u00a01]", "unexpected_character"),
    ("control_character", "lenient strings", '"\x1f"', "control_character"),
    ("line_break_in_string", "lenient strings", '"a\nb"', "control_character"),
    ("unknown_escape", "keeping the letter", '"\\x41"', "invalid_escape"),
    ("short_unicode_escape", "reading fewer digits", '"\\u41"', "invalid_escape"),
    ("signed_unicode_escape", "`strtol` for the digits", '"\\u+041"', "invalid_escape"),
    ("cut_off", "closing what is open", '{"a":[1', "unexpected_end"),
    ("cut_off_literal", "a prefix of a literal", "tru", "unexpected_end"),
    ("empty", "null for nothing", "", "unexpected_end"),
    ("only_white_space", "null for nothing", " \n", "unexpected_end"),
    ("nested_65_deep", "no limit of depth", "[" * 65 + "]" * 65, "too_deep"),
    ("objects_nested_65_deep", "counting only arrays", '{"a":' * 65 + "1" + "}" * 65, "too_deep"),
]


def json_cases():
    yield from map(json_accept, JSON_OK)
    for name, rejects, text, expect in JSON_BAD:
        where = {"text": text} if isinstance(text, str) else {"hex": text.hex()}
        yield {"name": name, "rejects": rejects, **where, "expect": expect}
    yield {"name": "one_byte_past_1_mib", "rejects": "no limit of size", "spaces_before": 1 << 20, "text": "1", "expect": "too_large"}
    # A whole document of this size has as many values as may be; one that is cut off can have one more.
    yield {"name": "more_values_than_fit", "rejects": "no limit of values", "text": "[1", "then": ",1", "times": (1 << 19) - 1, "expect": "too_many_values"}


def json_accept(case):
    name, rejects, text = case
    value = json.loads(text, parse_int=Number, parse_float=Number)
    canonical = {}
    for profile, form in FORMS.items():
        infinite = profile != "vrf" and "1e400" in text
        canonical[profile] = {"error": "number_not_finite"} if infinite else form(value)
    return {"name": name, "rejects": rejects, "text": text, "expect": "ok", "canonical": canonical}


# receipt.json


def case(name, rejects, receipt, expect="valid", **more):
    where = {"receipt_hex": receipt.hex()} if isinstance(receipt, bytes) else {"receipt": receipt if isinstance(receipt, str) else as_written(receipt)}
    invalid = ("content_hash_mismatch", "signature_mismatch", "issuer_key_mismatch", "passkey_mismatch", "shown_mismatch")
    answer = "valid" if expect == "valid" else "invalid" if expect in invalid else "undecidable"
    return {"name": name, "rejects": rejects, **where, **more, "expect": expect, "answer": answer}


def reordered(value):
    if isinstance(value, dict):
        return {name: reordered(value[name]) for name in reversed(value)}
    return [reordered(item) for item in value] if isinstance(value, list) else value


def receipt_accepts():
    plain = sign(body())
    yield case("issued", "everything", plain, trust="unknown")
    yield case("issued_and_trusted", "ignoring whom the caller trusts", plain, trusted=[OTHER.spki, ISSUER.spki], trust="trusted")
    yield case("issued_by_another_than_trusted", "trusting every valid signature", plain, trusted=[OTHER.spki], trust="untrusted")
    spaced = as_written(reordered(plain)).replace(',"', ' ,\n\t"')
    yield case("reordered_and_spaced", "hashing the bytes as they came", spaced)
    words = sign(changed(body(), "task", "description", "trié \U0001f600 \u2028 \x7f\x01"))
    yield case("beyond_ascii", "escaping beyond ASCII", words)
    yield case("beyond_ascii_escaped", "hashing escapes as they came", as_written(words).replace("é", "\\u00E9").replace("/", "\\/"))
    yield case("largest_integers", "limits of 32 bits", sign(body(most=Number("9007199254740991"), least=Number("-9007199254740991"))))
    yield case("real_asked_for_in_jcs", "refusing every real", sign(body(score=Number("1.50")), form=FORMS["jcs"]), profile="jcs")
    yield case("large_integer_asked_for_in_python", "reading numbers as doubles", sign(body(n=Number("9007199254740993")), form=FORMS["py-utf8"]), profile="py-utf8")
    yield case("unknown_members", "refusing what it does not know", sign({**body(future={"a": [None]}), "extension": True}))
    yield case("nested_signature_is_signed", "leaving out every `signature`", sign(body(signature={"by": "x"})))
    yield case("details_left_out", "wanting all details", sign(changed(body(), "results", "details", [])))
    yield case("without_issuer_key", "wanting what VRF 1.0 does not", sign(without(body(), "metadata", "issuer_key")))
    decided = changed(body(decided="submission"), "results", "details", 0, "decided", "verifier")
    yield case("with_who_decided", "one word for all", sign(changed(decided, "results", "details", 1, "decided", "submission")))
    yield case("metadata_decided_is_free", "reading words of metadata", sign(body(decided=Number("1"))))
    for name, signer in SPELLINGS.items():
        document = sign(without(body(), "metadata", "issuer_key"), signer_id=signer)
        yield case(f"signer_{name}_asked_for_in_jcs", "only one form of key", document, profile="jcs")
    hashed = sha256(vrf(body()))
    yield case("prefixed_content_hash", "signing the bare digits always", sign(body(), content_hash="sha256:" + hashed))
    ascii_form = sign(changed(body(), "task", "description", "trié"), form=FORMS["py-ascii"])
    yield case("python_ascii_asked_for", "ignoring the profile", ascii_form, profile="py-ascii")


def json_rejects():
    text = as_written(sign(body()))
    yield case("empty", "a default receipt", "", "unexpected_end")
    yield case("array", "unwrapping a list of one", f"[{text}]", "wrong_type")
    yield case("duplicate_verdict", "the last one wins", text.replace('"tier"', '"verdict":"pass","tier"'), "duplicate_key")
    yield case("duplicate_verdict_escaped", "comparing keys before unescaping", text.replace('"tier"', '"verdi\\u0063t":"pass","tier"'), "duplicate_key")
    yield case("duplicate_signature", "removing only one", text[:-1] + ',"signature":{}}', "duplicate_key")
    yield case("byte_order_mark", "skipping it", b"\xef\xbb\xbf" + text.encode(), "byte_order_mark")
    yield case("invalid_utf8", "lossy decoding", text.encode().replace(b"order-17", b"order-\xff"), "invalid_utf8")
    yield case("lone_surrogate", "replacing it by U+FFFD", text.replace("order-17", "\\ud800"), "lone_surrogate")
    yield case("trailing_text", "reading only the first document", text + "{}", "trailing_data")
    yield case("cut_off", "closing what is open", text[:-1], "unexpected_end")
    yield case("not_a_number", "Python's default", text.replace('"tier":0', '"tier":NaN'), "invalid_literal")


REQUIRED = [
    ("vrf_version",), ("receipt_id",), ("verified_at",), ("tier",), ("verdict",), ("results",), ("hashes",),
    ("results", "total"), ("results", "passed"), ("results", "failed"), ("results", "errors"), ("results", "details"),
    ("results", "details", 1, "name"), ("results", "details", 2, "status"),
    ("hashes", "specification"), ("hashes", "output"),
]

RULES = [
    ("version_1_1", ("vrf_version", "1.1"), "unsupported_version"),
    ("version_a_number", ("vrf_version", Number("1.0")), "wrong_type"),
    ("version_null", ("vrf_version", None), "wrong_type"),
    ("id_of_another_version", ("receipt_id", "a1b2c3d4-e5f6-7890-abcd-ef1234567890"), "invalid_receipt_id"),
    ("id_of_another_variant", ("receipt_id", "f47ac10b-58cc-4372-c567-0e02b2c3d479"), "invalid_receipt_id"),
    ("id_without_hyphens", ("receipt_id", "f47ac10b58cc4372a5670e02b2c3d479"), "invalid_receipt_id"),
    ("id_in_braces", ("receipt_id", "{f47ac10b-58cc-4372-a567-0e02b2c3d479}"), "invalid_receipt_id"),
    ("time_with_offset", ("verified_at", "2026-02-19T00:46:00+01:00"), "invalid_timestamp"),
    ("time_without_zone", ("verified_at", "2026-02-19T00:46:00"), "invalid_timestamp"),
    ("time_with_a_space", ("verified_at", "2026-02-19 00:46:00Z"), "invalid_timestamp"),
    ("time_of_no_day", ("verified_at", "2026-02-29T00:46:00Z"), "invalid_timestamp"),
    ("time_a_leap_second", ("verified_at", "2016-12-31T23:59:60Z"), "invalid_timestamp"),
    ("time_a_number", ("verified_at", Number("1771461960")), "wrong_type"),
    ("tier_4", ("tier", Number("4")), "tier_out_of_range"),
    ("tier_negative", ("tier", Number("-1")), "tier_out_of_range"),
    ("tier_256", ("tier", Number("256")), "tier_out_of_range"),
    ("tier_with_a_point", ("tier", Number("0.0")), "wrong_type"),
    ("tier_text", ("tier", "0"), "wrong_type"),
    ("tier_boolean", ("tier", False), "wrong_type"),
    ("verdict_upper_case", ("verdict", "PASS"), "unknown_verdict"),
    ("verdict_passed", ("verdict", "passed"), "unknown_verdict"),
    ("verdict_boolean", ("verdict", True), "wrong_type"),
    ("status_skip", ("results", "details", 0, "status", "skip"), "unknown_status"),
    ("decided_by_nobody", ("results", "details", 0, "decided", "none"), "unknown_decided"),
    ("decided_upper_case", ("results", "details", 0, "decided", "Verifier"), "unknown_decided"),
    ("decided_empty", ("results", "details", 0, "decided", ""), "unknown_decided"),
    ("decided_a_boolean", ("results", "details", 0, "decided", True), "wrong_type"),
    ("decided_null", ("results", "details", 0, "decided", None), "wrong_type"),
    ("total_too_large", ("results", "total", Number("4")), "total_mismatch"),
    ("total_too_small", ("results", "total", Number("2")), "total_mismatch"),
    ("total_that_overflows", ("results", "passed", Number("18446744073709551615")), "total_mismatch"),
    ("count_negative", ("results", "failed", Number("-1")), "count_out_of_range"),
    ("count_past_64_bits", ("results", "total", Number("18446744073709551616")), "count_out_of_range"),
    ("count_with_a_point", ("results", "passed", Number("1.0")), "wrong_type"),
    ("count_with_an_exponent", ("results", "passed", Number("1e0")), "wrong_type"),
    ("elapsed_with_a_point", ("results", "details", 0, "elapsed_ms", Number("2.5")), "wrong_type"),
    ("more_passes_shown_than_counted", ("results", "details", 1, "status", "pass"), "details_mismatch"),
    ("details_an_object", ("results", "details", {}), "wrong_type"),
    ("detail_a_word", ("results", "details", 0, "pass"), "wrong_type"),
    ("expected_not_text", ("results", "details", 0, "expected", []), "wrong_type"),
    ("hash_without_prefix", ("hashes", "output", sha256("output")), "invalid_hash"),
    ("hash_in_upper_case", ("hashes", "output", "sha256:" + sha256("output").upper()), "invalid_hash"),
    ("hash_too_short", ("hashes", "output", "sha256:" + sha256("output")[1:]), "invalid_hash"),
    ("hash_of_another_algorithm", ("hashes", "tests", "sha512:" + sha256("tests")), "invalid_hash"),
    ("optional_hash_null", ("hashes", "tests", None), "wrong_type"),
    ("task_text", ("task", "order-17"), "wrong_type"),
    ("description_a_number", ("task", "description", Number("1")), "wrong_type"),
    ("metadata_an_array", ("metadata", []), "wrong_type"),
]


def rule_rejects():
    for path in REQUIRED:
        name = "_".join(str(part) for part in path)
        yield case(f"missing_{name}", "an optional required field", sign(without(body(), *path)), "missing_field")
    for name, change, expect in RULES:
        yield case(name, "checking the signature only", sign(changed(body(), *change)), expect)


def contradictions():
    no_checks = {name: Number("0") for name in ("total", "passed", "failed", "errors")} | {"details": []}
    one_check = {**no_checks, "total": Number("1")}
    passed, failed = {**one_check, "passed": Number("1")}, {**one_check, "failed": Number("1")}
    rejects = "believing the verdict alone"
    for name, verdict, results in [
        ("pass_with_a_failed_check", "pass", body()["results"]), ("pass_of_no_checks", "pass", no_checks),
        ("pass_of_nothing_that_passed", "pass", failed), ("partial_of_all", "partial", passed),
        ("partial_of_none", "partial", failed),
    ]:
        yield case(name, rejects, sign({**body(), "verdict": verdict, "results": results}), "verdict_mismatch")
    for name, verdict, results in [("fail_of_a_command", "fail", passed), ("error_of_no_checks", "error", no_checks)]:
        yield case(name, "refusing what a project's command may give", sign({**body(), "verdict": verdict, "results": results}))


def signature_form_rejects():
    plain = sign(body())
    for field in ("algorithm", "signer_id", "content_hash", "signature"):
        yield case(f"missing_signature_{field}", "a default", without(plain, "signature", field), "missing_field")
    yield case("unsigned", "valid for want of a signature", body(), "unsigned")
    for name, value in {"note": "x", "trusted": True, "Algorithm": "ed25519", "": None}.items():
        yield case(f"signature_with_{name or 'an_empty_name'}", "reading what is not signed", changed(plain, "signature", name, value), "unsigned_member")
    for name, signer in SPELLINGS.items():
        yield case(f"signer_respelt_{name}", "many spellings of one key", sign(body(), signer_id=signer), "invalid_signer_id")
        unnamed = sign(without(body(), "metadata", "issuer_key"), signer_id=signer)
        yield case(f"signer_{name}_without_issuer_key", "many spellings of one key", unnamed, "invalid_signer_id", hint="jcs")
    yield case("signature_null", "null as absent", {**body(), "signature": None}, "wrong_type")
    for algorithm in ("none", "Ed25519", "ed25519ph", ""):
        yield case(f"algorithm_{algorithm or 'empty'}", "ignoring the algorithm", sign(body(), algorithm=algorithm), "unknown_algorithm")
    signers = {
        "empty": "", "without_padding": ISSUER.spki.rstrip("="), "hex": ISSUER.raw.hex(),
        "of_x25519": base64.b64encode(SPKI.replace(b"\x65\x70", b"\x65\x6e") + ISSUER.raw).decode(),
        "with_line_break": ISSUER.spki + "\n",
    }
    for name, signer in signers.items():
        yield case(f"signer_{name}", "a lenient key decoder", sign(body(), signer_id=signer), "invalid_signer_id")
    digits = plain["signature"]["content_hash"]
    for name, text in {"upper_case": digits.upper(), "short": digits[1:], "double_prefix": "sha256:sha256:" + digits}.items():
        yield case(f"content_hash_{name}", "a lenient hex decoder", sign(body(), content_hash=text), "invalid_content_hash")
    digits = plain["signature"]["signature"]
    forms = {"base64": base64.b64encode(bytes.fromhex(digits)).decode(), "short": digits[1:], "long": digits + "00", "upper_case": digits.upper(), "with_prefix": "0x" + digits[2:]}
    for name, text in forms.items():
        yield case(f"signature_{name}", "a lenient hex decoder", sign(body(), signature=text), "invalid_signature")


def number_rejects():
    tokens = {
        "real": "1.5", "real_zero": "0.0", "exponent": "1e2", "negative_zero": "-0", "past_2_53": "9007199254740992",
        "past_minus_2_53": "-9007199254740992", "past_64_bits": "123456789012345678901", "past_a_double": "1e400",
    }
    kept = {"1.5": "jcs", "0.0": "py-utf8", "9007199254740992": "jcs", "-9007199254740992": "jcs", "123456789012345678901": "py-utf8"}
    for name, token in tokens.items():
        hint = {"hint": kept[token]} if token in kept else {}
        yield case(f"number_{name}", "numbers that readers read otherwise", sign(body(n=Number(token))), "number_not_exact", **hint)
    lost = {"jcs": ("9007199254740993", "0.10000000000000000001", "1e-400", "-0", "-0.0"), "py-utf8": ("0.10000000000000000001", "9007199254740993.0", "1e-400", "-0")}
    for profile, tokens in lost.items():
        for token in tokens:
            document = sign(body(n=Number(token)), form=FORMS[profile])
            yield case(f"number_{token}_in_{profile}", "two numbers under one signature", document, "number_not_exact", profile=profile)
    shared = sign(body(n=Number("9007199254740992")), form=FORMS["jcs"])
    yield case("number_of_another_signature", "two numbers under one signature", changed(shared, "metadata", "n", Number("9007199254740993")), "number_not_exact", profile="jcs")


def content_rejects():
    inexact = "number_not_exact"
    plain, mismatch = sign(body()), "content_hash_mismatch"
    yield case("verdict_changed", "checking the signature only", changed(plain, "verdict", "pass"), mismatch)
    yield case("output_changed", "checking the signature only", changed(plain, "hashes", "output", "sha256:" + "0" * 64), mismatch)
    yield case("number_rewritten", "reading numbers as doubles", changed(sign(body(n=Number("1"))), "metadata", "n", Number("1.0")), inexact, hint="jcs")
    yield case("zero_made_negative", "reading numbers as integers", changed(sign(body(n=Number("0"))), "metadata", "n", Number("-0")), inexact)
    yield case("space_added_in_text", "trimming text", changed(plain, "task", "description", "sort a list "), mismatch)
    accented = sign(changed(body(), "task", "description", "tri\u00e9"))
    yield case("text_decomposed", "normalising before hashing", changed(accented, "task", "description", "trie\u0301"), mismatch)
    yield case("member_added", "hashing only what it knows", {**plain, "extension": True}, mismatch)
    yield case("metadata_removed", "hashing only what it knows", without(plain, "metadata"), mismatch)
    yield case("null_added", "leaving out null", changed(plain, "task", "note", None), mismatch)
    yield case("details_swapped", "sorting arrays", changed(plain, "results", "details", plain["results"]["details"][::-1]), mismatch)
    nested = body(signature="x")
    yield case("nested_signature_left_out", "leaving out every `signature`", sign(nested, form=lambda d: vrf(without(d, "metadata", "signature"))), mismatch)
    yield case("hashed_unsorted", "hashing in document order", sign(body(), form=as_written), mismatch)
    yield case("hashed_with_spaces", "Python's default separators", sign(body(), form=lambda d: json.dumps(json.loads(as_written(d)), sort_keys=True)), mismatch)
    yield case("hashed_with_line_end", "a text file's last line", sign(body(), form=lambda d: vrf(d) + "\n"), mismatch)
    words = changed(body(), "task", "description", "tri\u00e9")
    yield case("hashed_by_python_ascii", "trying profiles silently", sign(words, form=FORMS["py-ascii"]), mismatch, hint="py-ascii")
    keys = body(**{"\U0001f600": "1", "\ufb33": "2"})
    yield case("hashed_by_jcs", "trying profiles silently", sign(keys, form=FORMS["jcs"]), mismatch, hint="jcs")
    yield case("hashed_by_vrf_asked_jcs", "ignoring the profile", sign(keys), mismatch, profile="jcs", hint="vrf")
    reals = body(score=Number("1.50"))
    yield case("hashed_by_python_utf8", "trying profiles silently", sign(reals, form=FORMS["py-utf8"]), inexact, hint="jcs")
    yield case("no_form_in_jcs", "`Infinity` in a canonical form", sign(body(score=Number("1e400"))), "number_not_finite", profile="jcs")


def signature_rejects():
    plain, mismatch = sign(body()), "signature_mismatch"
    signature = bytes.fromhex(plain["signature"]["signature"])
    digest = plain["signature"]["content_hash"]
    scalar = (int.from_bytes(signature[32:], "little") + ORDER).to_bytes(32, "little")
    yield case("signature_bit_flipped", "checking the hash only", sign(body(), signature=(bytes([signature[0] ^ 1]) + signature[1:]).hex()), mismatch)
    yield case("signature_zero", "checking the hash only", sign(body(), signature="00" * 64), mismatch)
    yield case("signature_with_another_scalar", "a scalar not reduced", sign(body(), signature=(signature[:32] + scalar).hex()), mismatch)
    yield case("signed_the_hash_as_bytes", "signing 32 bytes, not 64 digits", sign(body(), message=bytes.fromhex(digest)), mismatch)
    yield case("signed_the_document", "signing the document, not its hash", sign(body(), message=vrf(body()).encode()), mismatch)
    yield case("signed_without_the_prefix", "signing the bare digits always", sign(body(), content_hash="sha256:" + digest, message=digest.encode()), mismatch)
    yield case("prefix_removed", "signing the bare digits always", sign(body(), content_hash=digest, message=b"sha256:" + digest.encode()), mismatch)
    yield case("signer_replaced", "checking the hash only", sign(body(), signer_id=OTHER.spki), mismatch)
    commitment = ISSUER.sign_with_small_order_commitment(digest.encode())
    yield case("small_order_commitment", "verifying without the strict rules", sign(body(), signature=commitment.hex()), mismatch)
    weak = lambda raw: sign(changed(body(), "metadata", "issuer_key", spki(raw)), signer_id=spki(raw), signature=(IDENTITY + bytes(32)).hex())
    for name, raw in SMALL_ORDER.items():
        yield case(f"small_order_key_{name}", "comparing with one list of weak keys", weak(raw), mismatch)
    yield case("small_order_key_unnamed", "verifying without the strict rules", sign(without(body(), "metadata", "issuer_key"), signer_id=spki(IDENTITY), signature=(IDENTITY + bytes(32)).hex()), mismatch)
    point = bytes([2]) + bytes(31)
    yield case("key_off_the_curve", "a crash on a bad point", sign(without(body(), "metadata", "issuer_key"), signer_id=spki(point)), mismatch)


def issuer_rejects():
    mismatch = "issuer_key_mismatch"
    yield case("signed_again_by_another", "no signed name of the signer", sign(body(), OTHER), mismatch)
    yield case("signed_again_by_one_trusted", "trusting the key alone", sign(body(), OTHER), mismatch, trusted=[OTHER.spki], trust="unknown")
    for name, signer in SPELLINGS.items():
        respelt = changed(body(), "metadata", "issuer_key", signer)
        yield case(f"issuer_key_{name}", "comparing keys, not what is written", sign(respelt), mismatch)
        yield case(f"issuer_key_{name}_in_jcs", "comparing keys, not what is written", sign(respelt), mismatch, profile="jcs")
    for name, issuer in {"a_number": Number("1"), "null": None, "unreadable": "me"}.items():
        yield case(f"issuer_key_{name}", "ignoring what it cannot read", sign(changed(body(), "metadata", "issuer_key", issuer)), mismatch)


def receipt_cases():
    for cases in (receipt_accepts, json_rejects, rule_rejects, contradictions, signature_form_rejects, number_rejects, content_rejects, signature_rejects, issuer_rejects):
        yield from cases()


# chain.json and head.json


def chain(length, salt=0):
    receipts, link = [], {}
    for position in range(length):
        receipts.append(linked(position, salt, chain_position=Number(position), **link))
        link = pins(receipts[-1])
    return receipts


def linked(position, salt, **metadata):
    receipt_id = f"00000000-0000-4000-8000-{salt:06x}{position:06x}"
    return sign({**body(**metadata), "receipt_id": receipt_id})


def pins(receipt):
    return {"previous_receipt": receipt["receipt_id"], "previous_receipt_hash": "sha256:" + sha256(vrf(receipt))}


def head_of(receipts, length=None, tip=None, **changes):
    document = {
        "format": "proofmark-chain-head/1", "chain": "default", "length": Number(length or len(receipts)),
        "tip": tip or pins(receipts[-1])["previous_receipt_hash"], "signed_at": "2026-02-19T00:46:00.000Z",
        "issuer_key": ISSUER.spki, **changes,
    }
    return sign(document)


def chain_case(name, rejects, receipts, expect="ok", head=None, **more):
    with_head = {} if head is None else {"head": as_written(head)}
    return {"name": name, "rejects": rejects, "receipts": list(map(as_written, receipts)), **with_head, **more, "expect": expect}


def chain_cases():
    a, b, c, d = whole = chain(4)
    other = chain(4, salt=1)
    after = lambda receipt, position, **changes: linked(position, 9, chain_position=Number(position), **{**pins(receipt), **changes})
    bare = lambda position, **metadata: linked(0, 9, chain_position=position, **metadata)
    yield chain_case("one_receipt", "wanting a predecessor", [a])
    yield chain_case("four_receipts", "everything", whole)
    yield chain_case("four_receipts_and_their_head", "everything", whole, head=head_of(whole))
    yield chain_case("no_receipts", "nothing is whole", [], "empty_chain")
    yield chain_case("no_receipts_of_a_head", "nothing is whole", [], "empty_chain", head_of(whole))
    yield chain_case("begins_later", "any first position", whole[1:], "wrong_first_position")
    yield chain_case("begins_at_1_without_predecessor", "counting from 1", [bare(Number("1"))], "wrong_first_position")
    yield chain_case("first_has_a_predecessor", "ignoring the first one's links", [bare(Number("0"), **pins(d))], "wrong_first_position")
    yield chain_case("no_position", "linking by the hash only", [a, sign(body(**pins(a)))], "unlinked")
    yield chain_case("position_text", "converting text", [bare("0")], "unlinked")
    yield chain_case("position_with_a_point", "reading numbers as doubles", [bare(Number("0.0"))], "unlinked")
    yield chain_case("position_negative", "wrapping around", [bare(Number("-1"))], "unlinked")
    yield chain_case("second_left_out", "comparing ids only at the end", [a, c, d], "gap")
    yield chain_case("two_left_out", "comparing ids only at the end", [a, d], "gap")
    yield chain_case("last_two_swapped", "sorting first", [a, b, d, c], "gap")
    yield chain_case("two_at_one_position", "the last one wins", [a, b, after(a, 1)], "fork")
    yield chain_case("one_twice", "leaving out doubles", [a, b, b, c], "fork")
    yield chain_case("one_again_later", "leaving out doubles", [a, b, c, a], "reordered")
    yield chain_case("reversed", "sorting first", whole[::-1], "wrong_first_position")
    yield chain_case("earlier_one_after_later", "sorting first", [a, b, c, b], "reordered")
    yield chain_case("one_of_another_chain", "comparing positions only", [a, other[1], c, d], "swapped_predecessor")
    yield chain_case("first_signed_again", "comparing ids only", [linked(0, 0, chain_position=Number("0"), note="x"), b], "swapped_predecessor")
    yield chain_case("signature_object_changed", "hashing without the signature", [changed(a, "signature", "signature", "00" * 64), b], "swapped_predecessor")
    yield chain_case("pins_another_id", "comparing hashes only", [a, after(a, 1, previous_receipt=d["receipt_id"])], "swapped_predecessor")
    bare_hash = pins(a)["previous_receipt_hash"].removeprefix("sha256:")
    yield chain_case("hash_without_prefix", "a lenient digest", [a, after(a, 1, previous_receipt_hash=bare_hash)], "swapped_predecessor")
    no_id = {"previous_receipt_hash": pins(a)["previous_receipt_hash"]}
    yield chain_case("pins_no_id", "comparing hashes only", [a, bare(Number("1"), **no_id)], "swapped_predecessor")
    yield chain_case("pins_no_hash", "an id alone as a link", [a, bare(Number("1"), previous_receipt=a["receipt_id"])], "unpinned")
    yield chain_case("hash_not_text", "an id alone as a link", [a, after(a, 1, previous_receipt_hash=None)], "unpinned")
    lost = {"position": Number("4"), "hash": pins(d)["previous_receipt_hash"]}
    stated = after(b, 2, chain_loss=lost)
    yield chain_case("states_a_loss", "leaving out what it does not know", [a, b, stated], losses="2:4")
    yield chain_case("begins_with_a_loss", "wanting a predecessor", [linked(0, 0, chain_position=Number("0"), chain_loss=lost)], losses="0:4")
    for name, loss in [("null", None), ("text", "4"), ("without_position", {"hash": lost["hash"]}), ("without_hash", {"position": lost["position"]}),
                       ("with_half_a_position", {**lost, "position": Number("4.0")}), ("with_another_digest", {**lost, "hash": "sha256:00"})]:
        yield chain_case(f"loss_{name}", "a loss that names nothing", [a, after(a, 1, chain_loss=loss)], "unreadable_loss")
    yield chain_case("end_cut_off", "no signed end", whole[:3], "truncated", head_of(whole))
    yield chain_case("all_but_one_cut_off", "no signed end", whole[:1], "truncated", head_of(whole))
    stranger = sign(unsigned(changed(head_of(whole[:2]), "issuer_key", OTHER.spki)), OTHER)
    yield chain_case("cut_off_and_head_by_a_stranger", "any signed head", whole[:2], "untrusted_head", stranger)
    yield chain_case("cut_off_and_head_by_one_trusted", "hearing the issuer only", whole[:2], "ok", stranger, trusted=[OTHER.spki])
    yield chain_case("head_by_a_stranger_and_another_trusted", "trusting every key once one is", whole[:2], "untrusted_head", stranger, trusted=[ISSUER.spki])
    mixed = [a, sign({**unsigned(after(a, 1)), "metadata": {**after(a, 1)["metadata"], "issuer_key": OTHER.spki}}, OTHER)]
    yield chain_case("head_by_the_last_signer_only", "asking the last receipt alone", mixed, "untrusted_head", sign(unsigned(changed(head_of(mixed), "issuer_key", OTHER.spki)), OTHER))
    yield chain_case("head_by_the_first_signer_only", "asking the first receipt alone", mixed, "untrusted_head", head_of(mixed))
    yield chain_case("head_of_another_chain", "comparing lengths only", whole, "other_head", head_of(other))
    yield chain_case("head_of_fewer", "a length as a lower bound", whole, "other_head", head_of(whole[:3]))
    yield chain_case("head_of_none", "a length as a lower bound", whole, "other_head", changed(head_of(whole), "length", Number("0")))


def head_case(name, rejects, head, expect="valid", **more):
    found = case(name, rejects, head, expect, **more)
    return {("head" if field == "receipt" else field): value for field, value in found.items()}


def head_cases():
    head = head_of(chain(2))
    yield head_case("issued", "everything", head, trusted=[ISSUER.spki], trust="trusted")
    yield head_case("reordered", "hashing the bytes as they came", reordered(head), trust="unknown")
    yield head_case("length_changed", "checking the signature only", changed(head, "length", Number("1")), "content_hash_mismatch")
    yield head_case("tip_changed", "checking the signature only", changed(head, "tip", "sha256:" + "0" * 64), "content_hash_mismatch")
    yield head_case("chain_renamed", "hashing only what it knows", changed(head, "chain", "other"), "content_hash_mismatch")
    yield head_case("signed_by_another", "no signed name of the signer", sign(unsigned(head), OTHER), "issuer_key_mismatch")
    yield head_case("without_issuer_key", "an optional name of the signer", sign(unsigned(without(head, "issuer_key"))), "issuer_key_mismatch")
    yield head_case("signature_zero", "checking the hash only", changed(head, "signature", "signature", "00" * 64), "signature_mismatch")
    respelt = changed(head, "signature", "signer_id", SPELLINGS["as_did_key"])
    yield head_case("signer_respelt", "many spellings of one key", respelt, "invalid_signer_id")
    both = sign({**unsigned(head), "issuer_key": SPELLINGS["in_hex"]}, signer_id=SPELLINGS["in_hex"])
    yield head_case("key_in_hex", "many spellings of one key", both, "invalid_signer_id")
    yield head_case("signature_with_note", "reading what is not signed", changed(head, "signature", "note", "x"), "unsigned_member")
    yield head_case("real_beside", "numbers that readers read otherwise", sign({**unsigned(head), "n": Number("1.5")}), "number_not_exact")
    yield head_case("unsigned", "valid for want of a signature", unsigned(head), "missing_field")
    yield head_case("another_format", "ignoring the format", sign({**unsigned(head), "format": "proofmark-chain-head/2"}), "wrong_format")
    yield head_case("a_receipt", "any signed document", sign(body()), "missing_field")
    yield head_case("length_real", "reading numbers as doubles", sign({**unsigned(head), "length": Number("2.0")}), "wrong_type")
    yield head_case("tip_without_prefix", "a lenient digest", sign({**unsigned(head), "tip": "0" * 64}), "invalid_hash")
    yield head_case("time_with_offset", "a lenient clock", sign({**unsigned(head), "signed_at": "2026-02-19T00:46:00+01:00"}), "invalid_timestamp")


# decision.json


def decision(**changes):
    digest = lambda name: "sha256:" + sha256(name)
    return {
        "receipt_type": "verifiedx_decision_receipt", "decision_id": "f47ac10b-58cc-4372-a567-0e02b2c3d479", "outcome": "allow",
        "action_class": "record_mutation", "safe_to_execute": True, "human_review_terminal": False,
        "must_not_retry_same_action": False, "reasons": [], "safe_next_steps": [], "viewer_guidance": [],
        "what_would_change_this": [],
        "disposition": {
            "mode": "continue_downstream", "downstream_allowed": True, "local_replan_recommended": False,
            "upstream_replan_required": False,
        },
        "routing": {"direction": "downstream", "target_hint": None, "return_to_node": None, "workflow_id": None, "node_id": None},
        "resume_contract": {
            "retry_this_node": False, "pass_receipt_upstream": False, "pass_new_upstream_context_on_retry": False,
            "resume_when": [], "conditions": [],
        },
        "runtime_loopback": None, "metadata": {"chain_position": Number("0")},
        "binding": {
            **{name: digest(name) for name in ("action_hash", "policy_hash", "facts_hash", "fingerprint")}, "engine": "vectors/1",
            "steps": Number("12"), "denied_before": Number("0"),
            "decided_at": "2026-02-19T00:46:00.000Z", "expires_at": "2026-02-19T00:51:00.000Z",
        },
        "evidence": [], "issuer_key": ISSUER.spki, **changes,
    }


def decision_case(name, rejects, document, expect="valid", kind="decision_receipt", **more):
    found = case(name, rejects, document, expect, **more)
    return {"kind": kind, **{("document" if field == "receipt" else field): value for field, value in found.items()}}


DISPOSITIONS = [
    ("allow", "continue_downstream", "downstream"), ("allow_with_warning", "continue_downstream", "downstream"),
    ("replan_required", "local_replan", "local"), ("replan_required", "upstream_replan", "upstream"),
    ("replan_required", "human_review", "human"), ("goal_fail_terminal", "terminal_block", "stop"),
]


def disposed(outcome, mode, direction):
    allows = mode == "continue_downstream"
    flags = {"downstream_allowed": allows, "local_replan_recommended": mode == "local_replan", "upstream_replan_required": mode == "upstream_replan"}
    derived = {"safe_to_execute": allows, "human_review_terminal": mode == "human_review", "runtime_loopback": None if allows else {}}
    return decision(outcome=outcome, disposition={"mode": mode, **flags}, routing={**decision()["routing"], "direction": direction}, **derived)


WRONG_TYPES = {
    ("decision_id",): "f47ac10b58cc4372a5670e02b2c3d479", ("outcome",): None, ("action_class",): Number("1"),
    ("safe_to_execute",): "true", ("human_review_terminal",): Number("0"), ("must_not_retry_same_action",): None,
    ("reasons",): [{"code": "x"}], ("safe_next_steps",): [{"code": "x", "message": None}], ("viewer_guidance",): [Number("1")],
    ("what_would_change_this",): "x", ("disposition",): [], ("routing",): None, ("resume_contract",): "x",
    ("runtime_loopback",): False, ("metadata",): None, ("binding",): [], ("evidence",): ["x"], ("disposition", "mode"): None,
    ("routing", "direction"): Number("1"), ("routing", "target_hint"): False, ("routing", "return_to_node"): [],
    ("routing", "workflow_id"): Number("1"), ("routing", "node_id"): {}, ("resume_contract", "retry_this_node"): None,
    ("resume_contract", "pass_receipt_upstream"): "no", ("resume_contract", "pass_new_upstream_context_on_retry"): Number("0"),
    ("resume_contract", "resume_when"): [None], ("resume_contract", "conditions"): ["x"],
    ("binding", "action_hash"): sha256("action_hash"), ("binding", "policy_hash"): "sha512:" + sha256("policy_hash"),
    ("binding", "facts_hash"): "sha256:" + sha256("facts_hash").upper(), ("binding", "fingerprint"): None,
    ("binding", "engine"): None, ("binding", "steps"): "12", ("binding", "denied_before"): Number("-1"),
    ("binding", "decided_at"): "2026-02-30T00:46:00.000Z", ("binding", "expires_at"): Number("1771462260"),
}


def decision_format_cases():
    for path, value in WRONG_TYPES.items():
        yield decision_case(f"wrong_{'_'.join(path)}", "reading only what it branches on", sign(changed(decision(), *path, value)), "missing_field")
    for outcome, mode, direction in DISPOSITIONS:
        name = outcome if mode == "continue_downstream" else mode
        document = disposed(outcome, mode, direction)
        if outcome != "allow":
            yield decision_case(f"disposition_{name}", "knowing only `allow`", sign(document))
        for flag in ("safe_to_execute", "human_review_terminal"):
            yield decision_case(f"{name}_contradicts_{flag}", "branching on one field", sign(changed(document, flag, not document[flag])), "contradiction")
        for flag in ("downstream_allowed", "local_replan_recommended", "upstream_replan_required"):
            flipped = changed(document, "disposition", flag, not document["disposition"][flag])
            yield decision_case(f"{name}_contradicts_{flag}", "branching on one field", sign(flipped), "contradiction")
        loopback = {} if document["runtime_loopback"] is None else None
        yield decision_case(f"{name}_contradicts_runtime_loopback", "branching on one field", sign({**document, "runtime_loopback": loopback}), "contradiction")
        other = "stop" if direction != "stop" else "downstream"
        yield decision_case(f"{name}_contradicts_direction", "branching on one field", sign(changed(document, "routing", "direction", other)), "contradiction")
    yield decision_case("outcome_of_another_mode", "branching on one field", sign(changed(disposed(*DISPOSITIONS[5]), "outcome", "replan_required")), "contradiction")


def decision_signature_cases():
    plain, signed = decision(), sign(decision())
    digest, digits = signed["signature"]["content_hash"], signed["signature"]["signature"]
    signature, own = bytes.fromhex(digits), {**plain, "issuer_key": OTHER.spki}
    yield decision_case("reordered_decision", "hashing the bytes as they came", reordered(signed))
    yield decision_case("prefixed_content_hash_of_a_decision", "signing the bare digits always", sign(plain, content_hash="sha256:" + digest))
    yield decision_case("by_another_issuer", "one known issuer", sign(own, OTHER), trusted=[ISSUER.spki], trust="untrusted")
    yield decision_case("trusted_in_another_spelling", "comparing texts of keys", signed, trusted=[SPELLINGS["as_did_key"]], trust="trusted")
    yield decision_case("trusted_and_changed", "trusting the key alone", changed(signed, "outcome", "replan_required"), "content_hash_mismatch", trusted=[ISSUER.spki], trust="unknown")
    yield decision_case("issuer_key_replaced", "checking the signature only", {**signed, "issuer_key": OTHER.spki}, "content_hash_mismatch")
    yield decision_case("signed_again_by_one_trusted_decision", "trusting the key alone", sign(plain, OTHER), "issuer_key_mismatch", trusted=[OTHER.spki], trust="unknown")
    yield decision_case("issuer_key_null", "null as absent", sign({**plain, "issuer_key": None}), "issuer_key_mismatch")
    for name, signer in SPELLINGS.items():
        yield decision_case(f"key_{name}", "many spellings of one key", sign({**plain, "issuer_key": signer}, signer_id=signer), "invalid_signer_id")
        yield decision_case(f"key_{name}_asked_for_in_jcs", "profiles for other formats", sign({**plain, "issuer_key": signer}, signer_id=signer), "invalid_signer_id", profile="jcs")
        yield decision_case(f"issuer_key_of_a_decision_{name}", "comparing keys, not what is written", sign({**plain, "issuer_key": signer}), "issuer_key_mismatch")
    flipped = (bytes([signature[0] ^ 1]) + signature[1:]).hex()
    scalar = (int.from_bytes(signature[32:], "little") + ORDER).to_bytes(32, "little")
    commitment = ISSUER.sign_with_small_order_commitment(digest.encode()).hex()
    for name, text in {"zero": "00" * 64, "bit_flipped": flipped, "with_another_scalar": (signature[:32] + scalar).hex(), "small_order_commitment": commitment}.items():
        yield decision_case(f"decision_signature_{name}", "checking the hash only", sign(plain, signature=text), "signature_mismatch")
    yield decision_case("decision_signed_as_bytes", "signing 32 bytes, not 64 digits", sign(plain, message=bytes.fromhex(digest)), "signature_mismatch")
    yield decision_case("decision_signer_replaced", "checking the hash only", sign({**plain, "issuer_key": OTHER.spki}, signer_id=OTHER.spki), "signature_mismatch")
    for name, raw in SMALL_ORDER.items():
        weak = sign({**plain, "issuer_key": spki(raw)}, signer_id=spki(raw), signature=(IDENTITY + bytes(32)).hex())
        yield decision_case(f"decision_key_of_small_order_{name}", "comparing with one list of weak keys", weak, "signature_mismatch")
    yield decision_case("decision_signature_upper_case", "a lenient hex decoder", sign(plain, signature=digits.upper()), "invalid_signature")
    yield decision_case("decision_content_hash_upper_case", "a lenient hex decoder", sign(plain, content_hash=digest.upper()), "invalid_content_hash")
    yield decision_case("decision_algorithm_none", "ignoring the algorithm", sign(plain, algorithm="none"), "unknown_algorithm")
    yield decision_case("decision_signature_null", "null as absent", {**plain, "signature": None}, "wrong_type")
    yield decision_case("decision_signature_empty", "valid for want of a signature", {**plain, "signature": {}}, "missing_field")
    real = decision(metadata={"chain_position": Number("0"), "n": Number("1.5")})
    yield decision_case("decision_with_a_real", "numbers that readers read otherwise", sign(real), "number_not_exact")
    yield decision_case("decision_hashed_by_jcs", "profiles for other formats", sign(real, form=FORMS["jcs"]), "number_not_exact", profile="jcs")
    yield decision_case("decision_with_two_outcomes", "the last one wins", as_written(signed).replace('"outcome"', '"outcome":"allow","outcome"'), "duplicate_key", kind="receipt")
    yield decision_case("decision_in_a_list", "unwrapping a list of one", f"[{as_written(signed)}]", "wrong_type", kind="receipt")


def entry(position=0, salt=0, **members):
    metadata = {"chain_position": Number(position), **members.pop("metadata", {})}
    return {
        "record_type": "proofmark_session_entry", "entry_id": f"00000000-0000-4000-8000-{salt:06x}{position:06x}", "session": "s",
        "kind": "begun", "at": "2026-02-19T00:46:00.000Z", **members, "metadata": metadata, "issuer_key": ISSUER.spki,
    }


def session_cases():
    plain = entry()
    of_session = lambda name, rejects, document, expect="valid", kind="session_entry", **more: decision_case(f"entry_{name}", rejects, document, expect, kind, **more)
    yield of_session("issued", "everything", sign(plain), trusted=[ISSUER.spki], trust="trusted")
    yield of_session("changed", "checking the signature only", {**sign(plain), "kind": "ended"}, "content_hash_mismatch")
    yield of_session("unsigned", "valid for want of a signature", plain, "unsigned")
    yield of_session("signature_zero", "checking the hash only", sign(plain, signature="00" * 64), "signature_mismatch")
    yield of_session("signed_again_by_another", "no signed name of the signer", sign(plain, OTHER), "issuer_key_mismatch")
    yield of_session("without_issuer_key", "an optional name of the signer", sign(without(plain, "issuer_key")), "issuer_key_mismatch")
    yield of_session("with_note", "reading what is not signed", changed(sign(plain), "signature", "note", "x"), "unsigned_member")
    yield of_session("with_vrf_version", "choosing by `record_type`", sign({**plain, "vrf_version": "1.0"}), "missing_field", kind="receipt")
    yield of_session("with_a_decision's_type", "choosing by `record_type`", sign({**plain, "receipt_type": "verifiedx_decision_receipt"}), "missing_field", kind="decision_receipt")
    yield of_session("inside_a_receipt", "choosing by `record_type`", sign({**body(), **without(plain, "metadata"), "issuer_key": OTHER.spki}, OTHER), "issuer_key_mismatch", kind="receipt")
    for name, word in {"another": "x", "null": None, "a_list": ["proofmark_session_entry"]}.items():
        yield of_session(f"type_{name}", "any signed document with a type", sign({**plain, "record_type": word}), "missing_field", kind="receipt")


def decision_cases():
    for cases in (decision_kind_cases, decision_format_cases, decision_signature_cases, session_cases):
        yield from cases()


def decision_kind_cases():
    plain = decision()
    yield decision_case("issued", "everything", sign(plain), trusted=[ISSUER.spki], trust="trusted")
    yield decision_case("unknown_members", "refusing what it does not know", sign(decision(future=[None])), trust="unknown")
    typed = {"receipt_type": "verifiedx_decision_receipt", **body()}
    yield decision_case("vrf_receipt_with_a_type", "choosing by `receipt_type`", sign(typed), kind="receipt")
    yield decision_case("vrf_receipt_with_a_type_by_a_stranger", "choosing by `receipt_type`", sign({**typed, "issuer_key": OTHER.spki}, OTHER), "issuer_key_mismatch", kind="receipt")
    yield decision_case("both_formats", "choosing by `receipt_type`", sign({**plain, "vrf_version": "1.0"}), "missing_field", kind="receipt")
    yield decision_case("both_formats_null", "choosing by a value", sign({**plain, "vrf_version": None}), "wrong_type", kind="receipt")
    for name, word in {"another": "x", "a_number": Number("1"), "null": None, "a_list": ["verifiedx_decision_receipt"], "upper_case": "VERIFIEDX_DECISION_RECEIPT", "empty": ""}.items():
        yield decision_case(f"type_{name}", "any signed document with a type", sign(decision(receipt_type=word)), "missing_field", kind="receipt")
    yield decision_case("type_alone", "any signed document with a type", sign({"receipt_type": "verifiedx_decision_receipt", "issuer_key": ISSUER.spki}), "missing_field")
    for name in plain:
        if name not in ("receipt_type", "issuer_key"):
            yield decision_case(f"missing_{name}", "reading only what it branches on", sign(without(plain, name)), "missing_field")
    for parent in ("disposition", "routing", "resume_contract", "binding"):
        for name in plain[parent]:
            expect = "contradiction" if parent == "disposition" and name != "mode" else "missing_field"
            yield decision_case(f"missing_{parent}_{name}", "reading only what it branches on", sign(without(plain, parent, name)), expect)
    for name, value in {"outcome": "replan_required", "safe_to_execute": False, "human_review_terminal": True, "runtime_loopback": {}}.items():
        yield decision_case(f"contradictory_{name}", "branching on one field", sign(decision(**{name: value})), "contradiction")
    yield decision_case("contradictory_direction", "branching on one field", sign(changed(plain, "routing", "direction", "stop")), "contradiction")
    yield decision_case("outcome_unknown", "a default", sign(decision(outcome="Allow")), "contradiction")
    yield decision_case("id_not_a_uuid", "any text as an id", sign(decision(decision_id="d1")), "missing_field")
    yield decision_case("reason_a_text", "lists of anything", sign(decision(reasons=["x"])), "missing_field")
    for separation in ("none", "account", "host"):
        yield decision_case(f"separation_{separation}", "knowing no `separation`", sign(changed(plain, "binding", "separation", separation)))
    yield decision_case("separation_with_account", "knowing no `account`", sign(changed(changed(plain, "binding", "separation", "account"), "binding", "account", "claude")))
    for name, value in {"unknown": "Account", "null": None, "a_list": ["account"]}.items():
        yield decision_case(f"separation_{name}", "any text as a separation", sign(changed(plain, "binding", "separation", value)), "missing_field")
    yield decision_case("account_a_number", "any value as an account", sign(changed(plain, "binding", "account", Number("1001"))), "missing_field")
    yield decision_case("policy_named", "knowing no `policy`", sign(changed(plain, "binding", "policy", "payments")))
    yield decision_case("policy_a_list", "any value as the name of a policy", sign(changed(plain, "binding", "policy", ["payments"])), "missing_field")
    last, binds = "sha256:" + sha256("entry"), lambda head: sign(changed(plain, "binding", "session", head))
    yield decision_case("session_begins", "wanting a last entry", binds({"name": "s", "entries": Number("0")}))
    yield decision_case("session_goes_on", "knowing no `session`", binds({"name": "s", "entries": Number("2"), "last_entry": last}))
    for name, head in {
        "a_name": "s", "null": None, "without_a_name": {"entries": Number("0")}, "without_a_count": {"name": "s"},
        "without_a_last_entry": {"name": "s", "entries": Number("2")}, "of_nothing": {"name": "s", "entries": Number("0"), "last_entry": last},
        "negative": {"name": "s", "entries": Number("-1")}, "not_a_digest": {"name": "s", "entries": Number("2"), "last_entry": "x"},
        "last_null": {"name": "s", "entries": Number("0"), "last_entry": None},
    }.items():
        yield decision_case(f"session_{name}", "any value as a session", binds(head), "missing_field")
    yield decision_case("without_issuer_key", "an optional name of the signer", sign(without(plain, "issuer_key")), "issuer_key_mismatch")
    yield decision_case("issuer_key_in_metadata", "looking where VRF receipts have it", sign({**without(plain, "issuer_key"), "metadata": {"issuer_key": ISSUER.spki}}), "issuer_key_mismatch")
    yield decision_case("signed_again_by_another", "no signed name of the signer", sign(plain, OTHER), "issuer_key_mismatch")
    yield decision_case("signer_respelt", "many spellings of one key", changed(sign(plain), "signature", "signer_id", SPELLINGS["in_hex"]), "invalid_signer_id")
    yield decision_case("signature_with_note", "reading what is not signed", changed(sign(plain), "signature", "note", "x"), "unsigned_member")
    yield decision_case("unsigned", "valid for want of a signature", plain, "unsigned")
    yield decision_case("outcome_changed", "checking the signature only", changed(sign(plain), "outcome", "allow_with_warning"), "content_hash_mismatch")
    yield decision_case("outcome_changed_to_contradict", "the format before the signature", changed(sign(plain), "outcome", "replan_required"), "content_hash_mismatch")


# linked.json


def decision_link(position, salt=0, previous=None, **changes):
    link = {} if previous is None else pins_link(previous)
    identity = {"decision_id": f"00000000-0000-4000-8000-{salt:06x}{position:06x}"}
    return sign({**decision(), **identity, "metadata": {"chain_position": Number(position), **link}, **changes})


def entry_link(position, salt=0, previous=None, **changes):
    return sign({**entry(position, salt, metadata={} if previous is None else pins_link(previous)), **changes})


def pins_link(document):
    named = document.get("decision_id") or document.get("entry_id") or document["receipt_id"]
    return {"previous_receipt": named, "previous_receipt_hash": "sha256:" + sha256(vrf(document))}


def links(link, length, salt=0):
    documents = []
    for position in range(length):
        documents.append(link(position, salt, documents[-1] if documents else None))
    return documents


def linked_case(name, rejects, documents, expect="ok", head=None, **more):
    found = chain_case(name, rejects, documents, expect, head, **more)
    return {("documents" if field == "receipts" else field): value for field, value in found.items()}


def linked_head(documents, **changes):
    return head_of(documents, tip=pins_link(documents[-1])["previous_receipt_hash"], **changes)


def linked_cases():
    for name, link in {"decisions": decision_link, "entries": entry_link}.items():
        a, b, c, d = whole = links(link, 4)
        other, case = links(link, 4, salt=1), lambda what, *rest, **more: linked_case(f"{name}_{what}", *rest, **more)
        member = "metadata"
        yield case("in_order", "links of VRF receipts only", whole)
        yield case("and_their_head", "links of VRF receipts only", whole, "ok", linked_head(whole))
        yield case("begin_later", "any first position", whole[1:], "wrong_first_position")
        yield case("lack_one", "comparing ids only at the end", [a, c, d], "gap")
        yield case("lack_the_last", "no signed end", whole[:3], "truncated", linked_head(whole))
        yield case("with_a_fork", "the last one wins", [a, b, link(1, 9, a)], "fork")
        yield case("with_one_twice", "leaving out doubles", [a, b, b, c], "fork")
        yield case("out_of_order", "sorting first", [a, b, c, b], "reordered")
        yield case("of_two_chains", "comparing positions only", [a, other[1], c, d], "swapped_predecessor")
        yield case("of_which_one_was_signed_again", "hashing without the signature", [changed(a, "signature", "signature", "00" * 64), b], "swapped_predecessor")
        unpinned = without(unsigned(b), member, "previous_receipt_hash")
        yield case("pinned_by_id_only", "an id alone as a link", [a, sign(unpinned)], "unpinned")
        yield case("without_a_position", "linking by the hash only", [a, sign(without(unsigned(b), member, "chain_position"))], "unlinked")
        yield case("without_metadata_of_the_first", "linking by the hash only", [sign(changed(unsigned(a), member, {})), b], "unlinked")
        stranger = sign(unsigned(changed(linked_head(whole), "issuer_key", OTHER.spki)), OTHER)
        yield case("of_a_stranger's_head", "any signed head", whole, "untrusted_head", stranger)
        yield case("of_another_head", "comparing lengths only", whole, "other_head", linked_head(other))
    a, b, c = links(decision_link, 3)
    capital = sign({**unsigned(a), "decision_id": "00000000-0000-4000-8000-ABCDEF000000"})
    follows = sign({**unsigned(b), "metadata": {**pins_link(capital), "chain_position": Number("1"), "previous_receipt": "00000000-0000-4000-8000-abcdef000000"}})
    yield linked_case("id_in_capitals", "comparing ids as text", [capital, follows])
    contradictory = sign({**unsigned(b), "safe_to_execute": False})
    yield linked_case("decision_that_contradicts_itself", "any signed document as a link", [a, contradictory, c], "gap")
    entries = links(entry_link, 3)
    nameless = sign(without(unsigned(entries[1]), "entry_id"))
    yield linked_case("entry_without_an_id", "any signed document as a link", [entries[0], nameless, entries[2]], "gap")
    typeless = sign({**unsigned(entries[1]), "record_type": "x"})
    yield linked_case("entry_of_another_type", "any signed document as a link", [entries[0], typeless, entries[2]], "gap")


# signer.json


def signer_cases():
    raw, spki = ISSUER.raw, ISSUER.spki
    encoded = lambda data: base64.b64encode(data).decode()
    did = lambda data: "did:key:z" + base58(data)
    accepts = {"spki": spki, "raw_base64": encoded(raw), "hex": "ed25519:" + raw.hex(), "did_key": did(b"\xed\x01" + raw)}
    for name, text in accepts.items():
        yield {"name": name, "rejects": "only one form of key", "text": text, "key": raw.hex(), "expect": "ok"}
    rejects = {
        "empty": ("", "the zero key"),
        "bare_hex": (raw.hex(), "guessing the form"),
        "upper_case_hex": ("ed25519:" + raw.hex().upper(), "two spellings of one key"),
        "upper_case_scheme": ("ED25519:" + raw.hex(), "two spellings of one key"),
        "short_hex": ("ed25519:" + raw.hex()[2:], "padding with zeros"),
        "long_hex": ("ed25519:" + raw.hex() + "00", "cutting off"),
        "base64_without_padding": (encoded(raw).rstrip("="), "a lenient base64"),
        "base64_with_spare_bits": (encoded(raw)[:-2] + BASE64_NEXT[encoded(raw)[-2]] + "=", "two spellings of one key"),
        "base64_with_line_break": (spki[:32] + "\n" + spki[32:], "a lenient base64"),
        "base64_with_space": (" " + spki, "trimming"),
        "base64_for_urls": (base64.urlsafe_b64encode(b"\xff" * 32).decode(), "two alphabets"),
        "raw_of_31_bytes": (encoded(raw[:31]), "padding with zeros"),
        "raw_of_33_bytes": (encoded(raw + b"\0"), "cutting off"),
        "spki_of_x25519": (encoded(SPKI.replace(b"\x65\x70", b"\x65\x6e") + raw), "ignoring the algorithm"),
        "spki_of_ed448": (encoded(SPKI.replace(b"\x65\x70", b"\x65\x71") + raw), "ignoring the algorithm"),
        "spki_with_a_byte_more": (encoded(SPKI + raw + b"\0"), "cutting off"),
        "spki_with_unused_bits": (encoded(SPKI[:-1] + b"\x01" + raw), "taking the last 32 bytes"),
        "pem": (f"-----BEGIN PUBLIC KEY-----\n{spki}\n-----END PUBLIC KEY-----\n", "guessing the form"),
        "did_of_x25519": (did(b"\xec\x01" + raw), "ignoring the multicodec"),
        "did_with_a_byte_more": (did(b"\xed\x01" + raw + b"\0"), "cutting off"),
        "did_with_a_leading_1": ("did:key:z1" + base58(b"\xed\x01" + raw), "skipping zeros"),
        "did_without_multibase": ("did:key:" + base58(b"\xed\x01" + raw), "an optional multibase"),
        "did_with_a_fragment": (did(b"\xed\x01" + raw) + "#key-1", "cutting off"),
        "did_of_another_method": (did(b"\xed\x01" + raw).replace("key", "web"), "ignoring the method"),
        "did_with_a_letter_outside": ("did:key:z0" + base58(b"\xed\x01" + raw)[1:], "skipping letters"),
    }
    for name, (text, why) in rejects.items():
        yield {"name": name, "rejects": why, "text": text, "expect": "invalid_signer_id"}


# keyfile.json

# When the documents below are dated, in seconds since 1970.
DATED = 1771461960


def pem(data, label="PUBLIC KEY", end="\n"):
    body = base64.b64encode(data).decode()
    return f"-----BEGIN {label}-----{end}{body[:40]}{end}{body[40:]}{end}-----END {label}-----{end}"


def openssh(raw=ISSUER.raw, length=32, name=b"ssh-ed25519", comment=" ann@host\n"):
    data = len(name).to_bytes(4, "big") + name + length.to_bytes(4, "big") + raw
    return "ssh-ed25519 " + base64.b64encode(data).decode() + comment


def jwk(key=ISSUER, **members):
    x = base64.urlsafe_b64encode(key.raw).decode().rstrip("=")
    return as_written({name: value for name, value in {"kty": "OKP", "crv": "Ed25519", "x": x, **members}.items() if value is not ...})


def keyfile_accepts():
    def case(name, rejects, text, *keys, **more):
        signers = [{"key": key.raw.hex(), **({} if until is None else {"until": until})} for key, until in keys]
        return {"name": name, "rejects": rejects, "text": text, "signers": signers, **more, "expect": "ok"}

    endless = (ISSUER, None)
    receipt, decided, entered = (as_written(sign(document)) for document in (body(), decision(), entry()))
    exp = lambda text: jwk(exp=Number(text))
    yield case("pem", "only one form of line ends", pem(SPKI + ISSUER.raw, end="\r\n"), endless, document=receipt, trust="trusted")
    yield case("openssh", "wanting no comment", openssh(), endless)
    yield case("set", "refusing a set for a key of another kind", f'{{"keys":[{{"kty":"RSA"}},7,{jwk(OTHER)},{jwk()}]}}', (OTHER, None), endless)
    yield case("white_space_around", "trimming what ASCII has", f"\x85\u2028\u1680{ISSUER.spki}\u3000\x0b\r\n", endless)
    yield case("ended", "ignoring the end of a key", exp("1"), (ISSUER, 1000), document=receipt, trust="untrusted")
    yield case("ended_at_the_date", "an end that is the last moment", exp(f"{DATED}"), (ISSUER, DATED * 1000), document=receipt, trust="untrusted")
    yield case("ends_after_the_date", "counting whole seconds", exp(f"{DATED}.0007"), (ISSUER, DATED * 1000 + 1), document=receipt, trust="trusted")
    yield case("ended_for_a_decision", "the end of keys of receipts alone", exp(f"{DATED}"), (ISSUER, DATED * 1000), document=decided, trust="untrusted")
    yield case("ended_for_an_entry", "the end of keys of receipts alone", exp("-0.0004"), (ISSUER, 0), document=entered, trust="untrusted")
    both = f'{{"keys":[{exp("1")},{jwk()}]}}'
    yield case("ended_and_without_end", "one entry for each key", both, (ISSUER, 1000), endless, document=receipt, trust="trusted")
    unread = f'{{"keys":[{jwk(exp="1")},{jwk(OTHER, exp=Number("1e9"))}]}}'
    yield case("end_in_a_set_that_cannot_be_read", "a key without an end", unread, (OTHER, 10**12), document=receipt, trust="untrusted")


def keyfile_rejects():
    yield "empty", "the zero key", ""
    yield "words", "any text", "no key"
    yield "two_ids", "reading only the first", f"{ISSUER.spki} {ISSUER.spki}"
    for name, text in {"pem": pem(SPKI + ISSUER.raw), "openssh": openssh(), "jwk": jwk(), "id": ISSUER.spki}.items():
        yield f"byte_order_mark_before_{name}", "skipping it", "\ufeff" + text
        yield f"byte_order_mark_after_{name}", "trimming as ECMAScript does", text.replace(" ann@host", "") + "\ufeff"
    yield "separator_around", "trimming as Python does", f"\x1c{ISSUER.spki}"
    yield "zero_width_space_around", "trimming what cannot be seen", f"\u200b{ISSUER.spki}"
    one = pem(SPKI + ISSUER.raw)
    yield "pem_of_x25519", "taking the last 32 bytes", pem(SPKI.replace(b"\x65\x70", b"\x65\x6e") + ISSUER.raw)
    yield "pem_of_bare_bytes", "guessing the form", pem(ISSUER.raw)
    yield "pem_twice", "reading only the first", one + one
    yield "pem_cut_off", "an optional last line", one.removesuffix("-----END PUBLIC KEY-----\n")
    yield "pem_of_another_label", "any label", pem(SPKI + ISSUER.raw, "CERTIFICATE")
    yield "pem_with_text_before", "searching for the first line", "key:\n" + one
    yield "pem_with_a_byte_order_mark_in_it", "a lenient base64", one.replace(ISSUER.spki[:40], ISSUER.spki[:40] + "\ufeff")
    for length in (0, 31, 33, 35, 255, 2**32 - 1):
        yield f"openssh_with_length_{length}", "a length that is not compared", openssh(length=length)
    yield "openssh_of_31_bytes", "padding with zeros", openssh(ISSUER.raw[:31], 31)
    yield "openssh_of_33_bytes", "cutting off", openssh(ISSUER.raw + b"\0", 33)
    yield "openssh_with_a_byte_more", "cutting off", openssh(ISSUER.raw + b"\0")
    yield "openssh_of_another_name", "comparing the first word only", openssh(name=b"ssh-ed25518")
    yield "openssh_with_two_spaces", "any white space", openssh().replace(" ", "  ", 1)
    yield "openssh_with_a_tab", "any white space", openssh(comment="\tann@host\n")
    yield "openssh_with_options", "a line of `authorized_keys`", "restrict " + openssh()
    yield "openssh_without_a_key", "the zero key", "ssh-ed25519 "
    for name, value in {
        "a_text": "1", "null": None, "true": True, "a_list": [], "an_object": {}, "negative": Number("-1"), "half_a_millisecond_before_1970": Number("-0.0005"),
        "in_the_year_10000": Number("253402300800"), "beyond_all_years": Number("1e300"), "beyond_a_double": Number("1e400"),
    }.items():
        yield f"end_{name}", "a key without an end", jwk(exp=value)
    yield "end_twice", "the last one wins", jwk(exp=Number("1"))[:-1] + ',"exp":4000000000}'
    yield "jwk_of_x25519", "ignoring the curve", jwk(crv="X25519")
    yield "jwk_of_another_type", "ignoring the type", jwk(kty="EC")
    yield "jwk_without_x", "the zero key", jwk(x=...)
    yield "jwk_with_padding", "two spellings of one key", jwk(x=base64.urlsafe_b64encode(ISSUER.raw).decode())
    yield "jwk_in_a_list", "unwrapping a list of one", f"[{jwk()}]"
    yield "set_of_others", "any key", '{"keys":[{"kty":"RSA"}]}'


def keyfile_cases():
    yield from keyfile_accepts()
    for name, rejects, text in keyfile_rejects():
        yield {"name": name, "rejects": rejects, "text": text, "expect": "no_key"}


# passkey.json

P256 = ec.derive_private_key(7, ec.SECP256R1())
PAGE = "https://approvals.example"


def es256(private=P256):
    numbers = private.public_key().public_numbers()
    return "es256:" + numbers.x.to_bytes(32, "big").hex() + numbers.y.to_bytes(32, "big").hex()


def sign_es256(message, private=P256):
    r, s = utils.decode_dss_signature(private.sign(message, ec.ECDSA(hashes.SHA256(), deterministic_signing=True)))
    return r.to_bytes(32, "big") + s.to_bytes(32, "big")


def statement(document):
    approval = {name: value for name, value in document["metadata"]["approval"].items() if name != "passkey"}
    return {**{name: document[name] for name in ("receipt_id", "verified_at", "hashes")}, "approval": approval}


def shown(given):
    names = ("action_hash", "environment", "agent", "separation", "account")
    return "sha256:" + sha256(vrf({name: given[name] for name in names if name in given}))


def shown_case(name, rejects, expect="shown_mismatch", **changes):
    """An approval by a key, with what it says its reviewer was shown; a change of `None` takes a member out."""
    document = approval()
    given = {**document["metadata"]["approval"], **changes}
    document["metadata"]["approval"] = {name: value for name, value in given.items() if value is not None}
    return passkey_case(name, rejects, document, expect)


def approval():
    given = {
        "role": "finance", "action_hash": "sha256:" + sha256("action"), "environment": "prod", "agent": "bot",
        "decision_id": "8f14e45f-ceea-4c1b-9d2a-3f6f1b7a2c55", "expires_at": "2026-02-19T01:46:00.000Z", "note": "checked",
    }
    given["shown"] = shown(given)
    document = {**body(approval=given), "tier": Number("3"), "verdict": "pass"}
    document["task"] = {"task_id": given["decision_id"], "task_type": "approval"}
    document["results"] = {"total": Number("1"), "passed": Number("1"), "failed": Number("0"), "errors": Number("0"), "details": []}
    return document


def grant(document, **changes):
    """The approval, reaching beyond one action: calls of a tool that are alike but for an argument."""
    scope = {
        "kind": "pattern", "tool": "pay", "server": None, "account": None, "project": None,
        "free": [{"path": ["args", "amount"], "at_most": "600"}], "rest": "sha256:" + sha256("rest"), **changes,
    }
    return changed(document, "metadata", "approval", "scope", scope)


def approved(page=PAGE, flags=5, counter=3, host=None, key=None, private=P256, signs=None, client=None, rest=b"", of=None, **changes):
    """An approval and the assertion in it, each part of which can be made wrong. `signs` changes what is signed."""
    document = approval() if of is None else of(approval())
    signed = statement(document if signs is None else signs(document))
    challenge = base64.urlsafe_b64encode(hashlib.sha256(vrf(signed).encode()).digest()).decode().rstrip("=")
    fields = {"type": "webauthn.get", "challenge": challenge, "origin": page, "crossOrigin": False, **(client or {})}
    client_data = json.dumps({name: value for name, value in fields.items() if value is not None}, separators=(",", ":"))
    host = host or "approvals.example"
    data = hashlib.sha256(host.encode()).digest() + bytes([flags]) + counter.to_bytes(4, "big") + rest
    message = data + hashlib.sha256(client_data.encode()).digest()
    signature = sign_es256(message, private) if isinstance(private, ec.EllipticCurvePrivateKey) else private.sign(message)
    kept = {
        "key": (key or es256()) + "@" + PAGE, "credential": "AQID", "authenticator_data": data.hex(), "client_data": client_data,
        "signature": signature.hex(), **changes,
    }
    document["metadata"]["approval"]["passkey"] = kept
    return document


def listed_for(page):
    """An approval by a passkey for pages of this origin."""
    document = approved(page=page)
    document["metadata"]["approval"]["passkey"]["key"] = es256() + "@" + page
    return document


def passkey_case(name, rejects, document, expect="passkey_mismatch"):
    return decision_case(name, rejects, sign(document), expect, kind="receipt")


def passkey_cases():
    eddsa = "eddsa:" + OTHER.raw.hex()
    other = ec.derive_private_key(8, ec.SECP256R1())
    cut = lambda name: approved()["metadata"]["approval"]["passkey"][name][:-2]
    yield passkey_case("es256", "everything", approved(), "valid")
    yield passkey_case("eddsa", "only one algorithm", approved(key=eddsa, private=OTHER.private), "valid")
    yield passkey_case("counter_of_zero", "wanting a counter", approved(counter=0), "valid")
    yield passkey_case("backed_up", "wanting flags to be exactly two", approved(flags=0x1D), "valid")
    yield passkey_case("no_cross_origin", "wanting an optional member", approved(client={"crossOrigin": None}), "valid")
    yield passkey_case("not_an_object", "a passkey of another type skipped", changed(approved(), "metadata", "approval", "passkey", True))
    yield passkey_case("null", "null for none", changed(approved(), "metadata", "approval", "passkey", None))
    for field in ("key", "credential", "authenticator_data", "client_data", "signature"):
        yield passkey_case(f"without_{field}", "a default for it", without(approved(), "metadata", "approval", "passkey", field))
    for field in ("authenticator_data", "signature"):
        yield passkey_case(f"short_{field}", "padding with zeros", approved(**{field: cut(field)}))
        yield passkey_case(f"upper_case_{field}", "two spellings", approved(**{field: cut(field) + "AB"}))
    yield passkey_case("other_role", "a challenge that is not compared", approved(signs=lambda one: changed(one, "metadata", "approval", "role", "owner")))
    yield passkey_case("other_note", "signing only the hash of the action", approved(signs=lambda one: changed(one, "metadata", "approval", "note", "no")))
    yield passkey_case("other_expiry", "signing only the hash of the action", approved(signs=lambda one: changed(one, "metadata", "approval", "expires_at", "2026-02-20T01:46:00.000Z")))
    yield passkey_case("other_receipt", "an assertion that counts again under another id", approved(signs=lambda one: changed(one, "receipt_id", "16fd2706-8baf-433b-82eb-8c7fada847da")))
    yield passkey_case("other_time", "a time that is not signed", approved(signs=lambda one: changed(one, "verified_at", "2026-02-19T00:46:01.000Z")))
    yield passkey_case("other_decision", "a digest that is not signed", approved(signs=lambda one: changed(one, "hashes", "specification", "sha256:" + sha256("x"))))
    yield passkey_case("pattern", "a scope that is not signed", approved(of=grant), "valid")
    yield passkey_case("session", "a scope that is not signed", approved(of=lambda one: changed(one, "metadata", "approval", "scope", {"kind": "session", "tool": "pay", "server": "bank", "account": "agent", "project": None, "run": "r1", "rest": "sha256:" + sha256("rest")})), "valid")
    yield passkey_case("scope_added", "signing only the action", approved(of=grant, signs=lambda one: without(one, "metadata", "approval", "scope")))
    yield passkey_case("scope_taken_out", "signing only the action", approved(signs=grant))
    yield passkey_case("other_bound", "a scope that is not signed", approved(of=grant, signs=lambda one: grant(one, free=[{"path": ["args", "amount"], "at_most": "60"}])))
    yield passkey_case("more_freed", "a scope that is not signed", approved(of=lambda one: grant(one, free=[{"path": ["args"], "any": True}]), signs=grant))
    yield passkey_case("other_rest", "a scope that is not signed", approved(of=grant, signs=lambda one: grant(one, rest="sha256:" + sha256("other"))))
    yield passkey_case("other_session", "a scope that is not signed", approved(of=lambda one: grant(one, kind="session", run="r2"), signs=lambda one: grant(one, kind="session", run="r1")))
    yield passkey_case("other_shown", "a digest that is not signed", approved(signs=lambda one: changed(one, "metadata", "approval", "shown", "sha256:" + sha256("x"))))
    asked = {"separation": "account", "account": "claude"}
    yield shown_case("shown", "everything", "valid")
    yield shown_case("shown_with_who_asked", "members that are not known", "valid", **asked, shown=shown({**approval()["metadata"]["approval"], **asked}))
    yield shown_case("shown_is_not_said", "wanting an optional member", "valid", shown=None)
    yield shown_case("shown_another_action", "copying the digest of what is approved", action_hash="sha256:" + sha256("another"))
    yield shown_case("shown_for_another_agent", "comparing the action alone", agent="other")
    yield shown_case("shown_for_another_environment", "comparing the action alone", environment="test")
    yield shown_case("shown_without_who_asked", "comparing the action alone", **asked)
    yield shown_case("shown_of_another_type", "a digest of another type skipped", shown=True)
    yield passkey_case("padded_challenge", "a lenient base64", approved(client={"challenge": "AAAA="}))
    yield passkey_case("of_creation", "any type of client data", approved(client={"type": "webauthn.create"}))
    yield passkey_case("of_another_page", "an origin that is not compared", approved(page="https://evil.example"))
    yield passkey_case("of_a_subdomain", "comparing the ends of origins", approved(page="https://evil.approvals.example"))
    yield passkey_case("of_another_port", "comparing hosts", approved(page=PAGE + ":8443"))
    yield passkey_case("of_another_scheme", "comparing hosts", approved(page="http://approvals.example"))
    yield passkey_case("in_a_frame", "a page that is shown in another", approved(client={"crossOrigin": True}))
    yield passkey_case("in_a_frame_of_a_name", "a type that is not checked", approved(client={"crossOrigin": "false"}))
    yield passkey_case("below_another_page", "a page that is shown in another", approved(client={"topOrigin": "https://evil.example"}))
    yield passkey_case("of_another_party", "a relying party that is not compared", approved(host="evil.example"))
    yield passkey_case("user_not_present", "only one flag", approved(flags=4))
    yield passkey_case("user_not_verified", "only one flag", approved(flags=1))
    yield passkey_case("flag_of_a_credential", "flags of what is not there", approved(flags=0x45))
    yield passkey_case("flag_of_extensions", "flags of what is not there", approved(flags=0x85))
    yield passkey_case("bytes_behind", "cutting off", approved(flags=0x85, rest=b"\xa0"))
    yield passkey_case("of_another_key", "any key", approved(private=other))
    yield passkey_case("of_a_key_that_is_no_point", "a library that does not check", approved(key="es256:" + "01" * 64))
    yield passkey_case("of_an_algorithm_unknown", "guessing the algorithm", approved(key=es256().replace("es256", "es384")))
    yield passkey_case("of_a_key_of_small_order", "a library that is not strict", approved(key="eddsa:" + IDENTITY.hex(), private=OTHER.private, signature=(IDENTITY + bytes(32)).hex()))
    yield passkey_case("of_the_wrong_algorithm", "trying both", approved(key=eddsa))
    for name, page in {
        "no_scheme": "approvals.example", "of_an_address": "https://127.0.0.1", "insecure": "http://approvals.example",
        "implied_port": PAGE + ":443", "path": PAGE + "/", "upper_case": "https://Approvals.example", "user": "https://u@approvals.example",
        "long_port": PAGE + ":99999", "zeros_in_port": PAGE + ":08443",
    }.items():
        yield passkey_case(f"origin_{name}", "a lenient reader of URLs", listed_for(page))


BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
BASE64_NEXT = {letter: BASE64[index ^ 1] for index, letter in enumerate(BASE64)}

if __name__ == "__main__":
    write("json.json", "JSON documents, and their canonical form in each profile", list(json_cases()))
    write("receipt.json", "receipts, and what verifying them answers", list(receipt_cases()))
    write("chain.json", "receipts in order, with or without a head, and whether they are one whole chain", list(chain_cases()))
    write("head.json", "signed chain heads, and what verifying them answers", list(head_cases()))
    write("decision.json", "signed documents, which kind each is, and what verifying it answers", list(decision_cases()))
    write("linked.json", "decision receipts or entries of sessions in order, and whether they are one whole chain", list(linked_cases()))
    write("passkey.json", "receipts of approvals, what their reviewers were shown and signed with passkeys, and what verifying them answers", list(passkey_cases()))
    write("signer.json", "spellings of a public key", list(signer_cases()))
    write("keyfile.json", "public key files, the signers that they name, and the trust in documents by these", list(keyfile_cases()))
