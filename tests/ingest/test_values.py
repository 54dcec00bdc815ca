"""Typed values are what a person would call a path, a port or a number."""

import pytest

from rollgraph.ingest import typed_values


def of_type(kind, text, cwd="/w"):
    return {value for found, value in typed_values(text, cwd) if found == kind}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (":8080", {"8080"}),
        ("curl localhost:8080/health", {"8080"}),
        ("http://127.0.0.1:8080/x", {"8080"}),
        ("10.0.0.1:22", {"22"}),
        ("[::]:80", {"80"}),
        ("localhost:8080: connection refused", {"8080"}),
        ("port 8080", {"8080"}),
        ("Port: 8080", {"8080"}),
        ("--port=8080 --port 8081", {"8080", "8081"}),
        ("http_port = 8080", {"8080"}),
        ('{"port": 8080}', {"8080"}),
        ("listen       80;", {"80"}),
        ("EXPOSE 8080/tcp", {"8080"}),
        ("docker run -p 8080:80", {"80"}),
        ("port 007", {"7"}),
        ("port 0", set()),
        ("port 70000", set()),
        ("report 8080", set()),
        ("at 12:30:45 or 9:05", set()),
        ('{"count":5}', set()),
        ("a[1:10]", set()),
        ("8080", set()),
        ("s/80/8080/", set()),
    ],
)
def test_ports_stand_in_port_context(text, expected):
    assert of_type("port", text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("63841", {"63841"}),
        ("total: 63841.", {"63841"}),
        ('echo "63841" > /app/answer.txt', {"63841"}),
        ("0063841", {"63841"}),
        ("123", set()),
        ("1234.5 v1.2.3456 0x12345 abc1234 1234abc", set()),
        ("2024-01-15", set()),
        ("/data/20240115/x", set()),
        ("1" * 6000, {"1" * 6000}),
    ],
)
def test_numbers_are_integers_of_four_or_more_digits(text, expected):
    assert of_type("number", text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cat /etc/nginx/nginx.conf", {"/etc/nginx/nginx.conf"}),
        ("cat src/../a/b.txt", {"/w/a/b.txt"}),
        ("/a/b:3: listen", {"/a/b"}),
        ("--file=/a/b, '/c/d'; \"/e/f\"", {"/a/b", "/c/d", "/e/f"}),
        ("cat </etc/passwd >/tmp/x", {"/etc/passwd", "/tmp/x"}),
        ("See /a/b.", {"/a/b"}),
        ("nginx.conf", set()),
        ("https://example.com/a/b", set()),
        ("<div></div><br/>", set()),
        ("$HOME/x ~/y /a/*.py {a,b}/c", set()),
        ("/ // /.", set()),
    ],
)
def test_paths_are_words_with_a_slash(text, expected):
    found = of_type("path", text)
    assert found == expected or (text.startswith("$HOME") and found <= {"/w/c"})


def test_relative_paths_with_no_known_folder_are_no_values():
    assert of_type("path", "cat a/b /c/d", cwd=None) == {"/c/d"}


@pytest.mark.parametrize("unit", ["a.", "/", "1", "<a", ":1", "a/", "port ", "a", ".", "1:", "-1"])
def test_a_long_monotonous_text_is_no_trap(unit):
    assert ("path", "/x") in typed_values(f"{unit * 400_000} /x", "/w")
