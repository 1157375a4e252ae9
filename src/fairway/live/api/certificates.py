"""Certificates: one of our own to serve with when none is given, and contexts made from files or from bytes.

In: paths, or PEM bytes. Out: `ssl.SSLContext`s. Python's ssl module reads private keys from files only; `as_file`
lends it bytes as files that exist in memory alone, so that a read-only root file system is enough.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import ipaddress
import logging
import os
import socket
import ssl
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from fairway.exit_codes import FAILED, USAGE
from fairway.live.api.problems import LiveProblem

if TYPE_CHECKING:
    from cryptography.x509 import GeneralName

__all__ = [
    "BadCertificate",
    "as_file",
    "as_memory_file",
    "client_context",
    "fingerprint",
    "own_certificate",
    "self_signed",
    "serving",
    "serving_context",
]

logger = logging.getLogger(__name__)
VALID_DAYS = 365
BEGIN, END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
MEMORY_FOLDERS = ("/dev/shm",) if not hasattr(os, "getuid") else ("/dev/shm", f"/run/user/{os.getuid()}")
"""Where file systems in memory are by custom."""


class BadCertificate(LiveProblem):
    """A certificate or key file that can not be used; or one without the other, which is a matter of usage."""

    exit_code = FAILED

    def __init__(self, cert_file: str, key_file: str, why: str) -> None:
        if not (cert_file and key_file):
            self.exit_code = USAGE
            why = "--tls-cert-file and --tls-private-key-file go together; only one of them was given"
        cert_file, key_file = cert_file or "(none)", key_file or "(none)"
        super().__init__(
            f"the certificate {cert_file} with the key {key_file} can not be used",
            why,
            "both have to be PEM files that belong together; leave both options out for a self-signed certificate",
        )


def serving_context(cert_file: str = "", key_file: str = "", names: tuple[str, ...] = ()) -> ssl.SSLContext:
    """For a server: with the given certificate, or a self-signed one for these names and this machine's."""
    return serving(cert_file, key_file, names)[0]


def serving(
    cert_file: str = "", key_file: str = "", names: tuple[str, ...] = ()
) -> tuple[ssl.SSLContext, Callable[[], str]]:
    """The same, and what says the fingerprint of the certificate as it is now, which may be renewed; "": none."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if cert_file or key_file:
        try:
            context.load_cert_chain(cert_file, key_file)
        except (OSError, ssl.SSLError) as error:
            raise BadCertificate(cert_file, key_file, str(error)) from None
        return context, partial(_fingerprint_of, cert_file)
    certificate, key = self_signed(names) if names else own_certificate()
    digest = fingerprint(certificate)
    logger.info("serving with a self-signed certificate", extra={"sha256": digest})
    with ExitStack() as stack:
        context.load_cert_chain(stack.enter_context(as_file(certificate)), stack.enter_context(as_file(key)))
    return context, lambda: digest


def _fingerprint_of(cert_file: str) -> str:
    try:
        text = Path(cert_file).read_text(encoding="ascii")
        return fingerprint(f"{text[text.index(BEGIN) : text.index(END)]}{END}\n".encode())
    except (OSError, ValueError):
        return ""  # somebody writes it just now


def client_context(authorities: bytes = b"") -> ssl.SSLContext:
    """For a client that trusts these authorities (PEM), or the system's.

    Chains are checked as Go's programs check them: since 3.13 Python also refuses certificates that lack an extension
    which RFC 5280 asks for and many clusters' own authorities leave out.
    """
    if not authorities:
        context = ssl.create_default_context()
    else:
        with as_file(authorities) as path:
            context = ssl.create_default_context(cafile=path)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


@cache
def own_certificate() -> tuple[bytes, bytes]:
    """That of this process: whatever it serves has the same, so that who trusts one trusts all."""
    return self_signed()


def self_signed(names: tuple[str, ...] = ()) -> tuple[bytes, bytes]:
    """A certificate and its key, PEM, good for a year; nobody trusts it who has not been told to."""
    from cryptography import x509  # noqa: PLC0415 - takes a while, and is seldom needed
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID  # noqa: PLC0415

    key = ec.generate_private_key(ec.SECP256R1())
    now = dt.datetime.now(dt.UTC)
    hosts = dict.fromkeys(("localhost", "127.0.0.1", "::1", socket.gethostname(), *names))
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"localhost@{int(now.timestamp())}")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(days=VALID_DAYS))
        .add_extension(x509.SubjectAlternativeName([_general_name(host) for host in hosts if host]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return certificate.public_bytes(serialization.Encoding.PEM), private


def fingerprint(certificate: bytes) -> str:
    """The SHA-256 of a certificate (PEM), by which somebody who has no authority to ask can tell it from others."""
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(certificate.decode())).hexdigest()


def _general_name(host: str) -> GeneralName:
    from cryptography import x509  # noqa: PLC0415

    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


@contextmanager
def as_file(data: bytes) -> Iterator[str]:
    """A path under which these bytes can be read, for a while; on Linux nothing touches a disk."""
    if not hasattr(os, "memfd_create"):
        with as_memory_file(data) as path:
            yield path
        return
    number = os.memfd_create("fairway")
    try:
        with open(number, "wb", closefd=False) as file:
            file.write(data)
        yield f"/proc/self/fd/{number}"
    finally:
        os.close(number)


@contextmanager
def as_memory_file(data: bytes, folders: tuple[str, ...] = MEMORY_FOLDERS) -> Iterator[str]:
    """Where there are no files without a name: one in a folder of our own, in memory if there is such a place."""
    places = [place for place in folders if os.access(place, os.W_OK | os.X_OK)]
    with tempfile.TemporaryDirectory(prefix="fairway-", dir=places[0] if places else None) as folder:  # mode 0700
        path = Path(folder, "pem")
        with open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(data)
        yield str(path)
