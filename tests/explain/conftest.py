"""Fixtures of the tests of explanations."""

from pathlib import Path

import pytest

from tests.cli.trial_files import Folder


@pytest.fixture
def folder(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Folder:
    monkeypatch.chdir(tmp_path)  # where a user's own plugins lie
    return Folder(tmp_path, capsys)
