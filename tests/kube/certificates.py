"""Keys and certificates for a control plane that lives as long as a test run.

In: names. Out: PEM files of an authority, a serving certificate for loopback, client certificates for any user and
groups, and the key that signs ServiceAccount tokens. Called by `control_plane`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

__all__ = ["Authority", "KeyPair", "write_signing_key"]


class KeyPair(NamedTuple):
    """The files of a certificate and of its key."""

    certificate: Path
    key: Path


class Authority:
    """Signs certificates that the control plane and its clients trust."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("fairway-test-authority", ())
        builder = _builder(self._name, self._name, self._key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        self.file = directory / "ca.crt"
        self.file.write_bytes(_pem(builder.sign(self._key, hashes.SHA256())))

    def serving(self, name: str) -> KeyPair:
        """A server's, for loopback."""
        names = [x509.DNSName("localhost"), x509.DNSName("kubernetes.default.svc")]
        addresses = [x509.IPAddress(ip_address("127.0.0.1")), x509.IPAddress(ip_address("10.0.0.1"))]
        return self._issue(name, (), ExtendedKeyUsageOID.SERVER_AUTH, [*names, *addresses])

    def client(self, user: str, groups: Sequence[str] = ()) -> KeyPair:
        """A client's: Kubernetes takes the user from the common name and the groups from the organisations."""
        return self._issue(user, groups, ExtendedKeyUsageOID.CLIENT_AUTH, [])

    def _issue(
        self, name: str, groups: Sequence[str], usage: x509.ObjectIdentifier, alternatives: Sequence[x509.GeneralName]
    ) -> KeyPair:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(_name(name, groups), self._name, key.public_key())
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        if alternatives:
            builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        stem = name.replace(":", "-")
        pair = KeyPair(self._directory / f"{stem}.crt", self._directory / f"{stem}.key")
        pair.certificate.write_bytes(_pem(builder.sign(self._key, hashes.SHA256())))
        pair.key.write_bytes(_private_pem(key))
        return pair


def write_signing_key(path: Path) -> Path:
    """The key that ServiceAccount tokens are signed and checked with."""
    path.write_bytes(_private_pem(ec.generate_private_key(ec.SECP256R1())))
    return path


def _name(name: str, groups: Sequence[str]) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(subject_name=subject, issuer_name=issuer, public_key=key)
    builder = builder.serial_number(x509.random_serial_number())
    return builder.not_valid_before(now - timedelta(hours=1)).not_valid_after(now + timedelta(days=7))


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
