"""What a person sees who starts `fairway run` with something wrong: the real command line, a real API server."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import pytest

from tests.kube.control_plane import ControlPlane
from tests.kube.processes import free_port

SOURCES: Final = Path(__file__).parents[2] / "src"
SECRET: Final = "this-token-has-expired"


def fairway(*flags: str, seconds: float = 60.0, environment: dict[str, str] | None = None) -> tuple[int, str]:
    """Exit code and everything written, of a scheduler that is not expected to come up."""
    done = subprocess.run(
        [sys.executable, "-m", "fairway", "run", "--leader-elect=false", "--secure-port=0", *flags],
        env={**os.environ, "PYTHONPATH": str(SOURCES), "KUBECONFIG": "", "HOME": "/nonexistent", **(environment or {})},
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def lines_for_people(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith("{"))


@pytest.mark.parametrize(
    ("flags", "environment", "words"),
    [
        ((), {}, "--kubeconfig"),
        (("--kubeconfig=/nonexistent/config",), {}, "/nonexistent/config"),
        ((), {"KUBECONFIG": "/nonexistent/other"}, "/nonexistent/other"),
    ],
    ids=["nothing", "flag", "environment"],
)
def test_no_kubeconfig(flags: tuple[str, ...], environment: dict[str, str], words: str) -> None:
    code, text = fairway(*flags, environment=environment)
    assert code == 4
    assert words in text
    assert "Traceback" not in text


def test_context_that_is_not_there(control_plane: ControlPlane) -> None:
    code, text = fairway(f"--kubeconfig={control_plane.kubeconfig()}", "--context=lab")
    assert code == 4
    assert "lab" in text
    assert "test" in text  # the one that is there
    assert "Traceback" not in text


def test_expired_token(control_plane: ControlPlane) -> None:
    code, text = fairway(f"--kubeconfig={control_plane.kubeconfig('x', token=SECRET)}")
    assert code == 4
    assert "does not accept our credentials" in text
    assert "expired" in text.replace(SECRET, "")
    assert SECRET not in text
    assert "Traceback" not in text


def test_forbidden_names_the_verb_and_the_resource(control_plane: ControlPlane) -> None:
    code, text = fairway(f"--kubeconfig={control_plane.kubeconfig('nobody')}")
    assert code == 4
    shown = lines_for_people(text)
    assert "nobody may not" in shown
    assert any(f"{verb} " in shown for verb in ("list", "watch"))
    assert "kubectl create clusterrole" in shown
    assert control_plane.token("nobody") not in text
    assert "Traceback" not in text


def test_certificate_that_is_not_trusted(control_plane: ControlPlane, tmp_path: Path) -> None:
    kubeconfig = json.loads(control_plane.kubeconfig().read_text())
    del kubeconfig["clusters"][0]["cluster"]["certificate-authority"]
    (tmp_path / "config").write_text(json.dumps(kubeconfig))
    code, text = fairway(f"--kubeconfig={tmp_path / 'config'}", seconds=30.0)  # trying again would not help
    assert code == 4
    assert "certificate" in lines_for_people(text)
    assert "Traceback" not in text


@pytest.mark.slow
def test_unreachable_server_is_tried_again_and_then_given_up() -> None:
    port = free_port()
    code, text = fairway(f"--master=http://127.0.0.1:{port}", seconds=120.0)
    assert code == 4
    tries = [json.loads(line) for line in text.splitlines() if line.startswith("{") and "trying again" in line]
    assert len(tries) > 3
    waits = [later["ts"] - earlier["ts"] for earlier, later in itertools.pairwise(tries)]
    assert waits[-1] > 4 * waits[0]  # less and less often
    assert f"http://127.0.0.1:{port} can not be reached" in lines_for_people(text)
    assert "Traceback" not in text


@pytest.fixture
def old_server() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"major": "1", "minor": "24", "gitVersion": "v1.24.3"}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_server_of_an_unsupported_version(old_server: str) -> None:
    code, text = fairway(f"--master={old_server}")
    assert code == 4
    assert "v1.24.3" in text
    assert "1.30 or newer" in text
    assert "Traceback" not in text


@pytest.mark.parametrize(
    ("flags", "exit_code", "words"),
    [
        (("--leader-elect=true", "--leader-elect-lease-duration=5s"), 2, "longer than"),
        (("--config=/nonexistent.yaml",), 1, "/nonexistent.yaml"),
        (("--extender=nowhere",), 2, "HOST:PORT"),
    ],
    ids=["periods", "no configuration", "address"],
)
def test_flags_that_can_not_work(
    control_plane: ControlPlane, flags: tuple[str, ...], exit_code: int, words: str
) -> None:
    code, text = fairway(f"--kubeconfig={control_plane.kubeconfig()}", *flags)
    assert code == exit_code
    assert words in text
    assert "Traceback" not in text
