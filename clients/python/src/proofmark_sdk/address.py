"""Where a server is, and the headers that each request to it has."""

from __future__ import annotations

import functools
import ipaddress
import os
import ssl
from dataclasses import dataclass, field

import httpx

from .version import VERSION

LOCAL_SERVER = "http://127.0.0.1:8700"


@dataclass(frozen=True)
class Address:
    """A server, and who asks it."""

    base_url: str
    api_key: str | None = field(repr=False)

    @classmethod
    def of(cls, base_url: str | None, api_key: str | None) -> Address:
        """The server that is named, or else that of `PROOFMARK_URL`, or else the one of this host."""
        base_url = (base_url or os.environ.get("PROOFMARK_URL") or LOCAL_SERVER).rstrip("/")
        api_key = api_key or os.environ.get("PROOFMARK_API_KEY") or None
        url = _url(base_url)
        if api_key is not None and not (api_key.isascii() and api_key.isprintable() and " " not in api_key):
            raise ValueError("the API key has characters that no key has: give it as `proofmark api-key add` printed it")
        if api_key is not None and url.scheme == "http" and not _is_loopback(url.host):
            message = f"an API key is sent over HTTPS, or on this host, and `{base_url}` is neither: write `https://`"
            raise ValueError(message)
        return cls(base_url, api_key)

    def page(self, decision_id: str) -> str:
        """The page of a decision."""
        return f"{self.base_url}/ui/decisions/{decision_id}"

    def options(self) -> dict[str, object]:
        """What both kinds of clients of httpx are made with."""
        # Compressed answers would have to be limited while they are unpacked.
        headers = {"Accept-Encoding": "identity", "User-Agent": f"proofmark-sdk/{VERSION}"}
        if self.api_key is not None:
            headers["Authorization"] = f"Bearer {self.api_key}"
        # A proxy of the environment cannot reach this host's loopback, and must not see what is sent to it.
        trust_env = not _is_loopback(_url(self.base_url).host)
        return {"headers": headers, "follow_redirects": False, "trust_env": trust_env, "verify": _tls()}


@functools.cache
def _tls() -> ssl.SSLContext:
    """Reading the certificates takes longer than a request, so it is done once."""
    return httpx.create_ssl_context()


def _url(base_url: str) -> httpx.URL:
    try:
        url = httpx.URL(base_url)
    except httpx.InvalidURL as error:
        raise ValueError(f"`{base_url}` is not the address of a server: {error}") from None
    if url.scheme not in ("http", "https") or not url.host or url.userinfo or url.query or url.fragment:
        raise ValueError(f"`{url.copy_with(userinfo=b'')}` is not the address of a server, as `{LOCAL_SERVER}` is")
    return url


def _is_loopback(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost"
    # Before Python 3.13, an IPv4 address that is written as an IPv6 address is not taken for loopback.
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback
