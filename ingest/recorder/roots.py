"""The work roots: the folders whose files count, by the names that they were given by."""

import os
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Self

from ...graph.errors import RecorderError
from ..paths import PathFilter


class WorkRoots:
    """Folders that files are recorded in, whether named as given or by their real places."""

    def __init__(self, given: Iterable[str], real: Iterable[str]) -> None:
        """Take absolute names of folders, and where they really are."""
        self.given, self.real = tuple(given), tuple(real)
        self._filter = PathFilter(work_roots=tuple(dict.fromkeys([*self.given, *self.real])))
        self._links = {
            real: root for root, real in zip(self.given, self.real, strict=True) if real != root
        }

    @classmethod
    def of(cls, folders: Iterable[str | Path]) -> Self:
        """Raise RecorderError where there is none, or one is no folder."""
        given = [os.path.abspath(expect_folder(folder)) for folder in folders]
        if not given:
            raise RecorderError("work_roots: expected at least one folder, found none")
        return cls(given, map(os.path.realpath, given))

    def keeps(self, name: str) -> bool:
        """Whether a file is recorded."""
        return self._filter.keeps(name)

    def as_given(self, name: str) -> str:
        """Return a name below a work root as the root was given, whichever way it was named."""
        for real, given in self._links.items():
            if name == real or name.startswith(f"{real}/"):
                return given + name.removeprefix(real)
        return name

    @cached_property
    def prefixes(self) -> tuple[bytes, ...]:
        """What the names of folders and files below the roots begin with, a slash at their ends."""
        roots = [*self.given, *self.real]
        return tuple(os.fsencode(f"{root.rstrip('/')}/") for root in roots)

    @property
    def outermost(self) -> list[str]:
        """The real places, but for those within another."""
        unique = list(dict.fromkeys(self.real))
        return [
            root
            for root in unique
            if not any(
                PathFilter(work_roots=(other,)).keeps(root) for other in unique if other != root
            )
        ]


def expect_folder(path: str | Path) -> str | Path:
    """Return the path; raise RecorderError where it is no folder."""
    if not Path(path).is_dir():
        raise RecorderError(f"{path}: expected a folder, found none")
    return path
