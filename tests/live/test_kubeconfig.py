"""Kubeconfigs, read as kubectl reads them: several files, relative paths, and whatever else people write."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from fairway.live.api.clock import SystemClock
from fairway.live.api.connection import Connection
from fairway.live.api.credentials import Credentials
from fairway.live.api.kubeconfig import read_context
from fairway.live.api.problems import BrokenKubeconfig
from tests.kube.certificates import Authority
from tests.live.fake_api_server import FakeApiServer
from tests.live.identities import data, server_context, write_config


def write_tree(path: Path, **tree: Any) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", **tree}))
    return path


def test_several_files_are_one_and_paths_are_relative_to_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cluster is in one file, its user in another, each beside its certificates; a third is not there."""
    authority = Authority(tmp_path)
    pair = authority.client("somebody")

    async def story() -> None:
        api = FakeApiServer()
        await api.start(tls=server_context(authority, wants_client=True))
        clusters = [{"name": "c", "cluster": {"server": api.url, "certificate-authority": "pki/ca.crt"}}]
        users = [{"name": "u", "user": {"client-certificate": "me.crt", "client-key": "me.key"}}]
        contexts = [{"name": "lab", "context": {"cluster": "c", "user": "u"}}]
        first = write_tree(tmp_path / "one" / "config", clusters=clusters, **{"current-context": "lab"})
        second = write_tree(tmp_path / "two" / "config", users=users, contexts=contexts)
        (tmp_path / "one" / "pki").mkdir()
        (tmp_path / "one" / "pki" / "ca.crt").write_bytes(authority.file.read_bytes())
        (tmp_path / "two" / "me.crt").write_bytes(pair.certificate.read_bytes())
        (tmp_path / "two" / "me.key").write_bytes(pair.key.read_bytes())
        monkeypatch.setenv("KUBECONFIG", os.pathsep.join([str(first), str(tmp_path / "absent"), "", str(second)]))
        connection = await Connection.open()
        assert await connection.check() == (1, 36)
        await connection.close()
        await api.stop()

    asyncio.run(story())


def test_of_several_files_the_first_to_say_something_is_right(tmp_path: Path) -> None:
    def write(name: str, current: str) -> str:
        clusters = [{"name": "c", "cluster": {"server": f"https://{name}"}}]
        contexts = [{"name": one, "context": {"cluster": "c", "user": "nobody"}} for one in ("a", "b")]
        tree = {"clusters": clusters, "contexts": contexts, "current-context": current}
        return str(write_tree(tmp_path / name, **tree))

    paths = [write("first", ""), write("second", "a"), write("third", "b")]
    chosen = read_context(os.pathsep.join(paths), None)
    assert chosen.cluster.text("server") == "https://first"
    assert (chosen.user.name, chosen.user.fields) == ("nobody", {})


def test_a_context_says_where_things_are_that_are_named_without_a_namespace(tmp_path: Path) -> None:
    def namespace(**more: str) -> str:
        contexts = [{"name": "c", "context": {"cluster": "c", **more}}]
        clusters = [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}]
        tree = {"clusters": clusters, "contexts": contexts, "current-context": "c"}
        path = str(write_tree(tmp_path / "config", **tree))
        return asyncio.run(Credentials.load(path, None, None, SystemClock())).namespace

    assert namespace() == "default"
    assert namespace(namespace="ml") == "ml"


def header(tmp_path: Path, **user: object) -> str:
    path = write_config(tmp_path / "config", "https://127.0.0.1:1", {}, dict(user))
    return asyncio.run(Credentials.load(path, None, None, SystemClock()))._header  # noqa: SLF001 - what is sent


def test_who_we_are(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from-file\n")
    assert header(tmp_path) == ""
    assert header(tmp_path, token="t") == "Bearer t"
    assert header(tmp_path, tokenFile="token") == "Bearer from-file"
    assert header(tmp_path, token="t", tokenFile="token") == "Bearer t"
    assert header(tmp_path, username="me", password="pass") == f"Basic {data(b'me:pass')}"


HOSTILE = {
    "a bomb": ("a: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\n"
               "d: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e]\n",
               "alias"),
    "nested": ("[" * 200_000, "deep|nested"),
    "an object of Python": ("a: !!python/object/apply:os.system [id]", "tag"),
    "not text": (b"\xff\xfe\x00", "decode"),
    "a list": ("[]\n", "no object of kind Config"),
    "no context": ("kind: Config\n", "no current-context"),
    "large": (b"#" * ((16 << 20) + 1), "more than 16777216 bytes"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "words"), HOSTILE.values(), ids=list(HOSTILE))
def test_what_is_no_kubeconfig_is_refused(tmp_path: Path, content: str | bytes, words: str) -> None:
    path = tmp_path / "config"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(BrokenKubeconfig, match=words):
        read_context(str(path), None)


@pytest.mark.parametrize(
    ("cluster", "user", "words"),
    [
        ({"server": 5}, {}, 'clusters "c": server is not a text'),
        ({"server": ""}, {}, 'clusters "c": server is not an address'),
        ({"server": "ftp://x"}, {}, 'clusters "c": server is not an address'),
        ({"certificate-authority-data": ["x"]}, {}, "certificate-authority-data is not a text"),
        ({}, {"token": {"a": 1}}, 'users "u": token is not a text'),
        ({}, {"tokenFile": "absent"}, "absent can not be read: No such file"),
        ({}, {"auth-provider": {"name": "gcp"}}, "gcp is not supported"),
    ],
)
def test_a_field_of_another_kind_is_named(
    tmp_path: Path, cluster: dict[str, Any], user: dict[str, Any], words: str
) -> None:
    path = write_config(tmp_path / "config", "https://127.0.0.1:1", cluster, user)
    with pytest.raises(BrokenKubeconfig, match=words):
        asyncio.run(Connection.open(path))
