from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
from aiohttp import web

from fairway.cli.main import main
from fairway.config import decode_configuration
from fairway.config.config_file import API_VERSION, KIND
from fairway.config.config_file import LeaderElection as ElectionSettings
from fairway.config.document import configuration_document
from fairway.live.api.certificates import BadCertificate, as_file, self_signed, serving_context
from fairway.live.election import LeaseCandidate
from fairway.live.metrics.scheduler_metrics import SchedulerMetrics
from fairway.live.serving.authorization import Access, DelegatedAccess, LoopbackAccess
from fairway.live.serving.health import checks_of
from fairway.live.serving.http_server import AddressInUse, HttpServer, keep_certificate_fresh
from fairway.plugins.registry import REGISTRY
from fairway.testing import pod
from tests.live.lease_server import LeaseServer
from tests.live.review_server import ReviewServer
from tests.live.virtual_clock import VirtualClock, settle

PATHS = {"/metrics", "/metrics/resources", "/configz", "/flagz", "/statusz", "/", "/fairway/v1/x"}
CHECKS = {
    f"/{name}" for name in ("healthz/leaderElection", "livez/ping", "readyz/shutdown", "readyz/sched-handler-sync")
}


@dataclass
class Served:
    """A running server and what its checks see."""

    synced: bool = True
    stopping: bool = False
    elects: bool = True
    access: Access | None = None
    clock: VirtualClock = field(default_factory=VirtualClock)
    url: str = ""
    tls: ssl.SSLContext | None = None
    client: Any = None

    async def get(self, path: str, token: str = "", **options: Any) -> tuple[int, str]:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with aiohttp.ClientSession() as session:
            trust = self.client if self.client is not None else False
            async with session.get(f"{self.url}{path}", headers=headers, ssl=trust, **options) as answer:
                return answer.status, await answer.text()


async def hello(request: web.Request) -> web.Response:
    return web.Response(text=f"hello {request.query.get('name', '')}")


@asynccontextmanager
async def serving(served: Served) -> AsyncIterator[Served]:
    election = LeaseCandidate(LeaseServer(), ElectionSettings(), served.clock) if served.elects else None
    metrics = SchedulerMetrics()
    metrics.attempt("default-scheduler", "scheduled", 0.001)
    server = HttpServer(
        checks_of(election, lambda: served.synced, lambda: served.stopping),
        metrics,
        served.access or DelegatedAccess(ReviewServer({"viewer": PATHS | CHECKS | {"/readyz/nope"}}), served.clock),
        configz=lambda: configuration_document(
            decode_configuration({"apiVersion": API_VERSION, "kind": KIND}, "test", REGISTRY)
        ),
        flags=lambda: {"secure-port": 10259},
        pods=lambda: [pod("a", cpu="1")],
        routes={("GET", "/fairway/v1/x"): hello},
    )
    port = await server.start("127.0.0.1", 0, served.tls)
    served.url = f"{'https' if served.tls else 'http'}://127.0.0.1:{port}"
    try:
        yield served
    finally:
        await server.stop()


def visit(path: str, token: str = "", served: Served | None = None) -> tuple[int, str]:
    async def story() -> tuple[int, str]:
        async with serving(served or Served()) as running:
            return await running.get(path, token)

    return asyncio.run(story())


@pytest.mark.parametrize(
    ("path", "anonymous", "authorised"),
    [
        ("/healthz", 200, 200),
        ("/livez", 200, 200),
        ("/readyz", 200, 200),
        ("/healthz/leaderElection", 403, 200),
        ("/livez/ping", 403, 200),
        ("/readyz/shutdown", 403, 200),
        ("/readyz/sched-handler-sync", 403, 200),
        ("/readyz/nope", 403, 404),
        ("/metrics", 403, 200),
        ("/metrics/resources", 403, 200),
        ("/configz", 403, 200),
        ("/flagz", 403, 200),
        ("/statusz", 403, 200),
        ("/fairway/v1/x", 403, 200),
        ("/", 403, 404),
        ("/version", 404, 404),
    ],
)
def test_who_may_see_what(path: str, anonymous: int, authorised: int) -> None:
    assert visit(path)[0] == anonymous
    assert visit(path, "viewer-token")[0] == authorised


def test_refusal_is_a_status_object() -> None:
    status, text = visit("/metrics")
    assert status == 403
    found = msgspec.json.decode(text)
    assert found["kind"] == "Status"
    assert found["reason"] == "Forbidden"
    assert found["message"] == 'forbidden: User "system:anonymous" cannot get path "/metrics"'


def test_bad_token_is_unauthorized() -> None:
    status, text = visit("/metrics", "made-up")
    assert (status, msgspec.json.decode(text)["reason"]) == (401, "Unauthorized")


def test_healthy_says_ok() -> None:
    assert visit("/healthz") == (200, "ok")


@pytest.mark.parametrize(
    ("path", "lines"),
    [
        ("/healthz?verbose", ["[+]leaderElection ok", "healthz check passed"]),
        ("/livez?verbose", ["[+]ping ok", "livez check passed"]),
        (
            "/readyz?verbose",
            ["[+]leaderElection ok", "[+]shutdown ok", "[+]sched-handler-sync ok", "readyz check passed"],
        ),
        (
            "/readyz?verbose&exclude=shutdown",
            ["[+]leaderElection ok", "[+]shutdown excluded: ok", "[+]sched-handler-sync ok", "readyz check passed"],
        ),
    ],
)
def test_verbose_lists_the_checks(path: str, lines: list[str]) -> None:
    assert visit(path) == (200, "\n".join([*lines, ""]))


def test_unready_until_synced_and_told_in_full_without_being_asked() -> None:
    assert visit("/readyz", served=Served(synced=False)) == (
        500,
        "[+]leaderElection ok\n[+]shutdown ok\n[-]sched-handler-sync failed: reason withheld\nreadyz check failed\n",
    )


def test_unready_while_shutting_down_and_still_alive() -> None:
    assert visit("/readyz", served=Served(stopping=True))[0] == 500
    assert visit("/livez", served=Served(stopping=True))[0] == 200


def test_without_election_there_is_no_such_check() -> None:
    assert visit("/healthz?verbose", served=Served(elects=False)) == (200, "[+]ping ok\nhealthz check passed\n")
    assert "leaderElection" not in visit("/readyz?verbose", served=Served(elects=False))[1]


def test_leader_that_has_long_not_renewed_is_unhealthy() -> None:
    async def story() -> tuple[int, str]:
        clock = VirtualClock()
        election = LeaseCandidate(LeaseServer(), ElectionSettings(), clock, identity="one")
        running = asyncio.ensure_future(election.run(asyncio.Event(), lambda: None))
        await settle()
        clock.jump(36.0)
        server = HttpServer(checks_of(election, lambda: True, lambda: False), SchedulerMetrics(), LoopbackAccess())
        port = await server.start("127.0.0.1", 0, None)
        found = await Served(url=f"http://127.0.0.1:{port}").get("/healthz")
        await server.stop()
        running.cancel()
        return found

    assert asyncio.run(story()) == (500, "[-]leaderElection failed: reason withheld\nhealthz check failed\n")


def test_metrics_are_prometheus_text() -> None:
    text = visit("/metrics", "viewer-token")[1]
    assert 'scheduler_schedule_attempts_total{profile="default-scheduler",result="scheduled"} 1.0' in text
    assert "kube_pod_resource_request" in visit("/metrics/resources", "viewer-token")[1]


def test_configz_shows_the_configuration_in_force() -> None:
    found = msgspec.json.decode(visit("/configz", "viewer-token")[1])["componentconfig"]
    assert found["kind"] == "KubeSchedulerConfiguration"
    assert found["leaderElection"]["leaseDuration"] == "15s"
    assert found["profiles"][0]["schedulerName"] == "default-scheduler"
    scores = found["profiles"][0]["plugins"]["score"]["enabled"]
    assert {"name": "TaintToleration", "weight": 3} in scores


def test_own_routes_get_their_query() -> None:
    assert visit("/fairway/v1/x?name=me", "viewer-token") == (200, "hello me")


@pytest.mark.parametrize("path", ["/healthz", "/metrics"])
def test_other_methods_are_not_supported(path: str) -> None:
    async def story() -> int:
        async with (
            serving(Served(access=LoopbackAccess())) as running,
            aiohttp.ClientSession() as session,
            session.post(running.url + path) as answer,
        ):
            return answer.status

    assert asyncio.run(story()) == 405


def test_path_with_dots_does_not_get_around_the_rules() -> None:
    async def story() -> int:
        async with serving(Served()) as running:
            reader, writer = await asyncio.open_connection("127.0.0.1", int(running.url.rpartition(":")[2]))
            writer.write(b"GET /healthz/../metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            line = await reader.readline()
            writer.close()
            return int(line.split()[1])

    assert asyncio.run(story()) == 403


def test_loopback_serves_without_tokens() -> None:
    assert visit("/metrics", served=Served(access=LoopbackAccess()))[0] == 200


def test_taken_port_is_a_clear_error() -> None:
    async def story() -> str:
        async with serving(Served()) as running:
            port = int(running.url.rpartition(":")[2])
            other = HttpServer({}, SchedulerMetrics(), LoopbackAccess())
            with pytest.raises(AddressInUse) as caught:
                await other.start("127.0.0.1", port, None)
            return str(caught.value)

    assert "in use" in asyncio.run(story())


# -- certificates ------------------------------------------------------------------------------------------------------


def trusting(certificate: bytes) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=certificate.decode())


def test_self_signed_certificate_is_good_for_this_machine() -> None:
    certificate, key = self_signed(("fairway.kube-system.svc",))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with as_file(certificate) as cert_file, as_file(key) as key_file:
        context.load_cert_chain(cert_file, key_file)
    assert visit("/healthz", served=Served(tls=context, client=trusting(certificate))) == (200, "ok")


def test_certificate_is_made_when_none_is_given() -> None:
    assert visit("/healthz", served=Served(tls=serving_context())) == (200, "ok")


def test_given_certificate_is_used_and_read_again_when_it_changes(tmp_path: Path) -> None:
    cert_file, key_file = tmp_path / "tls.crt", tmp_path / "tls.key"

    def write(pair: tuple[bytes, bytes]) -> bytes:
        cert_file.write_bytes(pair[0])
        key_file.write_bytes(pair[1])
        return pair[0]

    async def story(accepts: Callable[[Served, bytes], Any]) -> list[bool]:
        first = write(self_signed())
        served = Served(tls=serving_context(str(cert_file), str(key_file)))
        assert served.tls is not None
        seen = []
        async with serving(served):
            fresh = keep_certificate_fresh(served.tls, str(cert_file), str(key_file), served.clock)
            task = asyncio.ensure_future(fresh)
            await settle()
            seen.append(await accepts(served, first))
            second = write(self_signed())
            cert_file.touch()
            await served.clock.advance(61.0)
            seen.append(await accepts(served, second))
            seen.append(await accepts(served, first))
            task.cancel()
        return seen

    async def accepts(served: Served, certificate: bytes) -> bool:
        served.client = trusting(certificate)
        try:
            return (await served.get("/healthz"))[0] == 200
        except aiohttp.ClientConnectorCertificateError:
            return False

    assert asyncio.run(story(accepts)) == [True, True, False]


def test_bad_certificate_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "tls.crt").write_text("nothing")
    with pytest.raises(BadCertificate, match=r"tls\.crt"):
        serving_context(str(tmp_path / "tls.crt"), str(tmp_path / "absent.key"))


@pytest.fixture
def usual_logs() -> Iterator[None]:
    """`fairway run` logs to standard error, which is a test's own for as long as that runs."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.mark.parametrize(
    ("files", "code"),
    [
        pytest.param(("tls.crt", "absent.key"), 1, id="no certificate, no key"),
        pytest.param(("absent.crt", "absent.key"), 1, id="not there"),
        pytest.param(("tls.crt", ""), 2, id="one flag without the other"),
        pytest.param(("", "tls.key"), 2, id="or the other way round"),
    ],
)
def test_the_exit_code_is_that_of_a_wrong_file_or_of_flags(
    tmp_path: Path, files: tuple[str, str], code: int, capsys: pytest.CaptureFixture[str], usual_logs: None
) -> None:
    (tmp_path / "tls.crt").write_text("nothing")
    paths = [str(tmp_path / name) if name else "" for name in files]
    flags = ["--tls-cert-file", paths[0], "--tls-private-key-file", paths[1]]
    assert main(["run", "--master", "http://127.0.0.1:1", "--leader-elect=false", "--secure-port", "1", *flags]) == code
    told = capsys.readouterr().err
    assert "error: the certificate" in told
    assert "Traceback" not in told


def test_metrics_are_compressed_for_those_who_take_it() -> None:
    async def story() -> None:
        async with serving(Served(access=LoopbackAccess())) as served, aiohttp.ClientSession() as session:
            async with session.get(f"{served.url}/metrics", headers={"Accept-Encoding": "identity"}) as answer:
                plain = await answer.read()
                assert "Content-Encoding" not in answer.headers
                assert answer.headers["Vary"] == "Accept-Encoding"
            async with session.get(f"{served.url}/metrics", headers={"Accept-Encoding": "gzip"}) as answer:
                assert answer.headers["Content-Encoding"] == "gzip"
                assert int(answer.headers["Content-Length"]) < len(plain) / 3
                assert b"scheduler_schedule_attempts_total" in await answer.read()

    asyncio.run(story())


NO_HTTP = {
    "no method": b"BLAH / HTTP/1.1\r\nHost: x\r\n\r\n",
    "two lengths": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a size with a sign": b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n+5\r\nabcde\r\n0\r\n\r\n",
    "a length with a sign": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +5\r\n\r\nabcde",
    "a token that is no text": b"GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \xff\xfe\r\n\r\n",
    "a path that is no text": b"GET /%ff%fe HTTP/1.1\r\nHost: x\r\n\r\n",
}


@pytest.mark.parametrize("data", NO_HTTP.values(), ids=NO_HTTP)
def test_whoever_reaches_the_port_can_not_fill_the_log(data: bytes, caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> bytes:
        async with serving(Served()) as running:
            reader, writer = await asyncio.open_connection("127.0.0.1", int(running.url.rsplit(":", 1)[1]))
            writer.write(data)
            answer = await reader.readline()
            writer.close()
            return answer

    assert asyncio.run(story()).split()[1] in (b"400", b"401", b"403")
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
