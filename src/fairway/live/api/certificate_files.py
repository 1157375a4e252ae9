"""A serving certificate that may be replaced while we serve: read again when its files have changed.

In: two files, or none, for a certificate of our own. Out: the certificate and its key, PEM, as they are now; asked for
with every new connection. Files that can not be used, or that are being written, leave the one before in force.
Called by `followers`; what asyncio serves has a context that is loaded anew instead (`serving.http_server`).
"""

from __future__ import annotations

import logging
from pathlib import Path

from fairway.live.api.certificates import BadCertificate, fingerprint, own_certificate, serving_context

__all__ = ["CertificateFiles"]

logger = logging.getLogger(__name__)

Times = tuple[int, int]


class CertificateFiles:
    """The certificate in force, and its key."""

    def __init__(self, cert_file: str, key_file: str, doing: str = "streaming") -> None:
        """`doing`: what with it, for the log. Raises `BadCertificate`."""
        self._files, self._doing = (cert_file, key_file), doing
        self._times: Times = (0, 0)
        if cert_file or key_file:
            try:
                self._pair = self._read(self._times_now())
            except OSError as error:
                raise BadCertificate(cert_file, key_file, str(error)) from None
        else:
            self._pair = own_certificate()
            logger.info("%s with a self-signed certificate", doing, extra={"sha256": fingerprint(self._pair[0])})

    def __call__(self) -> tuple[bytes, bytes]:
        """As it is now."""
        if not self._files[0]:
            return self._pair
        try:
            times = self._times_now()
            if times != self._times:
                self._pair = self._read(times)
                logger.info("read the certificate for %s again", self._doing, extra={"file": self._files[0]})
        except OSError as error:
            logger.error("the certificate for %s is kept: %s", self._doing, error)
        except BadCertificate as error:
            logger.error("the certificate for %s is kept: %s", self._doing, error.why)
        return self._pair

    def _times_now(self) -> Times:
        cert_file, key_file = self._files
        return Path(cert_file).stat().st_mtime_ns, Path(key_file).stat().st_mtime_ns

    def _read(self, times: Times) -> tuple[bytes, bytes]:
        cert_file, key_file = self._files
        serving_context(cert_file, key_file)  # do they belong together?
        pair = Path(cert_file).read_bytes(), Path(key_file).read_bytes()
        self._times = times
        return pair
