"""Ports in calls: those that a process listens on, and local ones that it connects to."""

import ipaddress
import re
import socket
from functools import lru_cache

from .strace_lines import Call, annotated

DNS = 53

_PORT = re.compile(rb"sin6?_port=htons\((\d{1,5})\)")
_ADDRESS = re.compile(rb"(?:inet_addr\(|inet_pton\(AF_INET6, )\"([^\"]+)\"")
_LISTENING = re.compile(rb"TCP(?:v6)?:\[.*:(\d{1,5})\]$", re.DOTALL)


def bound(call: Call) -> int:
    """Return the port of a `bind`; 0: none, or one that the kernel is to choose."""
    found = _PORT.search(call.arguments[1]) if len(call.arguments) > 1 else None
    return int(found[1]) if found and call.succeeded else 0


def listening(call: Call) -> int:
    """Return the port of a `listen` as the kernel names it; 0: it does not."""
    socket_name = annotated(call.arguments[0]) if call.arguments else None
    found = _LISTENING.match(socket_name or b"")
    return int(found[1]) if found else 0


def connected(call: Call) -> int:
    """Return the port of this machine that a `connect` tried; 0: none, or a name server's.

    Datagram sockets do not count: looking up a name connects one to the port asked for.
    """
    if len(call.arguments) < 2 or b"<UDP" in call.arguments[0]:
        return 0
    port, address = _PORT.search(call.arguments[1]), _ADDRESS.search(call.arguments[1])
    if not port or not address or int(port[1]) == DNS:
        return 0
    return int(port[1]) if _is_local(address[1].decode("latin-1")) else 0


@lru_cache(maxsize=1 << 12)
def _is_local(address: str) -> bool:
    """Whether the machine itself has the address: only such a one can be bound."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    if parsed.is_loopback or parsed.is_unspecified:
        return True
    family = socket.AF_INET6 if parsed.version == 6 else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((address, 0))
    except OSError:
        return False
    return True
