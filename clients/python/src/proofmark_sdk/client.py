"""Clients of a server: they send what `calls` makes, and differ only in how they wait."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import AsyncIterator, Iterator
from types import TracebackType
from typing import Any, TypeVar

import httpx

from . import calls
from .address import Address
from .calls import Answer, Call, Gathering
from .errors import ProofmarkError
from .event_stream import EVENT_SILENCE, EventStream
from .operation import AsyncMethod, Method
from .types import Job

T = TypeVar("T")

DEFAULT_TIMEOUT = 30.0
"""The seconds that a server has for an answer."""


class Client:
    """Asks a server. It can be shared by threads.

    `timeout` is the seconds from sending a request to the end of its answer. Without `base_url` and `api_key`, the variables
    `PROOFMARK_URL` and `PROOFMARK_API_KEY` count, and then the server of this host.
    """

    operations = calls
    verify = Method(calls.verify)
    submit = Method(calls.submit)
    job = Method(calls.job)
    accept = Method(calls.accept)
    decide = Method(calls.decide)
    decision = Method(calls.decision)
    report = Method(calls.report)
    reviews = Method(calls.reviews)
    review = Method(calls.review)
    receipt = Method(calls.receipt)
    chain = Method(calls.chain)
    redeem = Method(calls.redeem)

    def __init__(self, base_url: str | None = None, api_key: str | None = None, timeout: float = DEFAULT_TIMEOUT) -> None:
        self.address = Address.of(base_url, api_key)
        self._timeout = timeout
        options: Any = self.address.options()
        self._http = httpx.Client(timeout=timeout, **options)

    def send(self, call: Call[T]) -> T:
        """Sends a request, again where the server asks for that, and reads the answer."""
        retries, paused = 0, 0.0
        while True:
            answer = self._answer(call)
            pause = call.pause(answer, retries, paused)
            if pause is None:
                return call.answer(answer)
            time.sleep(pause)
            retries, paused = retries + 1, paused + pause

    def events(self, job_id: str) -> Iterator[Job]:
        """The states of a job, until it is over."""
        stream, path = EventStream(), f"{calls.job(job_id).path}/events"
        try:
            with self._http.stream("GET", self.address.base_url + path, timeout=_silence(self._timeout)) as response:
                gathering = Gathering(response.status_code, response.headers)
                if response.status_code != 200:
                    for chunk in response.iter_raw():
                        gathering.add(chunk)
                    raise calls.problem(gathering.answer())
                for chunk in response.iter_raw():
                    yield from stream.feed(chunk)
                    if stream.is_over:
                        return
                stream.end()
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise failure(error, self.address, EVENT_SILENCE) from error

    def page(self, decision_id: str) -> str:
        """The page where a person sees a decision."""
        return self.address.page(decision_id)

    def close(self) -> None:
        """Closes the connections. The client sends nothing afterwards. The end of a `with` block does this, too."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _answer(self, call: Call[Any]) -> Answer:
        # httpx limits the time of each read: an answer that comes byte by byte would never be late. The thread is left behind then.
        seconds = self._timeout + call.wait
        answers: queue.SimpleQueue[Answer | BaseException] = queue.SimpleQueue()
        thread = threading.Thread(target=self._exchange, args=(call, seconds, answers), daemon=True)
        thread.start()
        try:
            answer = answers.get(timeout=seconds)
        except queue.Empty:
            raise late(seconds) from None
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def _exchange(self, call: Call[Any], seconds: float, answers: queue.SimpleQueue[Answer | BaseException]) -> None:
        end = time.monotonic() + seconds
        try:
            with self._http.stream(**_request(self.address, call, seconds)) as response:
                gathering = Gathering(response.status_code, response.headers)
                for chunk in response.iter_raw():
                    gathering.add(chunk)
                    if time.monotonic() > end:
                        raise late(seconds)
            answers.put(gathering.answer())
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            answers.put(failure(error, self.address, seconds))
        except BaseException as error:
            answers.put(error)


class AsyncClient:
    """As `Client`, for callers that await. It belongs to the event loop that uses it first."""

    operations = calls
    verify = AsyncMethod(calls.verify)
    submit = AsyncMethod(calls.submit)
    job = AsyncMethod(calls.job)
    accept = AsyncMethod(calls.accept)
    decide = AsyncMethod(calls.decide)
    decision = AsyncMethod(calls.decision)
    report = AsyncMethod(calls.report)
    reviews = AsyncMethod(calls.reviews)
    review = AsyncMethod(calls.review)
    receipt = AsyncMethod(calls.receipt)
    chain = AsyncMethod(calls.chain)
    redeem = AsyncMethod(calls.redeem)

    def __init__(self, base_url: str | None = None, api_key: str | None = None, timeout: float = DEFAULT_TIMEOUT) -> None:
        self.address = Address.of(base_url, api_key)
        self._timeout = timeout
        options: Any = self.address.options()
        self._http = httpx.AsyncClient(timeout=timeout, **options)

    async def send(self, call: Call[T]) -> T:
        """Sends a request, again where the server asks for that, and reads the answer."""
        retries, paused = 0, 0.0
        while True:
            answer = await self._answer(call)
            pause = call.pause(answer, retries, paused)
            if pause is None:
                return call.answer(answer)
            await asyncio.sleep(pause)
            retries, paused = retries + 1, paused + pause

    async def events(self, job_id: str) -> AsyncIterator[Job]:
        """The states of a job, until it is over."""
        stream, path = EventStream(), f"{calls.job(job_id).path}/events"
        try:
            async with self._http.stream("GET", self.address.base_url + path, timeout=_silence(self._timeout)) as response:
                gathering = Gathering(response.status_code, response.headers)
                if response.status_code != 200:
                    async for chunk in response.aiter_raw():
                        gathering.add(chunk)
                    raise calls.problem(gathering.answer())
                async for chunk in response.aiter_raw():
                    for job in stream.feed(chunk):
                        yield job
                    if stream.is_over:
                        return
                stream.end()
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise failure(error, self.address, EVENT_SILENCE) from error

    def page(self, decision_id: str) -> str:
        """The page where a person sees a decision."""
        return self.address.page(decision_id)

    async def aclose(self) -> None:
        """Closes the connections, as `close` of `Client`. The end of an `async with` block does this, too."""
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    async def _answer(self, call: Call[Any]) -> Answer:
        seconds = self._timeout + call.wait
        try:
            return await asyncio.wait_for(self._exchange(call, seconds), seconds)
        except asyncio.TimeoutError:
            raise late(seconds) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise failure(error, self.address, seconds) from error

    async def _exchange(self, call: Call[Any], seconds: float) -> Answer:
        async with self._http.stream(**_request(self.address, call, seconds)) as response:
            gathering = Gathering(response.status_code, response.headers)
            async for chunk in response.aiter_raw():
                gathering.add(chunk)
        return gathering.answer()


def late(seconds: float) -> ProofmarkError:
    return ProofmarkError("late", f"the server has not answered within {seconds:g} seconds", True)


def failure(error: Exception, address: Address, seconds: float) -> ProofmarkError:
    """What an error of httpx means."""
    if isinstance(error, httpx.TimeoutException):
        return late(seconds)
    if isinstance(error, httpx.ConnectError):
        return ProofmarkError("unreachable", f"the server at {address.base_url} cannot be reached: {error}", True)
    return ProofmarkError("broken", f"the connection to the server failed: {error or type(error).__name__}", True)


def _request(address: Address, call: Call[Any], seconds: float) -> dict[str, Any]:
    url = address.base_url + call.path
    parts = {"method": call.method, "url": url, "content": call.body, "params": call.params or None}
    return {**parts, "headers": call.headers, "timeout": seconds}


def _silence(seconds: float) -> httpx.Timeout:
    return httpx.Timeout(seconds, read=EVENT_SILENCE)
