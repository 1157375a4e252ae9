"""Asking a running `fairway run`: who may be asked, and who may see our token.

In: a `SchedulerAddress`, a path, and a token if there is one. Out: the answer's JSON. The token is a password, so it
goes over TLS only, to a server whose certificate was checked (against the system's authorities, a file of others, or a
fingerprint that somebody copied from the scheduler's log) unless the user said not to; on loopback as well, where
`kubectl port-forward` ends and any process may listen. Redirects are not followed. Raises `LiveProblem`s. Called by the
commands `why` and `status`, and by those about queues.
"""

from __future__ import annotations

import re
import ssl
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import aiohttp
import msgspec

from fairway.exit_codes import FAILED, UNREACHABLE
from fairway.live.api.problems import LiveProblem, status_message
from fairway.model import DecodeError
from fairway.model.nesting import check_nesting

__all__ = ["SchedulerAddress", "SchedulerProblem", "ask"]

SECONDS = 30
MAX_BYTES = 64 << 20


class SchedulerProblem(LiveProblem):
    """A scheduler that can not be asked, or does not answer."""

    def __init__(self, what: str, why: str, fix: str, exit_code: int = UNREACHABLE) -> None:
        super().__init__(what, why, fix)
        self.exit_code = exit_code


class SchedulerAddress(NamedTuple):
    """Where the scheduler is, and how we know that it is the one."""

    url: str
    authority_file: str | None = None  # of the authorities that may have signed its certificate
    fingerprint: str | None = None  # SHA-256 of its certificate, as hexadecimal digits
    is_unchecked: bool = False  # the user does not want it checked

    def check(self) -> None:
        """Raise if a token must not go there."""
        why = ""
        try:
            parts = urlsplit(self.url)
            if parts.scheme == "http":
                why = "a token sent over http could be read on the way"
            elif parts.scheme != "https" or not parts.hostname:
                why = "it has to begin with https:// and a host"
            elif parts.username is not None or parts.password is not None:
                why = "a name and a password do not belong into it"
        except ValueError as error:
            why = str(error)
        if why:
            shown = self.url if "@" not in self.url else "(an address with a password)"
            raise SchedulerProblem(
                f"--scheduler {shown}: that is not where a scheduler listens", why, "write https://HOST:PORT", 2
            )

    def trust(self) -> ssl.SSLContext | aiohttp.Fingerprint:
        """What the certificate has to stand up to."""
        if self.fingerprint is not None:
            digits = self.fingerprint.lower().removeprefix("sha256:").replace(":", "")
            if not re.fullmatch(r"[0-9a-f]{64}", digits):
                raise SchedulerProblem(
                    f"{self.fingerprint!r} is not the SHA-256 of a certificate",
                    "",
                    "the scheduler logs it when it starts: 64 hexadecimal digits",
                    2,
                )
            return aiohttp.Fingerprint(bytes.fromhex(digits))
        context = ssl.create_default_context()
        if self.is_unchecked:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        elif self.authority_file is not None:
            try:
                context.load_verify_locations(cadata=Path(self.authority_file).read_text(encoding="ascii"))
            except (OSError, ValueError, ssl.SSLError) as error:
                reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
                raise SchedulerProblem(
                    f"--certificate-authority {self.authority_file} can not be used", reason, "give a PEM file", 1
                ) from None
        return context


async def ask(address: SchedulerAddress, path: str, token: str | None, body: bytes | None = None) -> dict[str, Any]:
    """One question; `token` is the value of the Authorization header, `body` what is posted."""
    address.check()
    trust, url = address.trust(), address.url.rstrip("/")
    headers = {} if token is None else {"Authorization": token}
    method = "GET" if body is None else "POST"
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=SECONDS)) as session,
            session.request(
                method, f"{url}{path}", data=body, headers=headers, ssl=trust, allow_redirects=False
            ) as answer,
        ):
            said = bytearray()
            async for chunk in answer.content.iter_chunked(1 << 16):
                said += chunk
                if len(said) > MAX_BYTES:
                    raise ValueError(f"the answer has more than {MAX_BYTES} bytes")
            if answer.status == 200:
                return _read(bytes(said), url)
    except (aiohttp.ClientConnectorCertificateError, aiohttp.ServerFingerprintMismatch) as error:
        raise SchedulerProblem(
            f"the certificate of the scheduler at {url} is not trusted",
            _certificate_words(error),
            "give its --certificate-authority FILE, or its --certificate-fingerprint (the scheduler logs it when it "
            "starts), or, where nobody else can listen, --insecure-skip-tls-verify",
        ) from None
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
        raise SchedulerProblem(
            f"the scheduler at {url} can not be reached",
            error.strerror if isinstance(error, OSError) and error.strerror else str(error) or "it does not answer",
            "is it running? kubectl port-forward makes it reachable here",
        ) from None
    if (problem := _told(answer.status, bytes(said))) is not None:
        raise problem
    if answer.status == 404:
        raise SchedulerProblem(
            status_message(bytes(said)) or "not found", "", "kubectl get pods -A lists the pods there are", 2
        )
    if 300 <= answer.status < 400:
        raise SchedulerProblem(
            f"{url} sends us elsewhere, to {answer.headers.get('Location', 'nowhere')!r}",
            "a token is not handed on",
            "give the scheduler's own address",
        )
    refused = answer.status in (401, 403)
    raise SchedulerProblem(
        f"the scheduler answers {answer.status}: {status_message(bytes(said))}",
        "",
        f"the kubeconfig's user needs the right to {method.lower()} the path /fairway/v1/*"
        if refused
        else "try again later",
    )


def _told(status: int, body: bytes) -> SchedulerProblem | None:
    """What the scheduler says of a question that makes no sense, or that it has no answer to, with what to do."""
    if status in (401, 403):
        return None
    try:
        found = _read(body, "")
    except SchedulerProblem:
        return None
    message, why, fix = (found.get(name) for name in ("message", "why", "fix"))
    if not (isinstance(message, str) and isinstance(fix, str)):
        return None
    code = found.get("exitCode")
    return SchedulerProblem(message, str(why or ""), fix, code if isinstance(code, int) else FAILED)


def _read(body: bytes, url: str) -> dict[str, Any]:
    try:
        check_nesting(body, "")
        found: dict[str, Any] = msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, DecodeError) as error:
        raise SchedulerProblem(
            f"what answers at {url} is no scheduler of ours", str(error), "give the address of `fairway run`"
        ) from None
    return found


def _certificate_words(error: aiohttp.ClientConnectorCertificateError | aiohttp.ServerFingerprintMismatch) -> str:
    if isinstance(error, aiohttp.ServerFingerprintMismatch):
        return f"its fingerprint is {error.got.hex()}"
    reason = error.certificate_error
    return reason.verify_message if isinstance(reason, ssl.SSLCertVerificationError) else str(reason)
