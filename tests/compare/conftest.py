"""Fixtures: a folder in which commands are run, as in the tests of the command line."""

from tests.cli.conftest import folder

__all__ = ["folder"]
