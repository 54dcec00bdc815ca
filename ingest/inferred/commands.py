"""What shell commands do with their operands: tables of commands over a few shapes of use.

The tables leave out what programs open of their own accord: imports, configuration, members of
archives, the files named inside an awk or sed program.

>>> list(accesses_of(["sort", "-k", "2", "a.txt", "-o", "b.txt"], lambda name: False))
[('write', 'b.txt'), ('read', 'a.txt')]
>>> unwrapped(["sudo", "-u", "bob", "timeout", "5", "cat", "a.txt"])
([], ['cat', 'a.txt'])
"""

import posixpath
from collections.abc import Iterable, Iterator, Sequence

from .calls import Access, Call, IsFolder, Kind, Rule, Word, divided, known


def _joined(folder: Word, name: Word) -> Word:
    if folder is None or name is None:
        return None
    base = posixpath.basename(name.rstrip("/"))
    return posixpath.join(folder, base) if base not in ("", ".", "..") else None


def _nothing(_: Call) -> Iterable[Access]:
    return ()


def _reads(call: Call) -> Iterator[Access]:
    """`+5` is a place in the file, for less and tail."""
    return (("read", name) for name in call.operands if name and not name.startswith("+"))


def _writes(call: Call) -> Iterator[Access]:
    return (("write", name) for name in call.operands)


def _deletes(call: Call) -> Iterator[Access]:
    return (("delete", name) for name in call.operands)


def _makes_folders(call: Call) -> Iterator[Access]:
    return (("folder", name) for name in call.operands)


def _reads_data(call: Call) -> Iterator[Access]:
    return (("read", name) for name in call.operands if not _is_assignment(name))


def _converts(call: Call) -> Iterator[Access]:
    kinds: tuple[Kind, ...] = ("read", "write")
    return zip(kinds, call.operands, strict=False)


def _compares(call: Call) -> Iterator[Access]:
    return (("read", name) for name in call.operands[:2])


def _edits(call: Call) -> Iterator[Access]:
    in_place, backup = call.has("-i --in-place"), call.value("-i --in-place")
    for name in call.operands:
        yield "read", name
        if in_place:
            yield "write", name
        if name and backup and "*" not in backup:
            yield "write", name + backup


def _edits_lines(call: Call) -> Iterable[Access]:
    return _edits(call) if call.has("-n -p -i") else ()


def _places(call: Call, source_kind: Kind | None) -> Iterator[Access]:
    """Copy, move or link operands to the last of them, or into the folder that it is."""
    into = call.value("-t --target-directory")
    sources, in_folder = call.operands, True
    if not call.has("-t --target-directory"):
        if len(sources) == 1 and source_kind is None:
            sources = [*sources, "."]
        *sources, into = sources or [None]
        is_folder = into is not None and call.is_folder(into) and not call.has("-T")
        in_folder = len(sources) > 1 or is_folder
    for name in sources:
        if source_kind is not None:
            yield source_kind, name
        if name is None or source_kind is None or not call.is_folder(name):
            yield "write", _joined(into, name) if in_folder else into


def _copies(call: Call) -> Iterable[Access]:
    return _places(call, "read")


def _installs(call: Call) -> Iterable[Access]:
    return _makes_folders(call) if call.has("-d --directory") else _places(call, "read")


def _moves(call: Call) -> Iterable[Access]:
    return _places(call, "delete")


def _links(call: Call) -> Iterable[Access]:
    return _places(call, None)


def _dumps(call: Call) -> Iterator[Access]:
    for word in call.operands:
        key, _, name = (word or "").partition("=")
        if key == "if":
            yield "read", name
        elif key == "of":
            yield "write", name


def _compiles(call: Call) -> Iterator[Access]:
    yield from _reads(call)
    stems = [posixpath.splitext(posixpath.basename(name or ""))[0] for name in call.operands]
    if call.has("-o -S -E -M -MM -fsyntax-only --out-dir --emit --crate-type --test"):
        return
    for stem in stems if call.has("-c") else stems[:1] if call.rule.extra else ():
        yield "write", (f"{stem}.o" if call.has("-c") else call.rule.extra.format(stem=stem))


def _compiles_go(call: Call) -> Iterable[Access]:
    sources = [name for name in call.operands if name and name.endswith(".go")]
    if call.script == "build":
        return _compiles(Call(call.rule, call.is_folder, call.options, [*sources]))
    return [("read", name) for name in sources if call.script == "run"]


def _runs_shell(call: Call) -> Iterator[Access]:
    for word in call.operands[:1]:
        if not call.has("-s"):
            yield "code" if call.has("-c") else "read", word


def _patches(call: Call) -> Iterator[Access]:
    for name in call.operands[:1]:
        yield "read", name
        if not call.has("-o --output"):
            yield "write", name
    for name in call.operands[1:2]:
        yield "read", name


def _archives(call: Call) -> Iterator[Access]:
    archive, folder = call.value("-f --file"), call.value("-C --directory")
    is_made, is_grown = call.has("-c --create"), call.has("-r -u -A --append --update")
    if is_made or is_grown:
        for name in call.operands if folder or not call.has("-C --directory") else ():
            yield "read", name and posixpath.join(folder or "", name)
        yield "write", archive
    if not is_made:
        yield "read", archive


def _zips(call: Call) -> Iterator[Access]:
    archive = call.script
    if archive is not None and "." not in posixpath.basename(archive):
        archive += ".zip"
    if not call.has("-d"):
        yield from _reads(call)
    yield "write", archive


def _compresses(call: Call) -> Iterator[Access]:
    return _recodes(call, is_inverse=call.has("-d --decompress"))


def _expands(call: Call) -> Iterator[Access]:
    return _recodes(call, is_inverse=True)


def _recodes(call: Call, *, is_inverse: bool) -> Iterator[Access]:
    suffix, is_dry = call.rule.extra, call.has("-c --stdout --to-stdout -t -l --test --list")
    for name in call.operands if not call.has("-r --recursive") else ():
        yield "read", name
        if is_dry or name is None or name.endswith(suffix) != is_inverse:
            continue
        yield "write", (name.removesuffix(suffix) if is_inverse else name + suffix)
        if not call.has("-k --keep"):
            yield "delete", name


def _table(rules: dict[str, Rule]) -> dict[str, Rule]:
    return {name: rule for names, rule in rules.items() for name in names.split()}


WRAPPERS = _table(
    {
        "command builtin nohup setsid coproc unbuffer": Rule(_nothing, in_order=True),
        "time": Rule(_nothing, "-f -o> --format --output>", in_order=True),
        "exec": Rule(_nothing, "-a", in_order=True),
        "nice": Rule(_nothing, "-n --adjustment", in_order=True),
        "ionice": Rule(_nothing, "-c -n -p", in_order=True),
        "stdbuf": Rule(_nothing, "-i -o -e --input --output --error", in_order=True),
        "strace ltrace": Rule(_nothing, "-o> --output> -e -p -s -u -E", in_order=True),
        "env": Rule(_nothing, "-u -C -S --unset --chdir", in_order=True),
        "sudo doas": Rule(_nothing, "-u -g -h -p -C -D -r -t -U --user --group", in_order=True),
        "timeout": Rule(
            _nothing, "-s -k --signal --kill-after", "text", in_order=True
        ),
        "xargs": Rule(
            _nothing, "-I -i? -n -P -d -a< --arg-file< -L -l? -s -E -e? --max-args --max-procs",
            in_order=True,
        ),
    }
)  # fmt: skip

COMMANDS = _table(
    {
        "cat zcat bzcat xzcat more rev md5sum sha1sum sha256sum sha512sum cksum comm": Rule(_reads),
        "head tail": Rule(_reads, "-n -c -s --lines --bytes --pid --sleep-interval"),
        "less": Rule(_reads, "-b -D -h -j -k -p -P -t -T -x -y -z"),
        "bat batcat": Rule(_reads, "-l -r -H -m --language --line-range --style --theme"),
        "wc": Rule(_reads, "--files0-from<"),
        "sort": Rule(
            _reads,
            "-k -t -S -T -o> --output> --key --field-separator --buffer-size --parallel "
            "--temporary-directory --batch-size --compress-program --files0-from<",
        ),
        "shuf": Rule(_reads, "-n -o> --output> --head-count"),
        "uniq": Rule(_converts, "-f -s -w --skip-fields --skip-chars --check-chars"),
        "cut": Rule(
            _reads, "-b -c -d -f --bytes --characters --delimiter --fields --output-delimiter"
        ),
        "join": Rule(_reads, "-1 -2 -j -t -o -e -a -v"),
        "paste": Rule(_reads, "-d --delimiters"),
        "column": Rule(_reads, "-s -o -N -c -H -R --separator --output-separator"),
        "fold fmt": Rule(_reads, "-w -p -g --width"),
        "nl": Rule(_reads, "-b -d -f -h -i -l -n -s -v -w"),
        "tac": Rule(_reads, "-s --separator"),
        "base64 base32": Rule(_reads, "-w --wrap"),
        "iconv": Rule(_reads, "-f -t -o> --output> --from-code --to-code"),
        "strings": Rule(_reads, "-n -t -e --bytes --radix --encoding"),
        "od": Rule(_reads, "-A -t -N -j -S -w? --format --read-bytes --skip-bytes"),
        "hexdump hd": Rule(_reads, "-n -s -e -f<"),
        "xxd": Rule(_converts, "-l -s -c -g -o -n -len -seek -cols -groupsize", whole=True),
        "file": Rule(_reads, "-m -f< -F -P -e --files-from< --separator"),
        "diff": Rule(
            _reads, "-U -C -I -x -X< -L -W -F -S --label --exclude --width --unified --context"
        ),
        "cmp": Rule(_compares, "-i -n --bytes --ignore-initial"),
        "grep egrep fgrep zgrep": Rule(
            _reads,
            "-e! --regexp! -f!< --file!< -A -B -C -m -d -D --include --exclude --exclude-dir "
            "--exclude-from< --max-count --after-context --before-context --context --label",
            "text",
        ),
        "rg": Rule(
            _reads,
            "-e! --regexp! -f!< --file!< -A -B -C -m -g -t -T -j -M -E -r -d --glob --iglob --type "
            "--type-not --max-depth --max-count --context --after-context --before-context "
            "--replace --sort --sortr --threads --encoding --max-columns",
            "text",
        ),
        "awk gawk mawk nawk": Rule(
            _reads_data, "-F -v -f!< --file!< -e! --source! --field-separator --assign", "text"
        ),
        "jq": Rule(
            _reads,
            "--arg+ --argjson+ --slurpfile+< --rawfile+< --indent -L -f!< --from-file!<",
            "text",
        ),
        "sed gsed": Rule(
            _edits, "-e! --expression! -f!< --file!< -i? -l --line-length", "text"
        ),
        "perl": Rule(
            _edits_lines, "-e! -E! -i? -I -M? -m? -C? -D? -F? -x?", "file", in_order=True
        ),
        "ruby": Rule(_edits_lines, "-e! -i? -I -r -C -E -F?", "file", in_order=True),
        "python pypy": Rule(_nothing, "-c! -m! -W -X", "file", in_order=True),
        "node nodejs tsx ts-node": Rule(
            _nothing, "-e! --eval! -p! --print! -r --require --import --loader", "file",
            in_order=True,
        ),
        "Rscript": Rule(_nothing, "-e!", "file", in_order=True),
        "julia": Rule(_nothing, "-e! -E! -L< -p -t -J", "file", in_order=True),
        "php": Rule(_nothing, "-r! -f!< -d -c -S", "file", in_order=True),
        "java": Rule(_nothing, "-jar< -cp -classpath --class-path", in_order=True, whole=True),
        "bash sh zsh dash ksh": Rule(
            _runs_shell, "-o -O --rcfile< --init-file<", in_order=True
        ),
        "source .": Rule(_nothing, "", "file", in_order=True),
        "tee": Rule(_writes),
        "touch": Rule(_writes, "-d -t -r --date --reference"),
        "truncate": Rule(_writes, "-s -r --size --reference"),
        "rm unlink": Rule(_deletes),
        "mkdir": Rule(_makes_folders, "-m --mode"),
        "cp": Rule(_copies, "-t -S --target-directory --suffix"),
        "mv": Rule(_moves, "-t -S --target-directory --suffix"),
        "ln": Rule(_links, "-t -S --target-directory --suffix"),
        "install": Rule(
            _installs, "-m -o -g -t -S --mode --owner --group --target-directory --suffix"
        ),
        "dd": Rule(_dumps),
        "gcc cc g++ c++ clang clang++ gfortran mpicc nvcc ld as": Rule(
            _compiles,
            "-o> -I -L -l -D -U -x -T -z -u -isystem -include< -idirafter -iquote -MF> -MT -MQ "
            "-Xlinker -arch -framework",
            whole=True, extra="a.out",
        ),
        "rustc": Rule(
            _compiles,
            "-o> -L -l -C -A -W -D -F --edition --crate-type --crate-name --out-dir --emit --cfg "
            "--target",
            extra="{stem}",
        ),
        "javac": Rule(
            _compiles,
            "-d -cp -classpath --class-path -sourcepath -source -target --release -encoding",
            whole=True,
        ),
        "go": Rule(
            _compiles_go, "-o> -ldflags -gcflags -asmflags -tags -mod -p -buildmode -C", "text",
            whole=True, extra="{stem}",
        ),
        "patch": Rule(
            _patches,
            "-i< --input< -o> --output> -r> -p -d -B -F -D -V -z -Y --strip --directory --fuzz",
        ),
        "tar": Rule(
            _archives,
            "-f --file -C --directory -T< --files-from< -X< --exclude-from< --exclude -I -b -H -g "
            "--use-compress-program --transform --strip-components --owner --group --mode",
            bundled=True,
        ),
        "zip": Rule(_zips, "-i -x -P -n -b -t -tt", "text"),
        "unzip zipinfo": Rule(_nothing, "-d -P -x", "file"),
        "gzip": Rule(_compresses, "-S --suffix", extra=".gz"),
        "gunzip": Rule(_expands, "-S --suffix", extra=".gz"),
        "bzip2": Rule(_compresses, extra=".bz2"),
        "bunzip2": Rule(_expands, extra=".bz2"),
        "xz": Rule(_compresses, "-S -T -F -C --threads", extra=".xz"),
        "unxz": Rule(_expands, "-S -T -F -C --threads", extra=".xz"),
        "curl": Rule(
            _nothing,
            "-o> --output> -D> --dump-header> -c> --cookie-jar> -T< --upload-file< -K< --config< "
            "-A -b -C -d -e -E -F -H -m -P -Q -r -t -u -U -w -x -X -y -Y -z --data --header "
            "--request --user --user-agent --max-time --retry --form --url",
        ),
        "wget": Rule(
            _nothing,
            "-O> --output-document> -o> --output-file> -a> --append-output> -i< --input-file< "
            "-P -t -T -U -e -Q -w -l -A -R -D -I -X -B --header --tries --timeout --user-agent",
        ),
    }
)  # fmt: skip


def accesses_of(words: Sequence[Word], is_folder: IsFolder) -> Iterator[tuple[Kind, str]]:
    """Say what a command does to which names; nothing for a command that no table knows."""
    name = words[0] or ""
    rule = _rule(name)
    if rule is not None:
        yield from known(divided(rule, words[1:], is_folder))
    elif "/" in name:
        yield "read", name


def unwrapped(words: Sequence[Word]) -> tuple[list[tuple[Kind, str]], list[Word]]:
    """Take off `sudo`, `env A=b`, `timeout 5` and their like; with what these themselves touch."""
    found: list[tuple[Kind, str]] = []
    rest = list(words)
    while rest and (rule := WRAPPERS.get(name := posixpath.basename(rest[0] or ""))):
        call = divided(rule, rest[1:], lambda _: False)
        found += known(call)
        rest = call.operands
        while rest and _is_assignment(rest[0]):
            rest = rest[1:]
        if name == "command" and call.has("-v -V"):
            rest = []
        if name == "xargs" and not call.has("-I -i --replace"):
            rest = [*rest, None, None]
    return found, rest


def _rule(name: str) -> Rule | None:
    base = posixpath.basename(name)
    return COMMANDS.get(base) or COMMANDS.get(base.rstrip("0123456789.-"))


def _is_assignment(word: Word) -> bool:
    name, equals, _ = (word or "").partition("=")
    return bool(equals) and name.isidentifier()
