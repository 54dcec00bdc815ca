"""Resources are what their normalized names say, and noise is left out."""

import pytest

from rollgraph.ingest.paths import PathFilter, normalize


@pytest.mark.parametrize(
    ("path", "cwd", "expected"),
    [
        ("/a/./b//c/", None, "/a/b/c"),
        ("/a/b/../c", None, "/a/c"),
        ("/../a", None, "/a"),
        ("//etc/passwd", None, "/etc/passwd"),
        ("b", "/a", "/a/b"),
        ("../b", "/a", "/b"),
        (".", "/a/", "/a"),
        ("b", None, None),
        ("b", "relative", None),
        ("/", None, "/"),
        ("a b\n'\"", "/x", "/x/a b\n'\""),
    ],
)
def test_paths_are_absolute_and_without_detours(path, cwd, expected):
    assert normalize(path, cwd) == expected


def test_without_work_roots_every_users_file_counts():
    keep = PathFilter()
    assert all(map(keep.keeps, ["/app/a", "/tmp/bak", "/etc/nginx/nginx.conf", "/root/.bashrc"]))


def test_outside_the_work_roots_everything_is_noise():
    keep = PathFilter(("/app", "/srv/www/"))
    assert all(map(keep.keeps, ["/app", "/app/a/b", "/srv/www/index.html"]))
    assert not any(map(keep.keeps, ["/usr/lib/x", "/application", "/srv", "/tmp/bak"]))


def test_runtime_artifacts_are_noise_everywhere():
    keep = PathFilter(("/",))
    noise = ["/proc/self/stat", "/sys/x", "/dev/null", "/a/__pycache__/b.txt", "/a/b.pyc"]
    assert not any(map(keep.keeps, noise))
    assert all(map(keep.keeps, ["/procedure", "/a/devices", "/a/pycache", "/a/b.py"]))
