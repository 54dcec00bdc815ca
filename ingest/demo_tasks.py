"""The demo's tasks: three small ones, with four scripted attempts each, good and bad."""

from dataclasses import dataclass


@dataclass(frozen=True)
class DemoTask:
    """A task with its files, its attempts (a list of shell commands each) and its verifier."""

    name: str
    description: str
    files: dict[str, str]
    attempts: dict[str, list[str]]
    verifier: str


FIX_CONFIG = DemoTask(
    "fix-config",
    "The gateway does not answer where it should. Make gateway.conf listen on the port that the "
    "operators agreed on, and change nothing else.",
    {
        "gateway.conf": (
            "# gateway\nuser www\nworkers 4\nlisten 80\nroot /srv/www\ntimeout 30\nlog access.log\n"
        ),
        "gateway.conf.sample": "# a sample\nuser nobody\nworkers 1\nlisten 80\n",
        "ports.txt": "agreed on Monday:\ngateway port 8443\nmetrics port 9100\n",
    },
    {
        "reads-then-edits": [
            "ls",
            "cat ports.txt",
            "cat gateway.conf",
            "sed -i 's/^listen 80$/listen 8443/' gateway.conf",
            "cat gateway.conf",
        ],
        "keeps-notes": [
            "cp gateway.conf gateway.conf.bak",
            "cat ports.txt",
            "echo 'todo: gateway goes to port 8443' > notes.txt",
            "sed -i 's/^listen 80$/listen 8443/' gateway.conf",
            "rm notes.txt",
        ],
        "edits-the-sample": [
            "cat ports.txt",
            "sed -i 's/^listen 80$/listen 8443/' gateway.conf.sample",
            "cat gateway.conf.sample",
        ],
        "loses-the-rest": [
            "cat ports.txt",
            "cat gateway.conf",
            "printf '# gateway\\nlisten 8443\\n' > gateway.conf",
        ],
    },
    "grep -qx 'listen 8443' gateway.conf && grep -qx 'workers 4' gateway.conf",
)

SUMMARISE = """cat > summarise.py <<'EOF'
import csv
total = 0
for name in {names}:
    with open(name) as file:
        total += sum(int(row["{column}"]) for row in csv.DictReader(file))
with open("report.txt", "w") as report:
    report.write(f"total: {{total}}\\n")
EOF"""

BUILD_REPORT = DemoTask(
    "build-report",
    "Add up the units of both months and write the line 'total: N' to report.txt.",
    {
        "january.csv": "region,units,price\nnorth,12000,3\nsouth,18200,4\nwest,9800,2\n",
        "february.csv": "region,units,price\nnorth,11000,3\nsouth,8350,4\nwest,4491,2\n",
    },
    {
        "script-then-run": [
            "head -2 january.csv",
            SUMMARISE.format(names='("january.csv", "february.csv")', column="units"),
            "python3 summarise.py",
            "cat report.txt",
            "rm summarise.py",
        ],
        "mends-the-script": [
            SUMMARISE.format(names='("january.csv",)', column="units"),
            "python3 summarise.py",
            "cat report.txt",
            'sed -i \'s/("january.csv",)/("january.csv", "february.csv")/\' summarise.py',
            "python3 summarise.py",
        ],
        "copies-a-partial-sum": [
            "awk -F, 'NR > 1 { units += $2 } END { print units }' january.csv",
            "wc -l january.csv february.csv > counts.txt",
            "echo 'total: 40000' > report.txt",
        ],
        "adds-the-wrong-column": [
            "cat january.csv",
            SUMMARISE.format(names='("january.csv", "february.csv")', column="price"),
            "python3 summarise.py",
        ],
    },
    "grep -qx 'total: 63841' report.txt",
)

SERVE = (
    "python3 -m http.server {port} --bind 127.0.0.1 --directory site > /dev/null 2>&1 & "
    "for i in $(seq 50); do (exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && break; "
    "sleep 0.1; done"
)
FETCH = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:18437/status.txt').read())"

START_SERVER = DemoTask(
    "start-server",
    "Serve the folder site over HTTP on the port of settings.ini, with a page status.txt that says "
    "ready.",
    {
        "settings.ini": "[server]\nhost = 127.0.0.1\nport = 18437\n",
        "site/index.html": "<h1>hello</h1>\n",
    },
    {
        "serves-and-probes": [
            "cat settings.ini",
            "echo ready > site/status.txt",
            SERVE.format(port=18437),
            f'python3 -c "{FETCH}"',
        ],
        "tries-another-port-first": [
            "ls site",
            SERVE.format(port=18000),
            "cat settings.ini",
            SERVE.format(port=18437),
            "printf 'ready\\n' > site/status.txt",
        ],
        "wrong-port": [
            "echo ready > site/status.txt",
            SERVE.format(port=18001),
        ],
        "forgets-the-page": [
            "cat settings.ini",
            SERVE.format(port=18437),
        ],
    },
    f'python3 -c "{FETCH}" > /dev/null 2>&1; fetched=$?\n'
    "grep -qx ready site/status.txt && test $fetched = 0",
)

TASKS = (FIX_CONFIG, BUILD_REPORT, START_SERVER)
