"""Fixtures of the tests about what makes pods."""

from tests.cli.conftest import folder

__all__ = ["folder"]
