"""Composition through the real command line, as the tests of the configuration have it."""

from __future__ import annotations

from tests.config.conftest import compose

__all__ = ["compose"]
