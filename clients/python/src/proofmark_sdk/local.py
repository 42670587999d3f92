"""Local mode: the methods of a client over the binary, with no server."""

from __future__ import annotations

import asyncio
import importlib
import os
import shutil
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, TypeVar, Union, cast

from . import commands
from .commands import Command, Known, Steps
from .errors import NotLocal, ProofmarkError
from .operation import AsyncMethod, Method, Operation
from .process import run

T = TypeVar("T")

PathLike = Union[str, "os.PathLike[str]"]

DEFAULT_TIMEOUT = 30.0
"""The seconds that the binary has for an answer."""


class _Binary:
    """A binary, a policy and a home."""

    operations = commands

    def __init__(
        self,
        policy: PathLike | None = None,
        home: PathLike | None = None,
        binary: PathLike | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        key: PathLike | None = None,
    ) -> None:
        self._policy = None if policy is None else _policy_file(policy)
        self._home = None if home is None else os.path.abspath(home)
        self._binary = find_binary() if binary is None else os.path.abspath(binary)
        self._timeout = timeout
        self._key = None if key is None else _name_or_file(key)

    def page(self, decision_id: str) -> None:
        """`None`: only a server has pages."""
        return

    def _run(self, operation: Operation[T]) -> T:
        if isinstance(operation, Known):
            return cast(T, operation.answer)
        if isinstance(operation, Steps):
            return cast(T, self._run(operation.then(self._run(operation.first))))
        return self._answer(cast("Command[T]", operation))

    def _answer(self, command: Command[T]) -> T:
        options = [f"--policy={self._policy_of(command.policy)}"] if command.decides else []
        if command.reviews:
            options.append(f"--key={self._reviewer()}")
        # In another folder, a file with the name of an id could be taken in place of the id.
        folder = None if command.here else os.sep
        with command.argv() as argv:
            ended = run([self._binary, *argv, *options], command.given, self._env(), folder, self._timeout + command.wait)
        return command.read(ended)

    def _policy_of(self, named: str | None) -> str:
        if named is not None:
            return _policy_file(named)
        if self._policy is None:
            raise ProofmarkError("no_policy", 'local mode needs an action policy: write `Local(policy="policy.yaml")`')
        return self._policy

    def _reviewer(self) -> str:
        if self._key is None:
            raise ProofmarkError("no_key", 'a review in local mode needs the key of a reviewer: write `Local(key="ann")`')
        return self._key

    def _env(self) -> dict[str, str]:
        env = dict(os.environ)
        if self._home is not None:
            env["PROOFMARK_HOME"] = self._home
            # It would name the store of another home.
            env.pop("PROOFMARK_STORE", None)
        # The binary may run in another folder.
        for name in ("PROOFMARK_HOME", "PROOFMARK_STORE"):
            if (place := env.get(name)) and not _is_database(place):
                env[name] = os.path.abspath(place)
        return env


class Local(_Binary):
    """Asks the binary `proofmark`, with no server. It can be shared by threads.

    `policy` is the file of an action policy, `home` the folder of keys and store, in place of `PROOFMARK_HOME`, and `binary` the
    program. `key` is that of a reviewer, for `review`: its name, or its file, which is a `Path` or has a `/`. What has no local
    form raises `NotLocal`.
    """

    verify = Method(commands.verify)
    submit = Method(commands.submit)
    job = Method(commands.job)
    accept = Method(commands.accept)
    decide = Method(commands.decide)
    decision = Method(commands.decision)
    report = Method(commands.report)
    reviews = Method(commands.reviews)
    review = Method(commands.review)
    receipt = Method(commands.receipt)
    chain = Method(commands.chain)
    redeem = Method(commands.redeem)

    def send(self, operation: Operation[T]) -> T:
        """Runs the binary, and reads what it prints."""
        return self._run(operation)

    def events(self, job_id: str) -> NoReturn:
        """Needs a server."""
        raise NotLocal("events", "`verify` returns the receipt")

    def close(self) -> None:
        """There is nothing to close: each command is a process of its own. So `Local` can stand where a `Client` does."""

    def __enter__(self) -> Local:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class AsyncLocal(_Binary):
    """As `Local`, for callers that await."""

    verify = AsyncMethod(commands.verify)
    submit = AsyncMethod(commands.submit)
    job = AsyncMethod(commands.job)
    accept = AsyncMethod(commands.accept)
    decide = AsyncMethod(commands.decide)
    decision = AsyncMethod(commands.decision)
    report = AsyncMethod(commands.report)
    reviews = AsyncMethod(commands.reviews)
    review = AsyncMethod(commands.review)
    receipt = AsyncMethod(commands.receipt)
    chain = AsyncMethod(commands.chain)
    redeem = AsyncMethod(commands.redeem)

    async def send(self, operation: Operation[T]) -> T:
        """Runs the binary, and reads what it prints."""
        return await asyncio.to_thread(self._run, operation)

    def events(self, job_id: str) -> NoReturn:
        """Needs a server."""
        raise NotLocal("events", "`verify` returns the receipt")

    async def aclose(self) -> None:
        """As `close` of `Local`."""

    async def __aenter__(self) -> AsyncLocal:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()


def find_binary() -> str:
    """The program `proofmark`: that of the package `proofmark-bin`, or else the one on the path."""
    try:
        package: Any = importlib.import_module("proofmark_bin")
    except ImportError:
        found = _on_path()
    else:
        try:
            found = package.find_proofmark_bin()
        except FileNotFoundError as error:
            raise ProofmarkError("no_binary", str(error)) from error
    if not found:
        raise ProofmarkError("no_binary", "the program `proofmark` is not there: `pip install proofmark-sdk[cli]`")
    return os.path.abspath(found)


def _on_path() -> str | None:
    """The program on the path, of which only absolute folders count: the others depend on the current folder."""
    folders = [folder for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(folder)]
    # For no folders, and on Windows, `which` also looks at the current one.
    found = shutil.which("proofmark", path=os.pathsep.join(folders)) if folders else None
    return found if found is not None and os.path.isabs(found) else None


def _is_database(store: str) -> bool:
    """Whether the binary takes it for the address of a database, and not for a file."""
    scheme, is_url, _ = store.partition("://")
    return bool(is_url and "/" not in scheme) or "password=" in store


def _name_or_file(key: PathLike) -> str:
    return key if isinstance(key, str) and os.sep not in key else os.path.abspath(key)


def _policy_file(policy: PathLike) -> str:
    path = Path(policy).absolute()
    if not path.is_file():
        raise ProofmarkError("no_policy", f"failed to read the action policy `{policy}`: there is no such file")
    return str(path)
