"""Verifies Proofmark's receipts, decision receipts, sessions and chains offline, and proofs of its transparency logs.

The answers and causes are those of `proofmark receipt verify` and `proofmark log verify`.

    from pathlib import Path
    from proofmark_sdk.offline import read_signers, verify

    trusted = read_signers(Path("issuer.pem").read_text())
    found = verify(Path("receipt.json").read_bytes(), trusted=trusted)
    print(found.answer, found.trust)

A document counts if `answer` is `valid` and `trust` is `trusted`. A signature says which key signed, and not whose key that is.
"""

from .canonical import PROFILES, canonical, to_text
from .chain import ChainVerification, Document, Links, Loss, LostEnd, split_documents, verify_chain
from .file import hash_file, places_of
from .json import MAX_BYTES, MAX_DEPTH, Json, JsonObject, parse
from .number import JsonNumber, Profile
from .proof import Cosignature, ProofVerification, verify_proof
from .refused import Refused
from .signer import EndingSigner, TrustedSigner, fingerprint, read_signers
from .text import Source
from .trust import Trust
from .verify import Answer, Kind, Verification, verify, verify_head

__all__ = [
    "MAX_BYTES",
    "MAX_DEPTH",
    "PROFILES",
    "Answer",
    "ChainVerification",
    "Cosignature",
    "Document",
    "EndingSigner",
    "Json",
    "JsonNumber",
    "JsonObject",
    "Kind",
    "Links",
    "Loss",
    "LostEnd",
    "Profile",
    "ProofVerification",
    "Refused",
    "Source",
    "Trust",
    "TrustedSigner",
    "Verification",
    "canonical",
    "fingerprint",
    "hash_file",
    "parse",
    "places_of",
    "read_signers",
    "split_documents",
    "to_text",
    "verify",
    "verify_chain",
    "verify_head",
    "verify_proof",
]
