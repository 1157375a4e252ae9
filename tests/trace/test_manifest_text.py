"""Cutting manifests into pieces."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_a_banner_of_hashes_takes_no_time(tmp_path: Path) -> None:
    """In a process of its own: a pattern with many readings would take for ever, and nothing could stop it."""
    banner = "#" * 80 + "\n" + "# # " * 40 + "\n"
    file = tmp_path / "pod.yaml"
    file.write_text(f"{banner}---\n{banner}apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\n---\n{banner}")
    program = (
        "from fairway.trace.manifest_text import cut_yaml\n"
        f"print([piece.line for piece in cut_yaml(open({str(file)!r}, 'rb').read(), 'f')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[4]\n"
