"""Runs the binary: with limits of time and output, or in the terminal of this process."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from .errors import ProofmarkError

MAX_OUTPUT = 16 << 20
"""The bytes of standard output, and of standard error."""
CHUNK = 1 << 16


@dataclass(frozen=True)
class Ended:
    """How a process ended, and what it wrote."""

    code: int
    stdout: bytes
    stderr: bytes


def run(argv: Sequence[str], given: bytes, env: Mapping[str, str], folder: str | None, seconds: float) -> Ended:
    """Runs a program to its end. Raises `ProofmarkError` if it cannot be started, takes too long or writes too much."""
    end = time.monotonic() + seconds
    try:
        # A new session, so that the processes that it starts end with it.
        process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
            cwd=folder,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise _not_started(argv, error) from error
    with process:
        try:
            stdout, stderr = _exchange(process, given, end, seconds)
            return Ended(process.wait(max(0, end - time.monotonic())), stdout, stderr)
        except subprocess.TimeoutExpired:
            _kill(process)
            raise _late(seconds) from None
        except BaseException:
            _kill(process)
            raise


def run_in_terminal(argv: Sequence[str], folder: Path, env: Mapping[str, str]) -> int:
    """Runs a program to its end, with the streams of this process; returns its code. It gets each interrupt once."""
    try:
        process = subprocess.Popen(argv, cwd=folder, env=env)
    except (OSError, ValueError) as error:
        raise _not_started(argv, error) from error
    interrupts = 0
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            interrupts += 1
            # The program ends at once on a second interrupt, so the terminal's first one must not reach it twice.
            if interrupts > 1 or not _is_in_foreground():
                process.send_signal(signal.SIGINT)


def _is_in_foreground() -> bool:
    """Whether the terminal sends its Ctrl-C to this process, and so to the program that it runs, too."""
    try:
        with open("/dev/tty", "rb", buffering=0) as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False


def _not_started(argv: Sequence[str], error: Exception) -> ProofmarkError:
    return ProofmarkError("no_binary", f"`{argv[0]}` cannot be started: {error}")


def _exchange(process: subprocess.Popen[bytes], given: bytes, end: float, seconds: float) -> tuple[bytes, bytes]:
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    left = memoryview(given)
    stdout, stderr = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        os.set_blocking(process.stdin.fileno(), False)
        selector.register(process.stdin, selectors.EVENT_WRITE)
        selector.register(process.stdout, selectors.EVENT_READ, stdout)
        selector.register(process.stderr, selectors.EVENT_READ, stderr)
        while selector.get_map():
            ready = selector.select(max(0, end - time.monotonic()))
            if not ready:
                raise _late(seconds)
            for key, _ in ready:
                if key.data is None:
                    left = _written(key.fd, left)
                    is_over = not left
                else:
                    is_over = not _read(key.fd, key.data)
                if is_over:
                    selector.unregister(key.fileobj)
                    cast("IO[bytes]", key.fileobj).close()
    return bytes(stdout), bytes(stderr)


def _written(descriptor: int, left: memoryview) -> memoryview:
    """What is still to be written. A program may end without reading all of it."""
    try:
        return left[os.write(descriptor, left[:CHUNK]) :]
    except BrokenPipeError:
        return left[:0]


def _read(descriptor: int, output: bytearray) -> bytes:
    """Reads what is there. An empty answer is the end."""
    chunk = os.read(descriptor, CHUNK)
    if len(output) + len(chunk) > MAX_OUTPUT:
        raise ProofmarkError("too_large", f"the binary wrote more than {MAX_OUTPUT} bytes")
    output += chunk
    return chunk


def _late(seconds: float) -> ProofmarkError:
    return ProofmarkError("late", f"the binary has not answered within {seconds:g} seconds", True)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Ends the process and what it has started. It was not waited for yet, so its number still belongs to it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
