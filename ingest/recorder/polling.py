"""What /proc tells where nothing is traced: ports that are listened on, processes and names."""

from pathlib import Path

LISTEN = "0A"


def listening_ports() -> set[int]:
    """Return the TCP ports that are listened on in this network namespace."""
    ports: set[int] = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if fields[3] == LISTEN:
                ports.add(int(fields[1].rpartition(":")[2], 16))
    return ports


def descendants(pid: int, token: str) -> dict[int, str]:
    """Return the living processes below one, or with a token in their environment, with names.

    The token finds those whose parents have ended; the process itself is not among them.
    """
    children: dict[int, list[int]] = {}
    names: dict[int, str] = {}
    waiting = [pid]
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            name, _, rest = (entry / "stat").read_text(errors="replace").rpartition(")")
            has_token = token.encode() in (entry / "environ").read_bytes()
        except OSError:
            continue
        state, parent = rest.split()[:2]
        if state != "Z":
            names[int(entry.name)] = name.partition("(")[2]
            children.setdefault(int(parent), []).append(int(entry.name))
            waiting += [int(entry.name)] if has_token else []
    found: dict[int, str] = {}
    while waiting:
        at = waiting.pop()
        found[at] = names.get(at, "")
        waiting += [child for child in children.get(at, []) if child not in found]
    found.pop(pid, None)
    return found
