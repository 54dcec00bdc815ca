"""Names of resources: normalized paths, and which of them count.

DepGPO, A.1: relative paths are resolved against the tracked working directory and dropped where
there is none; symbolic links are not resolved; what lies outside the work roots, and known runtime
artifacts, are noise. There is no default work root, since none would keep every user's files.

>>> normalize("../nginx//nginx.conf", "/etc/apache2")
'/etc/nginx/nginx.conf'
>>> PathFilter(work_roots=("/app",)).keeps("/app/src/main.py")
True
>>> PathFilter(work_roots=("/app",)).keeps("/application")
False
"""

import posixpath
from dataclasses import dataclass
from functools import lru_cache

KERNEL_FOLDERS = ("/proc/", "/sys/", "/dev/")


@lru_cache(maxsize=1 << 16)
def normalize(path: str, cwd: str | None) -> str | None:
    """Make a path absolute, without `.`, `..` or `//`; None: relative to no known cwd."""
    if not path.startswith("/"):
        if cwd is None or not cwd.startswith("/"):
            return None
        path = f"{cwd}/{path}"
    return "/" + posixpath.normpath(path).lstrip("/")


@dataclass(frozen=True)
class PathFilter:
    """Which normalized paths are an agent's or a verifier's business."""

    work_roots: tuple[str, ...] = ()
    """Folders outside which everything is noise; empty: everywhere counts."""

    def keeps(self, path: str) -> bool:
        """Whether the path counts."""
        return _keeps(self.work_roots, path)


@lru_cache(maxsize=1 << 16)
def _keeps(work_roots: tuple[str, ...], path: str) -> bool:
    folder = f"{path}/"
    if folder.startswith(KERNEL_FOLDERS) or path.endswith(".pyc") or "/__pycache__/" in folder:
        return False
    return not work_roots or any(folder.startswith(f"{root.rstrip('/')}/") for root in work_roots)
