"""Fixtures of the command line's tests."""

from pathlib import Path

import pytest

from tests.cli.trial_files import Folder


@pytest.fixture
def folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Folder:
    return Folder(tmp_path, capsys)
