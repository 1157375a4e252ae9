"""Fixtures of the tests of rehearsals."""

from tests.cli.conftest import folder

__all__ = ["folder"]
