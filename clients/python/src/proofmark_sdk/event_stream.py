"""Server-sent events of a job."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from .calls import LAST_STATES, MAX_ANSWER
from .documents import read_json
from .errors import ProofmarkError
from .types import Job

EVENT_SILENCE = 120.0
"""The seconds without a byte after which a stream of events has ended."""


class EventStream:
    """The states of a job, read from the bytes of a stream."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._data: list[bytearray] = []
        self._length = 0
        """The bytes of whole lines since the last event ended."""
        self.is_over = False
        """Whether the last state has come. What is sent after it does not count."""

    def feed(self, chunk: bytes) -> Iterator[Job]:
        """The events that are complete with these bytes."""
        lines: list[bytearray] = []
        self._rest += chunk
        if b"\n" in chunk:
            *lines, self._rest = self._rest.split(b"\n")
        for line in lines:
            self._length += len(line) + 1
            self._check(self._length)
            line = line.rstrip(b"\r")
            if line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" "))
            elif not line:
                data, self._data, self._length = self._data, [], 0
                if data:
                    yield self._job(b"\n".join(data))
                    if self.is_over:
                        return
        self._check(self._length + len(self._rest))

    def end(self) -> None:
        """The stream has ended. Raises `ProofmarkError` where the job had not."""
        if not self.is_over:
            raise ProofmarkError("broken", "the stream of events ended before the job: ask for the job", True)

    def _check(self, length: int) -> None:
        if length > MAX_ANSWER:
            raise ProofmarkError("too_large", f"an event of the server has more than {MAX_ANSWER} bytes")

    def _job(self, data: bytes) -> Job:
        try:
            job = read_json(data)
        except ValueError as error:
            raise ProofmarkError("malformed", f"an event of the server is not JSON: {error}") from None
        if not isinstance(job, dict) or not isinstance(job.get("state"), str) or "job_id" not in job:
            raise ProofmarkError("malformed", "an event of the server is not a job")
        self.is_over = job["state"] in LAST_STATES
        return cast(Job, job)
