"""The `rollgraph` command: it composes the rooms' verbs, and adds only their printing."""

from .command_line import app, main

__all__ = ["app", "main"]
