"""A server whose answers are bytes that a test chooses."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import TracebackType


@dataclass(frozen=True)
class Request:
    """What a client sent."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


Replies = Callable[[Request], "bytes | Iterable[bytes]"]


class Fake:
    """Answers each request by `reply`: bytes, or pieces that are sent one after the other."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.reply: Replies = lambda request: response(b"{}")
        self.is_over = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Fake:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.is_over.set()
        # Only this ends `accept`.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def silence(self, request: Request) -> bytes:
        """A reply that never comes."""
        self.is_over.wait()
        return b""

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream:
            try:
                request = _read(stream)
                self.requests.append(request)
                reply = self.reply(request)
                for piece in [reply] if isinstance(reply, bytes) else reply:
                    connection.sendall(piece)
            except OSError:
                # The client has had enough.
                return


def _read(stream: object) -> Request:
    readline = stream.readline  # type: ignore[attr-defined]
    method, path, _ = readline().decode().split()
    headers = {}
    while line := readline().decode().strip():
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    body = stream.read(int(headers.get("content-length", 0)))  # type: ignore[attr-defined]
    return Request(method, path, headers, body)


def response(body: bytes, status: str = "200 OK", **headers: str) -> bytes:
    """A whole response, after which the connection ends."""
    named = {"content-type": "application/json", "content-length": str(len(body)), **headers}
    lines = [f"HTTP/1.1 {status}", *(f"{name.replace('_', '-')}: {value}" for name, value in named.items()), "connection: close"]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def problem(status: str, code: str, **headers: str) -> bytes:
    """A response with a problem document."""
    error = {"code": code, "message": f"it is {code}", "retryable": True}
    document = {"type": "about:blank", "title": code, "status": int(status[:3]), "detail": code, "error": error}
    return response(json.dumps(document).encode(), status, **headers)


def gone() -> str:
    """The address of a server that no longer listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}"
