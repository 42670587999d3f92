"""What holds for any document, number and signature, tried on random ones."""

from __future__ import annotations

import json
import os
import random

from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

from proofmark_sdk.offline import Json, JsonNumber, Refused, canonical, parse, to_text, verify
from proofmark_sdk.offline.ed25519 import verify_p256, verify_strictly
from proofmark_sdk.offline.number import check_exact, number_text

from .mutants import NAMES, VALUES, known_keys, mutant
from .suites import attempt

SEED = int(os.environ.get("PROOFMARK_SEED") or random.randrange(1_000_000_000))
TRIES = 400
KEYS = known_keys()
P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


def random_json(dice: random.Random, depth: int) -> Json:
    kind = dice.randrange(3) if depth > 0 else 2
    if kind == 0:
        return [random_json(dice, depth - 1) for _ in range(dice.randrange(4))]
    if kind == 1:
        names = dice.sample(NAMES, dice.randrange(6))
        return {name + dice.choice(["", '"', "\\", "\n", "\U0010ffff"]): random_json(dice, depth - 1) for name in names}
    return parse(dice.choice(VALUES))


def test_what_is_written_is_read_again() -> None:
    dice = random.Random(SEED)
    for _ in range(TRIES):
        document = random_json(dice, 5)
        assert parse(to_text(document)) == document, f"PROOFMARK_SEED={SEED}"
        assert parse(canonical(document)) == document
        assert canonical(parse(canonical(document))) == canonical(document)
        assert parse(to_text(document).encode()) == document


def test_python_reads_the_same_document() -> None:
    """The reader of Python takes what this one takes, with the same strings and names."""
    dice = random.Random(SEED)
    for _ in range(TRIES):
        text = to_text(random_json(dice, 4))
        theirs = json.loads(text, parse_int=JsonNumber, parse_float=JsonNumber)
        assert theirs == parse(text), f"PROOFMARK_SEED={SEED}"


def test_a_document_that_ends_early_is_refused() -> None:
    dice = random.Random(SEED)
    for _ in range(TRIES // 4):
        text = to_text([random_json(dice, 4)])
        for end in range(min(len(text), 300)):
            code = attempt(lambda end=end, text=text: parse(text[:end]))[1]
            assert code in ("unexpected_end", "invalid_literal"), (text[:end], f"PROOFMARK_SEED={SEED}")


def test_doubles_are_written_as_python_and_ecmascript_write_them() -> None:
    dice = random.Random(SEED)
    for _ in range(TRIES * 5):
        value = dice.choice(
            [dice.uniform(-1e3, 1e3), dice.random() * 10.0 ** dice.randint(-320, 308), float(dice.randrange(2**60))]
        )
        token = JsonNumber(repr(value))
        assert number_text(token, "py-utf8") == repr(value)
        text = number_text(token, "jcs")
        assert float(text) == value
        # An exponent is written only outside 1e-7 to 1e21, and zeros at the end of a fraction never.
        assert ("e" in text) == (value != 0 and not 1e-6 <= abs(value) < 1e21), text
        assert "." not in text or not text.split("e")[0].endswith("0")
        check_exact(token, "jcs")
        check_exact(token, "py-ascii")


def test_a_number_that_a_double_does_not_hold_is_not_exact() -> None:
    dice = random.Random(SEED)
    for _ in range(TRIES):
        token = JsonNumber(f"{dice.randrange(1, 9)}.{dice.randrange(10**29, 10**30)}e{dice.randint(-300, 300)}")
        code = attempt(lambda token=token: check_exact(token, "jcs"))[1]
        assert code == "number_not_exact" or token.text.rstrip("0") != token.text


def test_a_changed_bit_of_a_signature_is_noticed() -> None:
    dice, key = random.Random(SEED), KEYS[0]
    message = dice.randbytes(20)
    signature = key.secret.sign(message)
    assert verify_strictly(key.raw, message, signature)
    for bit in range(512):
        changed = (int.from_bytes(signature, "big") ^ 1 << bit).to_bytes(64, "big")
        assert not verify_strictly(key.raw, message, changed)
    for bit in range(256):
        changed = (int.from_bytes(key.raw, "big") ^ 1 << bit).to_bytes(32, "big")
        assert not verify_strictly(changed, message, signature)
    for wrong in (b"", signature[:-1], signature + b"\0"):
        assert not verify_strictly(key.raw, message, wrong)
        assert not verify_strictly(wrong, message, signature)


def test_p256_takes_the_signature_of_its_key_and_nothing_else() -> None:
    dice, secret, message = random.Random(SEED), generate_private_key(SECP256R1()), b"message"
    numbers = secret.public_key().public_numbers()
    key = numbers.x.to_bytes(32, "big") + numbers.y.to_bytes(32, "big")
    r, s = decode_dss_signature(secret.sign(message, ECDSA(SHA256())))

    def holds(key: bytes, r: int, s: int) -> bool:
        return verify_p256(key, message, r.to_bytes(32, "big") + s.to_bytes(32, "big"))

    # ECDSA takes s and -s; both are of the same message.
    assert holds(key, r, s)
    assert holds(key, r, P256_ORDER - s)
    for wrong in ((0, s), (r, 0), (0, 0), (P256_ORDER, s), (r, P256_ORDER), (s, r), (r, s ^ 1), (2**256 - 1, 2**256 - 1)):
        assert not holds(key, *wrong)
    for other in (bytes(64), b"\xff" * 64, key[32:] + key[:32], dice.randbytes(64)):
        assert not holds(other, r, s)
    assert not verify_p256(key[:-1], message, bytes(64))


def test_verify_never_raises_whatever_the_bytes() -> None:
    dice = random.Random(SEED)
    for number in range(TRIES):
        data = bytearray(mutant(SEED, number, KEYS)[:20_000])
        for _ in range(dice.randrange(4)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        found = verify(data, trusted=[KEYS[0].id], profile=dice.choice(["vrf", "jcs", "py-utf8", "py-ascii"]))
        assert (found.answer == "valid") == (found.cause is None) == (found.signer is not None), f"PROOFMARK_SEED={SEED}"
        assert found.answer == "valid" or found.trust == "unknown"


def test_documents_of_the_largest_size_are_read() -> None:
    """Each is of one kind of token, and none costs more than its size, nor a stack."""
    size = (1 << 20) - 100
    for text in (
        f"[{'1,' * (size // 2)}1]",
        f"[{'[],' * (size // 3)}[]]",
        f'["{"a" * size}"]',
        f'["{chr(92) * 2 * (size // 2)}"]',
        f"[0.{'1' * size}]",
        f"[1e{'1' * size}]",
        f"[{' ' * size}]",
        f"{{{','.join(f'{json.dumps(str(name))}:0' for name in range(size // 12))}}}",
    ):
        assert attempt(lambda text=text: parse(text))[1] is None, text[:20]
    for text, code in (("[" * size, "too_deep"), ('{"a":' * 65, "too_deep"), ("[" * 64, "unexpected_end")):
        assert attempt(lambda text=text: parse(text))[1] == code
    try:
        parse(f"[{'1,' * (1 << 19)}")
    except Refused as refused:
        assert refused.code == "too_large"
