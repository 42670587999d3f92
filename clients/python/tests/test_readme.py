"""The examples of the README run, and print what it says."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"
BLOCK = re.compile(r"^```(\w+)( [^\n]+)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_examples_of_the_readme(binary: str, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "proofmark").symlink_to(binary)
    (programs / "python3").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (programs / "python3").chmod(0o755)
    commands = []
    for kind, more, text in BLOCK.findall(README.read_text()):
        if more.startswith(" file="):
            (tmp_path / more.removeprefix(" file=")).write_text(text)
        elif kind == "console" and not more:
            commands += [command.partition("\n") for command in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]]
    assert len(commands) > 8
    env = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "PROOFMARK_HOME": str(tmp_path / "home")}
    script = "".join(f"{command}\necho '<end>'\n" for command, _, _ in commands)
    # The port of the page may be taken: each run has its own.
    for file in tmp_path.glob("*.py"):
        file.write_text(at_port(file.read_text()))
    argv = ["bash", "-c", at_port(script)]
    pipe = subprocess.PIPE
    process = subprocess.Popen(argv, cwd=tmp_path, env=env, stdout=pipe, stderr=pipe, text=True, start_new_session=True)
    try:
        stdout, stderr = process.communicate(timeout=120)
    finally:
        # A server that an earlier command began, where a later one failed.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    printed = stdout.split("<end>\n")
    for (command, _, expected), output in zip(commands, printed, strict=False):
        pattern = re.escape(expected).replace("…", "[^\n]*")
        assert not expected or re.fullmatch(pattern, output), f"{command}\n{output}\n{stderr}"
    assert len(printed) == len(commands) + 1


def at_port(text: str) -> str:
    return text.replace("127.0.0.1:8700", f"127.0.0.1:{PORT}").replace(
        "serve --policy", f"serve --listen 127.0.0.1:{PORT} --policy"
    )


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


PORT = free_port()


def test_a_first_function_is_short() -> None:
    first = next(text for _, more, text in BLOCK.findall(README.read_text()) if more == " file=first.py")
    function = first.split("for arguments")[0]
    assert len([line for line in function.splitlines() if line]) <= 10
