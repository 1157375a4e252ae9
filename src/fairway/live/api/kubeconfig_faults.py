"""What is wrong with the certificates and keys of a kubeconfig, by file, entry and field.

In: the cluster and the user of a context that could not be used. Out: a `BrokenKubeconfig` for the first field to
blame, or None: then it is something else. `credentials` asks when a TLS context could not be made; nothing of a key is
ever in the words.
"""

from __future__ import annotations

import re
import ssl

from fairway.live.api.certificates import as_file
from fairway.live.api.kubeconfig import PEMS, ChosenContext, KubeconfigEntry
from fairway.live.api.problems import BrokenKubeconfig

__all__ = ["find_fault"]


def find_fault(chosen: ChosenContext) -> BrokenKubeconfig | None:
    """The first field of the context's cluster and user that can not be used."""
    cluster, user = chosen.cluster, chosen.user
    return (
        _pem_fault(cluster, "certificate-authority")
        or _pem_fault(user, "client-certificate")
        or _pem_fault(user, "client-key")
        or _pair_fault(user)
    )


def _pem_fault(entry: KubeconfigEntry, field: str) -> BrokenKubeconfig | None:
    pem, content = entry.content(field), PEMS[field]
    wrong = ""
    if pem and not re.search(rf"-----BEGIN [A-Z ]*{content}-----".encode(), pem):
        wrong = f"holds no PEM {content.lower()}"
    elif pem and content == "CERTIFICATE":
        try:
            ssl.create_default_context(cadata=pem.decode("ascii"))
        except (ssl.SSLError, ValueError) as error:
            wrong = f"holds a certificate that can not be read: {error}"
    return entry.broken(entry.given(field), wrong, entry.remedy(field)) if wrong else None


def _pair_fault(user: KubeconfigEntry) -> BrokenKubeconfig | None:
    certificate, key = user.content("client-certificate"), user.content("client-key")
    if not certificate or not key:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    with as_file(certificate) as cert_file, as_file(key) as key_file:
        try:
            context.load_cert_chain(cert_file, key_file)
        except (OSError, ssl.SSLError):
            fix = "take both from the same place, or have a new certificate signed for the key"
            return user.broken("client-key", "does not belong to the client-certificate", fix)
    return None
