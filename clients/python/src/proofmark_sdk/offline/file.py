"""Which part of a document a file is."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from .json import Json

_CHUNK = 1 << 20


def hash_file(file: bytes | bytearray | memoryview | str | os.PathLike[str]) -> str:
    """The digest of a file, as receipts name it: `sha256:` and 64 lower-case hex digits.

    Give its content as bytes, or its path.
    """
    hashed = hashlib.sha256()
    if isinstance(file, (bytes, bytearray, memoryview)):
        hashed.update(file)
    else:
        with Path(file).open("rb") as opened:
            while chunk := opened.read(_CHUNK):
                hashed.update(chunk)
    return f"sha256:{hashed.hexdigest()}"


def places_of(document: Json, digest: str) -> list[str]:
    """The places of a document that name this digest, as in `hashes.output`, in document order.

    Empty when the document is not about the file. What they prove is what the document's signature proves: verify it as well.
    """
    return _places(document, digest, "")


def _places(value: Json, digest: str, path: str) -> list[str]:
    if isinstance(value, list):
        inner = [(item, f"{path}[{index}]") for index, item in enumerate(value)]
    elif isinstance(value, dict):
        inner = [(item, f"{path}.{name}" if path else name) for name, item in value.items()]
    else:
        return [path] if value == digest else []
    return [place for item, at in inner for place in _places(item, digest, at)]
