"""A real kube-apiserver and etcd on loopback, for as long as a test needs them.

In: a directory for their files. Out: a `ControlPlane`: where the server is, kubeconfigs and tokens for any identity,
and ways to stop, kill and restart each part; besides, kube-scheduler itself and a kubelet's stand-in (KWOK). There is
no controller-manager: the admission that counts on what it would do (taints of fresh nodes, ServiceAccounts of pods,
finalizers of volumes) is switched off. Used through the fixtures in `conftest`, and by `benchmarks/live.py`.
"""

from __future__ import annotations

import json
import secrets
import ssl
import sys
import urllib.request
from collections.abc import Mapping, Sequence
from http.client import HTTPException
from pathlib import Path
from typing import Any, ClassVar, Final
from urllib.error import HTTPError, URLError

import yaml

from tests.kube.api import Api, ApiError, Json
from tests.kube.build import program
from tests.kube.certificates import Authority, write_signing_key
from tests.kube.processes import Program, free_port, wait_until

__all__ = ["CLUSTER_KINDS", "ControlPlane"]

IDENTITIES: Final[dict[str, tuple[str, ...]]] = {
    "admin": ("system:masters",),
    "system:kube-scheduler": (),
    "nobody": (),
}
"""Users with a token of their own, and their groups. Any other user gets a client certificate."""

CLUSTER_KINDS: Final = (
    "Job",
    "Pod",
    "Node",
    "Service",
    "ReplicationController",
    "ReplicaSet",
    "StatefulSet",
    "PersistentVolumeClaim",
    "PersistentVolume",
    "StorageClass",
    "CSINode",
    "CSIDriver",
    "CSIStorageCapacity",
    "VolumeAttachment",
    "PodDisruptionBudget",
    "ResourceClaim",
    "ResourceSlice",
    "DeviceClass",
    "Lease",
    "Event",
)
"""What `ControlPlane.clear` removes: everything that a test of scheduling makes."""


class ControlPlane:
    """An API server with its store."""

    no_admission: ClassVar[Sequence[str]] = ("TaintNodesByCondition", "ServiceAccount", "StorageObjectInUseProtection")

    def __init__(self, directory: Path, *, audit: bool = False, api_server_flags: Sequence[str] = ()) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self._authority = Authority(directory)
        self.ca_file = self._authority.file
        self._serving = self._authority.serving("kube-apiserver")
        self._signing_key = write_signing_key(directory / "service-accounts.key")
        self._tokens = {identity: secrets.token_hex(16) for identity in IDENTITIES}
        self._write_tokens()
        self._etcd_port, self._peer_port, self.port = free_port(), free_port(), free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        self.etcd_url = f"http://127.0.0.1:{self._etcd_port}"
        self.audit_file = directory / "audit.jsonl" if audit else None
        self._flags = tuple(api_server_flags)
        self.etcd: Program | None = None
        self.api_server: Program | None = None
        self._others: list[Program] = []
        self._apis: dict[str, Api] = {}

    def start(self) -> None:
        """Start both, and wait until the server is ready."""
        self.start_etcd()
        self.start_api_server()

    def stop(self) -> None:
        """Stop everything that was started here."""
        self.stop_others()
        for api in self._apis.values():
            api.close()
        for each in (self.api_server, self.etcd):
            if each:
                each.kill()  # nothing is kept, so nobody needs to say goodbye

    def stop_others(self) -> None:
        """Stop the schedulers and kubelets."""
        while self._others:
            self._others.pop().kill()

    def start_etcd(self) -> None:
        """Start the store; what it held before is still there."""
        client, peer = self.etcd_url, f"http://127.0.0.1:{self._peer_port}"
        self.etcd = Program(
            [
                program("etcd"),
                f"--data-dir={self.directory / 'etcd'}",
                f"--listen-client-urls={client}",
                f"--advertise-client-urls={client}",
                f"--listen-peer-urls={peer}",
                f"--initial-advertise-peer-urls={peer}",
                f"--initial-cluster=default={peer}",
                "--unsafe-no-fsync",
                "--log-level=warn",
            ],
            self.directory / "etcd.log",
        )
        self.etcd.wait_until(lambda: _is_healthy(f"{client}/health"), "etcd is healthy")

    def start_api_server(self) -> None:
        """Start the server, on the same port each time, and wait until it is ready."""
        self.api_server = Program([program("kube-apiserver"), *self._api_server_flags()], self.directory / "api.log")
        self.api_server.wait_until(self.is_ready, "the API server is ready")

    def restart_etcd(self) -> None:
        """Kill the store, start it again, and wait until the server has found it."""
        if self.etcd:
            self.etcd.kill()
        self.start_etcd()
        wait_until(self.is_ready, "the API server is ready again")

    def restart_api_server(self) -> None:
        """Kill the server and start it again."""
        if self.api_server:
            self.api_server.kill()
        self.start_api_server()

    def is_ready(self) -> bool:
        """The server says that it is."""
        try:
            return self.api().request("GET", "/readyz").get("text") == "ok"
        except (ApiError, HTTPException, OSError):
            return False

    def api(self, identity: str = "admin") -> Api:
        """A client for the test's own use."""
        if identity not in self._apis:
            if identity in self._tokens:
                self._apis[identity] = Api(self.url, self.ca_file, token=self._tokens[identity])
            else:
                self._apis[identity] = Api(self.url, self.ca_file, client=self._authority.client(identity))
        return self._apis[identity]

    def token(self, identity: str = "admin") -> str:
        """The token of one of `IDENTITIES`."""
        return self._tokens[identity]

    def service_account_token(self, namespace: str, name: str, seconds: int = 3600) -> str:
        """A token for a ServiceAccount, which is made if need be, signed by the server as a pod would get it."""
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}}
        self.api().apply(account)
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": seconds},
        }
        return str(self.api().request("POST", path, request)["status"]["token"])

    def kubeconfig(self, identity: str = "admin", *, url: str | None = None, token: str | None = None) -> Path:
        """A kubeconfig for a user (or for whoever a token belongs to); `url`: through a proxy instead of directly."""
        user: Json
        if token or identity in self._tokens:
            user = {"token": token or self._tokens[identity]}
        else:
            pair = self._authority.client(identity)
            user = {"client-certificate": str(pair.certificate), "client-key": str(pair.key)}
        cluster = {"server": url or self.url, "certificate-authority": str(self.ca_file)}
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": "test", "user": user}],
        }
        path = self.directory / f"{identity.replace(':', '-')}-{secrets.token_hex(4)}.kubeconfig"
        path.write_text(json.dumps(content))
        return path

    def serving_files(self, name: str) -> tuple[Path, Path]:
        """A certificate for a server on loopback that the kubeconfigs trust, and its key: for a proxy."""
        return self._authority.serving(name)

    def start_kube_scheduler(
        self,
        configuration: Mapping[str, Any] | None = None,
        *,
        kubeconfig: Path | None = None,
        flags: Sequence[str] = (),
    ) -> Program:
        """The real kube-scheduler, at work; with a configuration of one's own, to which the connection is added.

        No leader election unless the configuration asks for it. Rates are as high as in the benchmark (5,000).
        """
        kubeconfig = kubeconfig or self.kubeconfig("system:kube-scheduler")
        delegated = [f"--{verb}-kubeconfig={kubeconfig}" for verb in ("authentication", "authorization")]
        return self._start_scheduler([program("kube-scheduler")], configuration, kubeconfig, [*delegated, *flags])

    def start_fairway(
        self,
        configuration: Mapping[str, Any] | None = None,
        *,
        kubeconfig: Path | None = None,
        flags: Sequence[str] = (),
        module: Sequence[str] = ("fairway", "run"),
    ) -> Program:
        """`fairway run` of this checkout, in the same way and as the same user; or a module that takes its flags."""
        return self._start_scheduler([sys.executable, "-m", *module], configuration, kubeconfig, flags)

    def metrics(self, scheduler: Program) -> dict[str, float]:
        """What a scheduler says of itself: values by name and labels, as they are written."""
        request = urllib.request.Request(f"{scheduler.url}/metrics")
        request.add_header("Authorization", f"Bearer {self.token()}")
        with urllib.request.urlopen(request, timeout=30, context=_unverified()) as response:
            lines = response.read().decode().splitlines()
        pairs = (line.rsplit(" ", 1) for line in lines if line and not line.startswith("#"))
        return {name: float(value) for name, value in pairs}

    def start_kubelet(self) -> Program:
        """KWOK in place of every node's kubelet: bound pods run, and succeed if annotated so (`kubelet.yaml`)."""
        kubelet = Program(
            [
                program("kwok"),
                f"--kubeconfig={self.kubeconfig()}",
                f"--config={Path(__file__).with_name('kubelet.yaml')}",
                "--manage-all-nodes=true",
                "--node-lease-duration-seconds=0",
                "--cidr=10.1.0.0/16",
            ],
            self.directory / f"kubelet-{secrets.token_hex(4)}.log",
        )
        self._others.append(kubelet)
        return kubelet

    def audit_records(self) -> list[Json]:
        """Every request that the server has answered, with the bodies of writes; only with `audit`."""
        if self.audit_file is None:
            raise ValueError("this control plane keeps no audit log")
        records = map(json.loads, self.audit_file.read_text().splitlines())
        return [record for record in records if record["stage"] == "ResponseComplete"]

    def clear(self) -> None:
        """Remove what tests have made (`CLUSTER_KINDS`), in every namespace."""
        for kind in CLUSTER_KINDS:
            self.api().delete_all(kind)

    def _start_scheduler(
        self,
        command: Sequence[str | Path],
        configuration: Mapping[str, Any] | None,
        kubeconfig: Path | None,
        flags: Sequence[str],
    ) -> Program:
        kubeconfig = kubeconfig or self.kubeconfig("system:kube-scheduler")
        full: Json = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "leaderElection": {"leaderElect": False},
            **(configuration or {}),
        }
        full["clientConnection"] = {"qps": 5000, "burst": 5000, **full.get("clientConnection", {})}
        full["clientConnection"]["kubeconfig"] = str(kubeconfig)
        stem, port = f"scheduler-{secrets.token_hex(4)}", free_port()
        file = self.directory / f"{stem}.yaml"
        file.write_text(yaml.safe_dump(full))
        where = [f"--config={file}", "--bind-address=127.0.0.1", f"--secure-port={port}"]
        url = f"https://127.0.0.1:{port}"
        scheduler = Program([*command, *where, *flags], self.directory / f"{stem}.log", url=url)
        self._others.append(scheduler)
        scheduler.wait_until(lambda: _is_healthy(f"{url}/readyz"), f"{command[-1]} has filled its caches")
        return scheduler

    def _api_server_flags(self) -> list[str]:
        flags = [
            f"--etcd-servers={self.etcd_url}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            f"--secure-port={self.port}",
            f"--tls-cert-file={self._serving.certificate}",
            f"--tls-private-key-file={self._serving.key}",
            f"--client-ca-file={self.ca_file}",
            f"--requestheader-client-ca-file={self.ca_file}",
            "--requestheader-allowed-names=front-proxy",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            f"--token-auth-file={self.directory / 'tokens.csv'}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self._signing_key}",
            f"--service-account-signing-key-file={self._signing_key}",
            "--service-cluster-ip-range=10.0.0.0/16",
            "--authorization-mode=RBAC",
            f"--disable-admission-plugins={','.join(self.no_admission)}",
            "--endpoint-reconciler-type=none",
            "--allow-privileged=true",
            "--delete-collection-workers=8",
            "--profiling=false",
        ]
        if self.audit_file:
            policy = self.directory / "audit-policy.yaml"
            rules = [
                {"level": "Metadata", "verbs": ["get", "list", "watch"], "omitStages": ["RequestReceived"]},
                {"level": "RequestResponse", "omitStages": ["RequestReceived"]},
            ]
            content = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": rules}
            policy.write_text(yaml.safe_dump(content))
            flags += [
                f"--audit-policy-file={policy}",
                f"--audit-log-path={self.audit_file}",
                "--audit-log-mode=blocking",
            ]
        return [*flags, *self._flags]

    def _write_tokens(self) -> None:
        lines = [
            f'{self._tokens[identity]},{identity},{identity},"{",".join(groups)}"\n'
            for identity, groups in IDENTITIES.items()
        ]
        (self.directory / "tokens.csv").write_text("".join(lines))


def _is_healthy(url: str) -> bool:
    """A health check answers with 200."""
    try:
        with urllib.request.urlopen(url, timeout=5, context=_unverified()) as response:
            return bool(response.status == 200)
    except (HTTPError, URLError, OSError):
        return False


def _unverified() -> ssl.SSLContext:
    """Schedulers sign their certificates themselves."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts nobody: to read whom the machine trusts takes long
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
