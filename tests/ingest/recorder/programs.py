"""Small real programs, and what each of their commands truly reads, writes and deletes.

The truth is reasoned from what a program does, never taken from a recorder. Names are relative to
the work root, contents are text (UTF-8, with surrogates for other bytes) or bytes, and `@ROOT@` and
`@PORT@` stand for the work root and a free port. Every file is of 2001, so that no tool doubts a
time. What a level cannot see is stated with the program, in `missed`; there, `traced` or `swept`
say what that level records instead.
"""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from textwrap import dedent

Lines = list[tuple[int, int]] | None
"""New-side line ranges of a write; None: the whole file."""

LEVELS = ("strace+seccomp", "strace", "sweep")


@dataclass(frozen=True)
class Effects:
    """What a command did to files; reads None: not compared."""

    reads: tuple[str, ...] | None = ()
    writes: Mapping[str, Lines] = field(default_factory=dict)
    deletes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Command(Effects):
    """One command of a session, with the truth about it."""

    text: str | tuple[str, ...] = ""
    """For the shell; or arguments of a program that runs by itself."""
    probes: tuple[str, ...] = ()
    """Some of the files that it only tests for."""
    exit_code: int | None = None
    """None: not compared."""
    opens_port: bool = False
    closes_port: bool = False
    """Before it ends."""
    uses_port: bool = False
    started: tuple[str, ...] | None = None
    """Programs that it leaves running; None: not compared."""
    is_followed_by_late_work: bool = False
    """Between it and the next command, its background job gets `../go` and makes `../done`."""
    traced: Effects | None = None
    """What the levels with strace record, where that is not the truth."""
    swept: Effects | None = None
    """What the level without strace records, where that is not the truth."""

    def seen_at(self, level: str) -> Effects:
        """Return what the level can see."""
        other = self.swept if level == "sweep" else self.traced
        return other or self


@dataclass(frozen=True)
class Program:
    """Commands that run one after the other in one session."""

    name: str
    family: str
    commands: tuple[Command, ...]
    files: Mapping[str, str | bytes] = field(default_factory=dict)
    """A name that ends in a slash is an empty folder; scripts (`.sh`) are executable."""
    links: Mapping[str, str] = field(default_factory=dict)
    """Symbolic links and their targets."""
    needs: tuple[str, ...] = ()
    """Programs that a machine may lack."""
    ignored: str = "\n"
    """Names that begin so are not compared."""
    missed: Mapping[str, str] = field(default_factory=dict)
    """What a level cannot see by design."""


PROGRAMS: list[Program] = []


def program(
    name: str, family: str, *commands: Command, files: Mapping[str, str | bytes] | None = None,
    **more,
) -> None:  # fmt: skip
    """Add a program to the list."""
    PROGRAMS.append(Program(name, family, commands, files or {}, **more))


def does(
    text: str | tuple[str, ...],
    reads: tuple[str, ...] | None = (),
    writes: Mapping[str, Lines] | None = None,
    deletes: tuple[str, ...] = (),
    **more,
) -> Command:
    """Describe a command and its truth."""
    return Command(reads, writes or {}, deletes, text, **more)


def script(text: str) -> str:
    """Return a script without its indentation here."""
    return dedent(text).lstrip("\n")


def numbered(count: int) -> str:
    """Return so many lines, each different."""
    return "".join(f"line {number}\n" for number in range(1, count + 1))


# Redirections.

program(
    "redirect_overwrite", "redirections",
    does("echo new > old.txt", writes={"old.txt": [(1, 1)]}),
    does("printf 'a\\nb\\n' > fresh.txt", writes={"fresh.txt": [(1, 2)]}),
    files={"old.txt": "one\ntwo\n"},
)  # fmt: skip
program(
    "redirect_append", "redirections",
    does("echo three >> log.txt", writes={"log.txt": [(3, 3)]}),
    does("echo four >> log.txt; echo five >> log.txt", writes={"log.txt": [(4, 5)]}),
    does("echo one >> new.log", writes={"new.log": [(1, 1)]}),
    files={"log.txt": "one\ntwo\n"},
)  # fmt: skip
# Each is over within a tick of the clock that the times of files are of.
program(
    "quick_commands", "redirections",
    *(does("echo x >> f.txt", writes={"f.txt": [(n, n)]}) for n in range(1, 41)),
    does("exec 3>&1 >> f.txt"),
    *(does("echo y", writes={"f.txt": [(n, n)]}) for n in range(41, 81)),
)  # fmt: skip
program(
    "redirect_input", "redirections",
    does("wc -l < in.txt", reads=("in.txt",)),
    does("cat /dev/stdin < in.txt > out.txt", reads=("in.txt",), writes={"out.txt": [(1, 2)]}),
    files={"in.txt": "one\ntwo\n"},
)  # fmt: skip
program(
    "redirect_errors", "redirections",
    does("cat missing.txt 2> err.txt", writes={"err.txt": [(1, 1)]}, probes=("missing.txt",)),
    does("ls missing.txt &> both.txt", writes={"both.txt": [(1, 1)]}, probes=("missing.txt",)),
    does("{ echo out; echo err >&2; } > all.txt 2>&1", writes={"all.txt": [(1, 2)]}),
)  # fmt: skip
program(
    "noclobber", "redirections",
    does("set -o noclobber"),
    does("echo new > kept.txt", exit_code=1),
    does("echo new >| kept.txt", writes={"kept.txt": [(1, 1)]}),
    does("echo new > fresh.txt", writes={"fresh.txt": [(1, 1)]}),
    files={"kept.txt": "old\n"},
)  # fmt: skip
program(
    "read_and_write_redirect", "redirections",
    does(
        "{ read -r first <&3; printf 'TWO\\n' >&3; } 3<> f.txt",
        reads=("f.txt",), writes={"f.txt": [(2, 2)]},
    ),
    files={"f.txt": "one\ntwo\n"},
)  # fmt: skip
program(
    "append_then_read", "redirections",
    does("echo three >> f.txt; cat f.txt", reads=("f.txt",), writes={"f.txt": [(3, 3)]}),
    files={"f.txt": "one\ntwo\n"},
)  # fmt: skip
program(
    "truncate_then_read", "redirections",
    does("cat f.txt > f.txt", writes={"f.txt": None}),
    does("echo a > g.txt; cat g.txt", writes={"g.txt": [(1, 1)]}),
    files={"f.txt": "one\n", "g.txt": "two\n"},
)  # fmt: skip
program(
    "exec_redirect", "redirections",
    does("exec 3>&1 > out.txt", writes={"out.txt": None}),
    does("echo first", writes={"out.txt": [(1, 1)]}),
    does("echo second", writes={"out.txt": [(2, 2)]}),
    does("exec >&3 3>&-"),
    does("echo to nobody"),
)  # fmt: skip
program(
    "read_through_an_inherited_descriptor", "redirections",
    does("exec 4< in.txt", traced=Effects(reads=("in.txt",))),
    does(
        "cat <&4 > out.txt", reads=("in.txt",), writes={"out.txt": [(1, 2)]},
        traced=Effects(writes={"out.txt": [(1, 2)]}),
    ),
    files={"in.txt": "one\ntwo\n"},
    missed=dict.fromkeys(
        LEVELS[:2], "reads through an earlier command's descriptor, which count for that one"
    ),
)  # fmt: skip
program(
    "removed_while_open", "redirections",
    does(
        "exec 3< f.txt; rm f.txt; cat <&3 > g.txt; exec 3<&-",
        reads=("f.txt",), writes={"g.txt": [(1, 2)]}, deletes=("f.txt",),
    ),
    does("exec 4> gone.txt; rm gone.txt; echo nowhere >&4; exec 4>&-"),
    files={"f.txt": "one\ntwo\n"},
)  # fmt: skip

# Here-documents and here-strings.

program(
    "here_document", "here-documents",
    does("cat > note.txt <<'END'\none $x\ntwo\nEND", writes={"note.txt": [(1, 2)]}),
    does('read -r word <<< hello; echo "$word" >> note.txt', writes={"note.txt": [(3, 3)]}),
    does("bash <<'END'\ncat note.txt > copy.txt\nEND", ("note.txt",), {"copy.txt": [(1, 3)]}),
)  # fmt: skip
program(
    "long_here_document", "here-documents",
    does(f"cat > long.txt <<'END'\n{numbered(1000)}END", writes={"long.txt": [(1, 1000)]}),
)  # fmt: skip
program(
    "here_string_through_a_temporary_file", "here-documents",
    does("TMPDIR=$PWD; cat > out.txt <<< \"$(seq 20000)\"", writes={"out.txt": [(1, 20000)]}),
)  # fmt: skip

# Pipes and substitutions.

program(
    "pipe_and_tee", "pipes and substitutions",
    does(
        "cat a.txt | sort | tee sorted.txt > copy.txt",
        reads=("a.txt",), writes={"sorted.txt": [(1, 2)], "copy.txt": [(1, 2)]},
    ),
    does("echo c | tee -a sorted.txt", writes={"sorted.txt": [(3, 3)]}),
    files={"a.txt": "b\na\n"},
)  # fmt: skip
program(
    "command_substitution", "pipes and substitutions",
    does('echo "$(<a.txt)" > b.txt', reads=("a.txt",), writes={"b.txt": [(1, 2)]}),
    does("echo `cat b.txt | wc -l` > n.txt", reads=("b.txt",), writes={"n.txt": [(1, 1)]}),
    files={"a.txt": "one\ntwo\n"},
)  # fmt: skip
program(
    "process_substitution", "pipes and substitutions",
    does(
        "diff <(sort a.txt) <(sort b.txt) > d.txt",
        reads=("a.txt", "b.txt"), writes={"d.txt": [(1, 4)]}, exit_code=1,
    ),
    does("{ seq 3; } > >(cat > t.txt); wait $!", writes={"t.txt": [(1, 3)]}),
    files={"a.txt": "y\nx\n", "b.txt": "z\nx\n"},
)  # fmt: skip
program(
    "fifo", "pipes and substitutions",
    does("mkfifo p; cat p > out.txt & echo hi > p; wait; rm p", writes={"out.txt": [(1, 1)]}),
)  # fmt: skip

# Folders.

program(
    "subshell_cd", "folders",
    does(
        "(cd sub && cat in.txt > out.txt); cat top.txt",
        reads=("sub/in.txt", "top.txt"), writes={"sub/out.txt": [(1, 1)]},
    ),
    does("cd sub; cat in.txt", reads=("sub/in.txt",)),
    does("cat ./../top.txt > ../sub/./in.txt", ("top.txt",), {"sub/in.txt": [(1, 1)]}),
    does("cd - && echo x > x.txt", writes={"x.txt": [(1, 1)]}),
    files={"sub/in.txt": "in\n", "top.txt": "top\n"},
)  # fmt: skip
program(
    "cd_through_a_symlink", "folders",
    does(
        "cat short/../near.txt > short/made.txt",
        reads=("real/near.txt",), writes={"short/made.txt": [(1, 1)]},
        swept=Effects(writes={"real/deep/made.txt": [(1, 1)]}),
    ),
    does(
        "cd short && cat ../near.txt > ../made.txt",
        reads=("real/near.txt",), writes={"real/made.txt": [(1, 1)]},
    ),
    does("cat in.txt > copy.txt", ("real/deep/in.txt",), {"real/deep/copy.txt": [(1, 1)]}),
    does("cd .. && cat top.txt > seen.txt", ("top.txt",), {"seen.txt": [(1, 1)]}),
    files={"real/near.txt": "near\n", "real/deep/in.txt": "in\n", "top.txt": "top\n"},
    links={"short": "real/deep"},
    missed={"sweep": "names through symbolic links: it tells the real ones"},
)  # fmt: skip
program(
    "programs_that_change_folder", "folders",
    does("env -C sub sh -c 'cat in.txt > out.txt'", ("sub/in.txt",), {"sub/out.txt": [(1, 1)]}),
    does("tar -C sub -cf all.tar in.txt", ("sub/in.txt",), {"all.tar": None}),
    does("find sub -name in.txt -execdir cp {} copy.txt \\;", ("sub/in.txt",),
         {"sub/copy.txt": [(1, 1)]}),
    files={"sub/in.txt": "in\n"},
)  # fmt: skip
program(
    "folder_moved_below_the_shell", "folders",
    does("cd d; mv ../d ../e; echo x > new.txt",
         writes={"e/new.txt": [(1, 1)], "e/f.txt": [(1, 1)]}, deletes=("d/f.txt",)),
    does("echo y >> new.txt; cat f.txt", ("e/f.txt",), {"e/new.txt": [(2, 2)]}),
    files={"d/f.txt": "f\n"},
)  # fmt: skip
program(
    "absolute_names", "folders",
    does('cat "$PWD/a.txt" > @ROOT@/b.txt', ("a.txt",), {"b.txt": [(1, 1)]}),
    does("cat @ROOT@//./b.txt > ./c.txt", ("b.txt",), {"c.txt": [(1, 1)]}),
    files={"a.txt": "a\n"},
)  # fmt: skip
program(
    "outside_of_the_work_root", "folders",
    does("cat /etc/passwd > users.txt; sed -i 2,\\$d users.txt", writes={"users.txt": [(1, 1)]}),
    does("echo x > ../outside.txt"),
    does("mv ../outside.txt inside.txt", writes={"inside.txt": [(1, 1)]}),
    does("mv inside.txt ../outside.txt", deletes=("inside.txt",)),
    does("mkdir ../folder; echo x > ../folder/f.txt; mv ../folder .",
         writes={"folder/f.txt": [(1, 1)]}),
    does("cp folder/f.txt ../copy.txt", reads=("folder/f.txt",)),
)  # fmt: skip

DEEP = "/".join([letter * 100 for letter in "abcdefghijklmnopqrst"])
program(
    "deep_folders", "folders",
    does(f"mkdir -p {DEEP} && echo one > {DEEP}/f.txt", writes={f"{DEEP}/f.txt": [(1, 1)]}),
    does(f"cat {DEEP}/f.txt > top.txt", (f"{DEEP}/f.txt",), {"top.txt": [(1, 1)]}),
    does(f"cd {DEEP} && echo two >> f.txt; cd -", writes={f"{DEEP}/f.txt": [(2, 2)]}),
    does(f"mv {'a' * 100} z", writes={f"z{DEEP[100:]}/f.txt": [(1, 2)]},
         deletes=(f"{DEEP}/f.txt",)),
)  # fmt: skip
program(
    "folders_are_no_files", "folders",
    does("mkdir -p a/b c; rmdir c"),
    does("cat a", exit_code=1),
    does("cat was-file.txt", reads=("was-file.txt",)),
    does("rm was-file.txt; mkdir was-file.txt; echo x > was-file.txt/f",
         writes={"was-file.txt/f": [(1, 1)]}, deletes=("was-file.txt",)),
    does("rm -r a; echo x > a", writes={"a": [(1, 1)]}),
    files={"was-file.txt": "x\n"},
)  # fmt: skip

# Functions and loops.

program(
    "functions_and_loops", "functions and loops",
    does(
        'save() { echo "$2" > "$1"; }; for n in 1 2 3; do save "f$n.txt" "$n"; done',
        writes={f"f{n}.txt": [(1, 1)] for n in (1, 2, 3)},
    ),
    does(
        'while read -r line; do echo "got $line"; done < f1.txt >> all.txt',
        reads=("f1.txt",), writes={"all.txt": [(1, 1)]},
    ),
    does("save late.txt x", writes={"late.txt": [(1, 1)]}),
    does("for f in f?.txt; do cat $f; done | sort -r > all.txt",
         ("f1.txt", "f2.txt", "f3.txt"), {"all.txt": [(1, 3)]}),
)  # fmt: skip
program(
    "many_files", "functions and loops",
    does("for n in {1..200}; do echo $n > f$n.txt; done",
         writes={f"f{n}.txt": [(1, 1)] for n in range(1, 201)}),
    does("rm f*.txt", deletes=tuple(f"f{n}.txt" for n in range(1, 201))),
)  # fmt: skip
program(
    "parallel_writers", "functions and loops",
    does("for n in 1 2 3 4; do (echo $n >> f.txt) & done; wait", writes={"f.txt": [(1, 4)]}),
)  # fmt: skip
program(
    "xargs_in_parallel", "functions and loops",
    does(
        "ls in*.txt | xargs -P 4 -I{} cp {} {}.out",
        reads=tuple(f"in{n}.txt" for n in range(8)),
        writes={f"in{n}.txt.out": [(1, 1)] for n in range(8)},
    ),
    does("printf '%s\\n' in*.txt | xargs rm", deletes=tuple(f"in{n}.txt" for n in range(8))),
    files={f"in{n}.txt": f"{n}\n" for n in range(8)},
)  # fmt: skip
program(
    "find_exec", "functions and loops",
    does("find . -name '*.txt' -exec sed -i s/a/b/ {} +", ("x.txt", "sub/y.txt"),
         {"x.txt": [(1, 1)], "sub/y.txt": [(2, 2)]}),
    does("find . -name '*.md' -delete", deletes=("sub/z.md",)),
    does("find . -name '*.txt' -exec sh -c 'wc -l < \"$1\" > \"$1.count\"' _ {} \\;",
         ("x.txt", "sub/y.txt"), {"x.txt.count": [(1, 1)], "sub/y.txt.count": [(1, 1)]}),
    files={"x.txt": "a\n", "sub/y.txt": "z\na\n", "sub/z.md": "a\n"},
)  # fmt: skip

# Editors.

FIVE = "one\ntwo\nthree\nfour\nfive\n"

program(
    "sed_in_place", "editors",
    does("sed -i 's/three/THREE/' f.txt", ("f.txt",), {"f.txt": [(3, 3)]}),
    does("sed -i 's/nothing/x/' f.txt", ("f.txt",)),
    does("sed -i '2i between' f.txt", ("f.txt",), {"f.txt": [(2, 2)]}),
    does("sed -n 's/four/4/w four.txt' f.txt", ("f.txt",), {"four.txt": [(1, 1)]}),
    files={"f.txt": FIVE},
)  # fmt: skip
program(
    "sed_with_a_backup", "editors",
    does("sed -i.bak 2d f.txt", ("f.txt",), {"f.txt": None, "f.txt.bak": [(1, 5)]}),
    does("sed -i.bak s/five/5/ f.txt", ("f.txt",), {"f.txt": [(4, 4)], "f.txt.bak": None}),
    files={"f.txt": FIVE},
)  # fmt: skip
program(
    "perl_in_place", "editors",
    does("perl -pi -e 's/two/TWO/' f.txt", ("f.txt",), {"f.txt": [(2, 2)]}),
    does("perl -pi.orig -e 's/five/FIVE/' f.txt", ("f.txt",),
         {"f.txt": [(5, 5)], "f.txt.orig": [(1, 5)]}),
    files={"f.txt": FIVE}, needs=("perl",),
)  # fmt: skip
program(
    "awk_output_files", "editors",
    does("awk '{ print $2 > ($1 \".out\") }' data.txt", ("data.txt",),
         {"a.out": [(1, 2)], "b.out": [(1, 1)]}),
    does("awk '{ print >> \"a.out\" }' b.out", ("b.out",), {"a.out": [(3, 3)]}),
    files={"data.txt": "a 1\nb 2\na 3\n"},
)  # fmt: skip
program(
    "sort_into_the_same_file", "editors",
    does("sort -o f.txt f.txt", ("f.txt",), {"f.txt": [(3, 3)]}),
    does("sort -o f.txt f.txt", ("f.txt",)),
    does("sort -r f.txt -o new.txt", ("f.txt",), {"new.txt": [(1, 3)]}),
    files={"f.txt": "c\na\nb\n"},
)  # fmt: skip
program(
    "ed", "editors",
    does("printf '2s/two/TWO/\\nw\\nq\\n' | ed -s f.txt", ("f.txt",), {"f.txt": [(2, 2)]}),
    files={"f.txt": FIVE}, needs=("ed",),
)  # fmt: skip
program(
    "patch", "editors",
    does("patch -s f.txt fix.diff", ("f.txt", "fix.diff"), {"f.txt": [(2, 2)]}),
    files={"f.txt": FIVE, "fix.diff": "--- f.txt\n+++ f.txt\n@@ -2,1 +2,1 @@\n-two\n+TWO\n"},
    needs=("patch",),
)  # fmt: skip
program(
    "ex", "editors",
    does("ex -s -u NONE '+2s/two/TWO/' '+wq' f.txt", ("f.txt",), {"f.txt": [(2, 2)]}),
    files={"f.txt": FIVE}, needs=("ex",),
)  # fmt: skip
program(
    "edit_by_a_temporary_file", "editors",
    does("sort f.txt > t.txt; wc -l < t.txt; mv t.txt f.txt", ("f.txt",), {"f.txt": [(3, 3)]}),
    does("cp f.txt f.bak && sed s/a/A/ f.bak > f.txt", ("f.txt",),
         {"f.txt": [(1, 1)], "f.bak": [(1, 3)]}),
    files={"f.txt": "c\na\nb\n"},
)  # fmt: skip
program(
    "split", "editors",
    does("split -l 2 f.txt part-", ("f.txt",),
         {"part-aa": [(1, 2)], "part-ab": [(1, 2)], "part-ac": [(1, 1)]}),
    does("cat part-a* > whole.txt; cmp f.txt whole.txt",
         ("part-aa", "part-ab", "part-ac", "f.txt"), {"whole.txt": [(1, 5)]}),
    files={"f.txt": FIVE},
)  # fmt: skip

# Which lines.

program(
    "one_line_of_a_thousand", "line ranges",
    does("sed -i '500s/.*/changed/' f.txt", ("f.txt",), {"f.txt": [(500, 500)]}),
    does("sed -i -e 1d -e 800s/.*/x/ -e 801s/.*/y/ f.txt", ("f.txt",), {"f.txt": [(799, 800)]}),
    files={"f.txt": numbered(1000)},
)  # fmt: skip
program(
    "several_edits", "line ranges",
    does("sed -i -e '2s/.*/X/' -e '3s/.*/Y/' -e 7d -e '9a Z' f.txt", ("f.txt",),
         {"f.txt": [(2, 3), (9, 9)]}),
    files={"f.txt": numbered(10)},
)  # fmt: skip
program(
    "deleted_lines_only", "line ranges",
    does("sed -i 2,3d f.txt", ("f.txt",), {"f.txt": None}),
    does("head -n 1 f.txt > t.txt && mv t.txt f.txt", ("f.txt",), {"f.txt": None}),
    does("sed -i d f.txt", ("f.txt",), {"f.txt": None}),
    does("echo again > f.txt", writes={"f.txt": [(1, 1)]}),
    files={"f.txt": FIVE},
)  # fmt: skip
program(
    "identical_rewrite", "line ranges",
    does("text=$(cat f.txt); printf '%s\\n' \"$text\" > f.txt", ("f.txt",)),
    does("cat same.txt > f.txt", ("same.txt",)),
    does("sed -i s/one/uno/ f.txt; sed -i s/uno/one/ f.txt", ("f.txt",)),
    does("rm f.txt; cp same.txt f.txt", ("same.txt",)),
    does("chmod 600 f.txt; touch f.txt"),
    files={"f.txt": FIVE, "same.txt": FIVE},
)  # fmt: skip
program(
    "same_size_and_time", "line ranges",
    does("printf 'TWO\\n' > f.txt; touch -d '2001-01-01 00:00:00 UTC' f.txt",
         writes={"f.txt": [(1, 1)]}),
    does("cp -p other.txt f.txt", ("other.txt",), {"f.txt": [(1, 1)]}),
    files={"f.txt": "two\n", "other.txt": "2nd\n"},
)  # fmt: skip
program(
    "no_newline_at_the_end", "line ranges",
    does("echo c >> f.txt", writes={"f.txt": [(2, 2)]}),
    does("printf d >> f.txt", writes={"f.txt": [(3, 3)]}),
    does("printf '\\n' >> f.txt", writes={"f.txt": [(3, 3)]}),
    does("printf '\\ne' >> f.txt", writes={"f.txt": [(4, 5)]}),
    files={"f.txt": "a\nb"},
)  # fmt: skip
program(
    "crlf", "line ranges",
    does("printf 'c\\r\\n' >> f.txt", writes={"f.txt": [(3, 3)]}),
    does("sed -i '2s/\\r$//' f.txt", ("f.txt",), {"f.txt": [(2, 2)]}),
    does("sed -i 's/\\r*$/\\r/' f.txt", ("f.txt",), {"f.txt": [(2, 2)]}),
    files={"f.txt": "a\r\nb\r\n"},
)  # fmt: skip
program(
    "only_newlines_end_lines", "line ranges",
    does("printf 'a\\fb\\xe2\\x80\\xa8c\\rd\\x85e\\v\\n' > f.txt", writes={"f.txt": [(1, 1)]}),
    does("printf 'z\\x1c\\ny\\n' >> f.txt", writes={"f.txt": [(2, 3)]}),
)  # fmt: skip
program(
    "repeated_lines", "line ranges",
    does("echo x >> f.txt", writes={"f.txt": [(4, 4)]}),
    does("echo x >> f.txt; echo y >> f.txt", writes={"f.txt": [(5, 6)]}),
    files={"f.txt": "x\nx\nx\n"},
)  # fmt: skip

# Contents.

program(
    "binary_files", "contents",
    does("printf '\\0\\1\\2' > new.bin", writes={"new.bin": None}),
    does("printf '\\3' >> old.bin", writes={"old.bin": None}),
    does("printf '\\0' >> text.txt", writes={"text.txt": None}),
    does("cat old.bin > same.bin; cat same.bin > old.bin", ("old.bin",), {"same.bin": None}),
    files={"old.bin": b"\x00\xff\n", "text.txt": "text\n"},
)  # fmt: skip
program(
    "bytes_that_are_not_utf8", "contents",
    does("printf '\\xe9t\\xe9\\n' >> latin.txt", writes={"latin.txt": [(2, 2)]}),
    files={"latin.txt": b"\xe0 bient\xf4t\n"},
)  # fmt: skip
program(
    "empty_files", "contents",
    does("cat empty.txt > other.txt", ("empty.txt",), {"other.txt": None}),
    does("echo x >> empty.txt", writes={"empty.txt": [(1, 1)]}),
    does(": > full.txt", writes={"full.txt": None}),
    does(": > full.txt"),
    files={"empty.txt": "", "full.txt": "x\n"},
)  # fmt: skip
program(
    "oversized_file", "contents",
    does("head -c 9000000 /dev/zero | tr '\\0' x > big.txt", writes={"big.txt": None}),
    does("echo y >> big.txt", writes={"big.txt": None}),
    does("cp big.txt copy.txt", ("big.txt",), {"copy.txt": None}),
)  # fmt: skip
program(
    "created_and_removed", "contents",
    does("echo x > t.txt; cat t.txt; rm t.txt"),
    does("mkdir t && echo x > t/f.txt && cp t/f.txt t/g.txt && rm -r t"),
    does('t=$(mktemp ./t.XXXXXX); sort f.txt > "$t"; mv "$t" sorted.txt', ("f.txt",),
         {"sorted.txt": [(1, 2)]}),
    files={"f.txt": "b\na\n"},
)  # fmt: skip
program(
    "removed_and_made_again", "contents",
    does("rm f.txt; echo new > f.txt", writes={"f.txt": [(1, 1)]}),
    does("rm -r d; mkdir d; echo x > d/a.txt", writes={"d/a.txt": [(1, 1)]},
         deletes=("d/b.txt",)),
    files={"f.txt": "old\n", "d/a.txt": "a\n", "d/b.txt": "b\n"},
)  # fmt: skip

# Copies and moves.

program(
    "cp", "copies and moves",
    does("cp a.txt new.txt", ("a.txt",), {"new.txt": [(1, 5)]}),
    does("cp a.txt b.txt", ("a.txt",), {"b.txt": [(2, 2)]}),
    does("cp a.txt b.txt sub", ("a.txt", "b.txt"), {"sub/a.txt": [(1, 5)], "sub/b.txt": [(1, 5)]}),
    files={"a.txt": FIVE, "b.txt": FIVE.replace("two", "2"), "sub/": ""},
)  # fmt: skip
program(
    "cp_preserving", "copies and moves",
    does("cp -p a.txt b.txt", ("a.txt",), {"b.txt": [(1, 5)]}),
    does("cp -p a.txt b.txt", ("a.txt",)),
    files={"a.txt": FIVE},
)  # fmt: skip
program(
    "cp_tree", "copies and moves",
    does("cp -r src dst", ("src/a.txt", "src/sub/b.txt"),
         {"dst/a.txt": [(1, 5)], "dst/sub/b.txt": [(1, 1)], "dst/link": None}),
    does("cp -a src/. again", ("src/a.txt", "src/sub/b.txt"),
         {"again/a.txt": [(1, 5)], "again/sub/b.txt": [(1, 1)], "again/link": None}),
    files={"src/a.txt": FIVE, "src/sub/b.txt": "b\n"}, links={"src/link": "a.txt"},
)  # fmt: skip
program(
    "mv", "copies and moves",
    does("mv a.txt b.txt", writes={"b.txt": [(1, 5)]}, deletes=("a.txt",)),
    does("mv b.txt old.txt", writes={"old.txt": [(2, 2)]}, deletes=("b.txt",)),
    does("mv old.txt sub/", writes={"sub/old.txt": [(1, 5)]}, deletes=("old.txt",)),
    does("mv sub/old.txt t.txt && mv t.txt sub/old.txt"),
    files={"a.txt": FIVE, "old.txt": FIVE.replace("two", "2"), "sub/": ""},
)  # fmt: skip
program(
    "mv_folder", "copies and moves",
    does("mv d e", writes={"e/x.txt": [(1, 1)], "e/sub/y.txt": [(1, 2)], "e/link": None},
         deletes=("d/x.txt", "d/sub/y.txt", "d/link")),
    does("mv e f && echo more >> f/x.txt",
         writes={"f/x.txt": [(1, 2)], "f/sub/y.txt": [(1, 2)], "f/link": None},
         deletes=("e/x.txt", "e/sub/y.txt", "e/link")),
    does("mv f g && mv g f"),
    does("mv f h && rm h/x.txt", writes={"h/sub/y.txt": [(1, 2)], "h/link": None},
         deletes=("f/x.txt", "f/sub/y.txt", "f/link")),
    files={"d/x.txt": "x\n", "d/sub/y.txt": "y\ny2\n"}, links={"d/link": "x.txt"},
)  # fmt: skip
program(
    "mv_folder_through_a_symlink", "copies and moves",
    does("mv link/d link/e", writes={"link/e/x.txt": [(1, 1)]}, deletes=("link/d/x.txt",),
         swept=Effects(writes={"real/e/x.txt": [(1, 1)]}, deletes=("real/d/x.txt",))),
    files={"real/d/x.txt": "x\n"}, links={"link": "real"},
    missed={"sweep": "names through symbolic links: it tells the real ones"},
)  # fmt: skip
program(
    "mv_refused", "copies and moves",
    does("mv -n a.txt b.txt"),
    does("mv a.txt missing/", exit_code=1),
    does("cp -n a.txt b.txt"),
    files={"a.txt": "a\n", "b.txt": "b\n"},
)  # fmt: skip
program(
    "swap_of_two_files", "copies and moves",
    does("mv a.txt t.txt; mv b.txt a.txt; mv t.txt b.txt",
         writes={"a.txt": [(2, 2)], "b.txt": [(2, 2)]}),
    files={"a.txt": "x\na\n", "b.txt": "x\nb\n"},
)  # fmt: skip
program(
    "rm", "copies and moves",
    does("rm a.txt", deletes=("a.txt",)),
    does("rm -r d", deletes=("d/x.txt", "d/sub/y.txt", "d/link")),
    does("rm missing.txt", exit_code=1),
    does("cat b.txt; rm b.txt", ("b.txt",), deletes=("b.txt",)),
    files={"a.txt": "a\n", "b.txt": "b\n", "d/x.txt": "x\n", "d/sub/y.txt": "y\n"},
    links={"d/link": "x.txt"},
)  # fmt: skip

# A file's earlier content is read, if under a name that the command has just given it.

program(
    "read_under_a_new_name", "copies and moves",
    does("mv a.txt b.txt; cat b.txt", ("a.txt",), {"b.txt": [(1, 1)]}, deletes=("a.txt",)),
    does("python3 edit.py", ("edit.py", "f.txt"), {"f.txt": [(3, 3)]}),
    files={
        "edit.py": script("""
            import fileinput
            for line in fileinput.input("f.txt", inplace=True):
                print(line.replace("three", "THREE"), end="")
            """),
        "a.txt": "a\n", "f.txt": FIVE,
    },
)  # fmt: skip

# Links.

program(
    "hard_links", "links",
    does("ln a.txt b.txt", writes={"b.txt": [(1, 2)]}),
    does("echo three >> a.txt", writes={"a.txt": [(3, 3)], "b.txt": [(3, 3)]}),
    does("echo new > b.txt", writes={"a.txt": [(1, 1)], "b.txt": [(1, 1)]}),
    does("sed -i s/new/newer/ b.txt", ("b.txt",), {"b.txt": [(1, 1)]}),
    does("echo apart >> a.txt", writes={"a.txt": [(2, 2)]}),
    does("rm a.txt", deletes=("a.txt",)),
    files={"a.txt": "one\ntwo\n"},
)  # fmt: skip
program(
    "hard_links_in_other_folders", "links",
    does("mkdir d e; ln a.txt d/b.txt; ln a.txt e/c.txt",
         writes={"d/b.txt": [(1, 1)], "e/c.txt": [(1, 1)]}),
    does("cd d && echo two >> b.txt",
         writes={name: [(2, 2)] for name in ("a.txt", "d/b.txt", "e/c.txt")}),
    does("cat ../e/c.txt", ("e/c.txt",)),
    does("mv b.txt ../m.txt", writes={"m.txt": [(1, 2)]}, deletes=("d/b.txt",)),
    files={"a.txt": "one\n"},
)  # fmt: skip
program(
    "hard_link_in_place_of_a_file", "links",
    does("ln -f a.txt b.txt", writes={"b.txt": [(2, 2)]}),
    does("cp -l a.txt c.txt", writes={"c.txt": [(1, 5)]}),
    does("ln -f a.txt b.txt"),
    files={"a.txt": FIVE, "b.txt": FIVE.replace("two", "2")},
)  # fmt: skip
program(
    "symbolic_links", "links",
    does("ln -s a.txt b.txt", writes={"b.txt": None}),
    does("ln -sf c.txt b.txt", writes={"b.txt": None}),
    does("ln -sf c.txt b.txt"),
    does("readlink b.txt; ls -l b.txt", probes=("b.txt",)),
    does("mv b.txt d.txt", writes={"d.txt": None}, deletes=("b.txt",)),
    does("rm d.txt", deletes=("d.txt",)),
    files={"a.txt": "a\n", "c.txt": "c\n"},
)  # fmt: skip
program(
    "write_through_a_symlink", "links",
    does("cat link.txt", ("link.txt",)),
    does("echo two >> link.txt", writes={"link.txt": [(2, 2)]},
         swept=Effects(writes={"real.txt": [(2, 2)]})),
    does("echo x > dangling.txt", writes={"dangling.txt": [(1, 1)]},
         swept=Effects(writes={"made.txt": [(1, 1)]})),
    does("rm link.txt; cat real.txt", ("real.txt",), deletes=("link.txt",)),
    files={"real.txt": "one\n"}, links={"link.txt": "real.txt", "dangling.txt": "made.txt"},
    missed={"sweep": "names through symbolic links: it tells the real ones"},
)  # fmt: skip
program(
    "other_calls_through_a_symlink", "links",
    does("cp a.txt link.txt", ("a.txt",), {"link.txt": [(2, 2)]},
         swept=Effects(writes={"real.txt": [(2, 2)]})),
    does("truncate -s 4 link.txt", writes={"link.txt": None},
         swept=Effects(writes={"real.txt": None})),
    does("./run", ("run",), {"ran.txt": [(1, 1)]}),
    files={"a.txt": FIVE, "real.txt": FIVE.replace("two", "2"),
           "tool.sh": "#!/bin/sh\necho x > ran.txt\n"},
    links={"link.txt": "real.txt", "run": "tool.sh"},
    missed={"sweep": "names through symbolic links: it tells the real ones"},
)  # fmt: skip
program(
    "symlink_farm", "links",
    does("cat l1 folder/data.txt", ("l1", "folder/data.txt")),
    does("echo two >> l1", writes={"l1": [(2, 2)]},
         swept=Effects(writes={"store/data.txt": [(2, 2)]})),
    does("echo x > folder/new.txt", writes={"folder/new.txt": [(1, 1)]},
         swept=Effects(writes={"store/new.txt": [(1, 1)]})),
    does("sed -i --follow-symlinks s/one/ONE/ l2", ("l2",), {"store/data.txt": [(1, 1)]}),
    does("mv folder/new.txt folder/newer.txt", writes={"folder/newer.txt": [(1, 1)]},
         deletes=("folder/new.txt",),
         swept=Effects(writes={"store/newer.txt": [(1, 1)]}, deletes=("store/new.txt",))),
    does("rm folder/newer.txt", deletes=("folder/newer.txt",),
         swept=Effects(deletes=("store/newer.txt",))),
    files={"store/data.txt": "one\n"},
    links={"l1": "l2", "l2": "l3", "l3": "store/data.txt", "folder": "store"},
    missed={"sweep": "names through symbolic links: it tells the real ones"},
)  # fmt: skip

# Small file tools.

program(
    "touch", "file tools",
    does("touch new.txt", writes={"new.txt": None}),
    does("touch old.txt new.txt"),
    does("touch -c missing.txt"),
    does("chmod 700 old.txt; chown 0:0 old.txt || true"),
    files={"old.txt": "x\n"},
)  # fmt: skip
program(
    "truncate", "file tools",
    does("truncate -s 4 f.txt", writes={"f.txt": None}),
    does("truncate -s 0 f.txt", writes={"f.txt": None}),
    does("truncate -s 0 f.txt"),
    does("truncate -s 10 zeros.bin", writes={"zeros.bin": None}),
    files={"f.txt": "one\ntwo\n"},
)  # fmt: skip
program(
    "dd", "file tools",
    does("dd if=a.txt of=b.txt status=none", ("a.txt",), {"b.txt": [(1, 2)]}),
    does("printf ONE | dd of=b.txt conv=notrunc status=none", writes={"b.txt": [(1, 1)]}),
    # With `seek`, dd opens its output to read as well, but reads only what it cannot seek in.
    does("dd if=a.txt of=b.txt bs=4 skip=1 seek=2 status=none", ("a.txt",), {"b.txt": [(3, 3)]},
         traced=Effects(("a.txt", "b.txt"), {"b.txt": [(3, 3)]})),
    files={"a.txt": "one\ntwo\n"},
    missed=dict.fromkeys(LEVELS[:2], "that a file opened to read and write may not be read"),
)  # fmt: skip
program(
    "install", "file tools",
    does("install -D -m 755 tool.sh bin/tool", ("tool.sh",), {"bin/tool": [(1, 2)]}),
    does("install -m 755 tool.sh bin/tool", ("tool.sh",)),
    does("bin/tool", ("bin/tool",), {"ran.txt": [(1, 1)]}),
    files={"tool.sh": "#!/bin/sh\necho ran > ran.txt\n"},
)  # fmt: skip
program(
    "lock_file", "file tools",
    does("flock f.lock true", writes={"f.lock": None}),
    files={"a.txt": "a\n"}, needs=("flock",),
)  # fmt: skip
program(
    "killed_by_timeout", "file tools",
    does("timeout 0.3 sh -c 'cat a.txt > b.txt; sleep 9; echo x > c.txt'", ("a.txt",),
         {"b.txt": [(1, 1)]}, exit_code=124),
    files={"a.txt": "a\n"},
)  # fmt: skip
program(
    "tar", "file tools",
    does("tar cf d.tar d", ("d/x.txt", "d/sub/y.txt"), {"d.tar": None}),
    does("mkdir out && tar xf d.tar -C out", ("d.tar",),
         {"out/d/x.txt": [(1, 2)], "out/d/sub/y.txt": [(1, 1)]}),
    does("echo changed > d/x.txt", writes={"d/x.txt": [(1, 1)]}),
    does("tar xf d.tar", ("d.tar",), {"d/x.txt": [(1, 2)]}),
    does("tar czf d.tgz d", ("d/x.txt", "d/sub/y.txt"), {"d.tgz": None}),
    does("tar tf d.tgz", ("d.tgz",)),
    does("mkdir to; tar cf - d | (cd to && tar xf -)", ("d/x.txt", "d/sub/y.txt"),
         {"to/d/x.txt": [(1, 2)], "to/d/sub/y.txt": [(1, 1)]}),
    files={"d/x.txt": "x\nx2\n", "d/sub/y.txt": "y\n"},
)  # fmt: skip
program(
    "gzip", "file tools",
    does("gzip f.txt", ("f.txt",), {"f.txt.gz": None}, deletes=("f.txt",)),
    does("zcat f.txt.gz > copy.txt", ("f.txt.gz",), {"copy.txt": [(1, 5)]}),
    does("gunzip f.txt.gz", ("f.txt.gz",), {"f.txt": [(1, 5)]}, deletes=("f.txt.gz",)),
    does("gzip -k f.txt", ("f.txt",), {"f.txt.gz": None}),
    files={"f.txt": FIVE},
)  # fmt: skip

# git. What it reads depends on its index, so reads are compared where it must hash a file.

program(
    "git", "git",
    does("git init -q -b main . && git add . && git commit -qm first", ("a.txt", "b.txt")),
    does(
        "git checkout -q -b other && echo two >> a.txt && touch -d 2002-01-01 a.txt"
        " && git rm -q b.txt && git commit -qam second",
        ("a.txt",), {"a.txt": [(2, 2)]}, deletes=("b.txt",),
    ),
    does("git checkout -q main", None, {"a.txt": None, "b.txt": [(1, 1)]}),
    does("git checkout -q other", None, {"a.txt": [(2, 2)]}, deletes=("b.txt",)),
    does("sed -i s/one/uno/ a.txt", ("a.txt",), {"a.txt": [(1, 1)]}),
    does("git checkout -q -- a.txt", None, {"a.txt": [(1, 1)]}),
    does("git mv a.txt c.txt", None, {"c.txt": [(1, 2)]}, deletes=("a.txt",)),
    files={"a.txt": "one\n", "b.txt": "b\n"}, needs=("git",), ignored=".git/",
)  # fmt: skip

# Python.

program(
    "python_modes", "python",
    does(
        "python3 modes.py", ("modes.py", "r.txt", "ar.txt"),
        {"w.txt": [(1, 1)], "a.txt": [(2, 2)], "r.txt": [(2, 2)], "x.txt": [(1, 1)],
         "wr.txt": [(1, 1)], "ar.txt": [(2, 2)]},
    ),
    files={
        "modes.py": script("""
            with open("w.txt", "w") as file:
                file.write("new\\n")
            with open("a.txt", "a") as file:
                file.write("more\\n")
            with open("r.txt", "r+") as file:
                file.readline()
                file.seek(4)
                file.write("TWO\\n")
            with open("x.txt", "x") as file:
                file.write("new\\n")
            with open("wr.txt", "w+") as file:
                file.write("new\\n")
                file.seek(0)
                file.read()
            with open("ar.txt", "a+") as file:
                file.seek(0)
                file.write(file.read().upper())
            """),
        "w.txt": "old\n", "a.txt": "old\n", "r.txt": "one\ntwo\n", "wr.txt": "old\n",
        "ar.txt": "old\n",
    },
)  # fmt: skip
program(
    "python_replace", "python",
    does("python3 edit.py", ("edit.py", "app.conf"), {"app.conf": [(2, 2)]}),
    files={
        "edit.py": script("""
            import os
            from pathlib import Path
            text = Path("app.conf").read_text()
            Path("app.conf.tmp").write_text(text.replace("80", "8443"))
            os.replace("app.conf.tmp", "app.conf")
            """),
        "app.conf": "host=a\nport=80\n",
    },
)  # fmt: skip
program(
    "python_temporary_files", "python",
    does("python3 temp.py", ("temp.py",), {"kept.txt": [(1, 2)]}),
    files={
        "temp.py": script("""
            import os, tempfile
            with tempfile.NamedTemporaryFile("w", dir=".", delete=False) as file:
                file.write("one\\ntwo\\n")
            open(file.name).read()
            os.replace(file.name, "kept.txt")
            with tempfile.TemporaryFile("w+", dir=".") as file:
                file.write("nowhere")
            with tempfile.TemporaryDirectory(dir=".") as folder:
                open(f"{folder}/gone.txt", "w").write("gone")
            """),
    },
)  # fmt: skip
program(
    "python_mmap", "python",
    does("python3 map.py", ("map.py", "f.txt"), {"f.txt": [(2, 2)]}),
    files={
        "map.py": script("""
            import mmap
            with open("f.txt", "r+b") as file:
                memory = mmap.mmap(file.fileno(), 0)
            at = memory.find(b"two")
            memory[at : at + 3] = b"TWO"
            """),
        "f.txt": FIVE,
    },
)  # fmt: skip
program(
    "python_threads", "python",
    does("python3 threads.py", ("threads.py", *(f"in{n}.txt" for n in range(8))),
         {f"out{n}.txt": [(1, 1)] for n in range(8)}),
    files={
        "threads.py": script("""
            import threading
            def work(n):
                with open(f"in{n}.txt") as read, open(f"out{n}.txt", "w") as write:
                    write.write(read.read().upper())
            threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            """),
        **{f"in{n}.txt": f"text {n}\n" for n in range(8)},
    },
)  # fmt: skip
program(
    "python_multiprocessing", "python",
    does("python3 pool.py", ("pool.py", *(f"in{n}.txt" for n in range(4))),
         {f"out{n}.txt": [(1, 1)] for n in range(4)}),
    files={
        "pool.py": script("""
            from multiprocessing import Pool
            def work(n):
                with open(f"in{n}.txt") as read, open(f"out{n}.txt", "w") as write:
                    write.write(read.read().upper())
            if __name__ == "__main__":
                with Pool(2) as pool:
                    pool.map(work, range(4))
            """),
        **{f"in{n}.txt": f"text {n}\n" for n in range(4)},
    },
)  # fmt: skip
program(
    "python_subprocess", "python",
    does("python3 run.py", ("run.py", "sub/in.txt", "top.txt"),
         {"sub/out.txt": [(2, 2)], "copy.txt": [(1, 1)], "shell.txt": [(1, 1)]}),
    files={
        "run.py": script("""
            import os, subprocess
            subprocess.run(["sort", "-o", "out.txt", "in.txt"], cwd="sub", check=True)
            subprocess.run(["cp", "top.txt", "copy.txt"], check=True)
            subprocess.run("echo x > shell.txt", shell=True, check=True)
            os.waitpid(os.posix_spawnp("true", ["true"], os.environ), 0)
            """),
        "sub/in.txt": "b\na\n", "sub/out.txt": "a\n", "top.txt": "top\n",
    },
)  # fmt: skip
program(
    "python_reads_then_writes", "python",
    does("python3 edit.py", ("edit.py", "f.txt"), {"f.txt": [(3, 3)]}),
    does("python3 edit.py", ("edit.py", "f.txt")),
    files={
        "edit.py": script("""
            from pathlib import Path
            path = Path("f.txt")
            path.write_text(path.read_text().replace("three", "THREE"))
            """),
        "f.txt": FIVE,
    },
)  # fmt: skip
program(
    "python_writes_then_reads", "python",
    does("python3 make.py", ("make.py",), {"f.txt": [(1, 1)], "g.txt": [(1, 1)]}),
    files={
        "make.py": script("""
            import os
            from pathlib import Path
            Path("f.txt").write_text("new\\n")
            Path("f.txt").read_text()
            fd = os.open("g.txt", os.O_RDWR | os.O_CREAT)
            os.write(fd, b"new\\n")
            os.lseek(fd, 0, 0)
            os.read(fd, 10)
            """),
        "f.txt": "old\n",
    },
)  # fmt: skip
program(
    "python_import", "python",
    does("python3 main.py", ("main.py", "helper.py", "package/__init__.py")),
    # The second time the compiled modules, which are noise, are read in their place.
    does("python3 main.py", ("main.py",), probes=("helper.py", "package/__init__.py")),
    files={"main.py": "import helper\nimport package\n", "helper.py": "x = 1\n",
           "package/__init__.py": "y = 2\n"},
)  # fmt: skip
program(
    "python_folder_descriptors", "python",
    does("python3 at.py", ("at.py", "sub/in.txt"),
         {"sub/out.txt": [(1, 1)], "sub/new.txt": [(1, 1)], "other/here.txt": [(1, 1)]},
         deletes=("sub/old.txt", "sub/gone.txt")),
    files={
        "at.py": script("""
            import os
            sub = os.open("sub", os.O_RDONLY)
            os.chdir("other")
            os.read(os.open("in.txt", os.O_RDONLY, dir_fd=sub), 10)
            os.write(os.open("out.txt", os.O_WRONLY | os.O_CREAT, dir_fd=sub), b"out\\n")
            os.rename("old.txt", "new.txt", src_dir_fd=sub, dst_dir_fd=sub)
            os.unlink("gone.txt", dir_fd=sub)
            os.fchdir(os.open("../other", os.O_RDONLY | os.O_DIRECTORY))
            open("here.txt", "w").write("here\\n")
            """),
        "sub/in.txt": "in\n", "sub/old.txt": "old\n", "sub/gone.txt": "gone\n", "other/": "",
    },
)  # fmt: skip
program(
    "python_copies", "python",
    does(
        "python3 copies.py", ("copies.py", "a.txt", "tree/x.txt"),
        {"b.txt": [(1, 5)], "c.txt": [(1, 5)], "tree2/x.txt": [(1, 1)], "moved.txt": [(1, 1)]},
        deletes=("m.txt", "gone/x.txt"),
    ),
    files={
        "copies.py": script("""
            import os, shutil
            shutil.copy("a.txt", "b.txt")
            with open("a.txt", "rb") as source, open("c.txt", "wb") as target:
                while os.copy_file_range(source.fileno(), target.fileno(), 1000):
                    pass
            shutil.copytree("tree", "tree2")
            shutil.move("m.txt", "moved.txt")
            shutil.rmtree("gone")
            """),
        "a.txt": FIVE, "tree/x.txt": "x\n", "m.txt": "m\n", "gone/x.txt": "x\n",
    },
)  # fmt: skip
program(
    "python_nameless_file", "python",
    does("python3 tmpfile.py", ("tmpfile.py",), {"made.txt": [(1, 1)]}),
    files={
        "tmpfile.py": script("""
            import os
            folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
            fd = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o644)
            os.write(fd, b"made\\n")
            os.link(f"/proc/self/fd/{fd}", "made.txt", src_dir_fd=folder, follow_symlinks=True)
            open("made.txt").read()
            """),
    },
)  # fmt: skip
program(
    "python_exchange", "python",
    does("python3 swap.py a.txt b.txt", ("swap.py",), {"a.txt": [(2, 2)], "b.txt": [(2, 3)]}),
    does("python3 swap.py d e", ("swap.py",), {"d/y.txt": [(1, 1)], "e/x.txt": [(1, 1)]},
         deletes=("d/x.txt", "e/y.txt")),
    files={
        "swap.py": script("""
            import ctypes, os, sys
            a, b = map(os.fsencode, sys.argv[1:])
            assert ctypes.CDLL(None).renameat2(-100, a, -100, b, 2) == 0
            """),
        "a.txt": "same\na\na2\n", "b.txt": "same\nb\n", "d/x.txt": "x\n", "e/y.txt": "y\n",
    },
)  # fmt: skip
program(
    "python_openat2", "python",
    does("python3 open.py", ("open.py", "in.txt"), {"out.txt": [(1, 1)]}),
    files={
        "open.py": script("""
            import ctypes, os
            def openat2(name, flags):
                how = (ctypes.c_uint64 * 3)(flags, 0o644 if flags else 0, 0)
                return ctypes.CDLL(None).syscall(437, -100, name, ctypes.byref(how), 24)
            text = os.read(openat2(b"in.txt", os.O_RDONLY), 10)
            os.write(openat2(b"out.txt", os.O_WRONLY | os.O_CREAT), text)
            """),
        "in.txt": "in\n",
    },
)  # fmt: skip
program(
    "python_moves_a_folder_and_writes_in_it", "python",
    does("python3 move.py", ("move.py",), {"e/x.txt": [(1, 2)], "e/y.txt": [(1, 1)]},
         deletes=("d/x.txt", "d/y.txt")),
    files={
        "move.py": script("""
            import os
            os.rename("d", "e")
            open("e/x.txt", "a").write("more\\n")
            """),
        "d/x.txt": "x\n", "d/y.txt": "y\n",
    },
)  # fmt: skip
program(
    "python_unix_socket", "python",
    does("python3 sock.py", ("sock.py",)),
    files={
        "sock.py": "import socket\nsocket.socket(socket.AF_UNIX).bind('./s.sock')\n",
    },
)  # fmt: skip

# Node.

program(
    "node_sync", "node",
    does("node sync.js", ("sync.js", "in.txt"),
         {"out.txt": [(1, 2)], "log.txt": [(2, 2)], "copy.txt": [(1, 2)], "new.txt": [(1, 1)]},
         deletes=("old.txt", "gone.txt")),
    files={
        "sync.js": script("""
            const fs = require("fs");
            fs.writeFileSync("out.txt", fs.readFileSync("in.txt", "utf8").toUpperCase());
            fs.appendFileSync("log.txt", "done\\n");
            fs.copyFileSync("in.txt", "copy.txt");
            fs.renameSync("old.txt", "new.txt");
            fs.unlinkSync("gone.txt");
            fs.existsSync("missing.txt");
            """),
        "in.txt": "one\ntwo\n", "log.txt": "begun\n", "old.txt": "old\n", "gone.txt": "gone\n",
    },
    needs=("node",),
)  # fmt: skip
program(
    "node_async", "node",
    does("node async.js", ("async.js", *(f"in{n}.txt" for n in range(4))),
         {**{f"out{n}.txt": [(1, 1)] for n in range(4)}, "stream.txt": [(1, 2)],
          "child.txt": [(1, 1)], "new.txt": [(1, 1)]},
         deletes=("old.txt",)),
    files={
        "async.js": script("""
            const fs = require("fs");
            const { exec } = require("child_process");
            async function copy(n) {
              const text = await fs.promises.readFile(`in${n}.txt`, "utf8");
              await fs.promises.writeFile(`out${n}.txt.tmp`, text.toUpperCase());
              await fs.promises.rename(`out${n}.txt.tmp`, `out${n}.txt`);
            }
            [0, 1, 2, 3].forEach(copy);
            fs.promises.rename("old.txt", "new.txt");
            const stream = fs.createWriteStream("stream.txt");
            stream.write("one\\n");
            stream.end("two\\n");
            exec("echo child > child.txt");
            """),
        "old.txt": "old\n", **{f"in{n}.txt": f"text {n}\n" for n in range(4)},
    },
    needs=("node",),
)  # fmt: skip

program(
    "node_require", "node",
    does("node main.js", ("main.js", "mod.js", "data.json", "package.json"),
         {"out.txt": [(1, 1)]}),
    files={
        "main.js": 'require("fs").writeFileSync("out.txt", require("./mod") + "\\n");\n',
        "mod.js": 'module.exports = require("./data.json").x;\n',
        "data.json": '{"x": 1}\n', "package.json": '{"type": "commonjs"}\n',
    },
    needs=("node",),
)  # fmt: skip

# Compilers and make.

SOURCES = {
    "main.c": script("""
        #include <stdio.h>
        #include "util.h"
        int main(void) { printf("%d\\n", util()); }
        """),
    "util.c": '#include "util.h"\nint util(void) { return 41; }\n',
    "util.h": "int util(void);\n",
}
program(
    "gcc", "compilers and make",
    does("gcc main.c util.c -o app", ("main.c", "util.c", "util.h"), {"app": None}),
    does("./app > out.txt", ("app",), {"out.txt": [(1, 1)]}),
    does("gcc main.c util.c -o app", ("main.c", "util.c", "util.h")),
    files=SOURCES, needs=("gcc",),
)  # fmt: skip
program(
    "static_library", "compilers and make",
    does("gcc -c util.c", ("util.c", "util.h"), {"util.o": None}),
    does("ar rcs libutil.a util.o", ("util.o",), {"libutil.a": None}),
    does("gcc main.c -L. -lutil -o app", ("main.c", "util.h", "libutil.a"), {"app": None}),
    files=SOURCES, needs=("gcc", "ar"),
)  # fmt: skip
program(
    "make", "compilers and make",
    does("make -s", ("Makefile", "main.c", "util.c", "util.h"),
         {"main.o": None, "util.o": None, "app": None}),
    does("make -s", ("Makefile",), probes=("main.c", "util.c", "util.h", "app")),
    does("sed -i s/41/42/ util.c", ("util.c",), {"util.c": [(2, 2)]}),
    does("make -s", ("Makefile", "util.c", "util.h", "main.o"), {"util.o": None, "app": None}),
    does("make -s clean", ("Makefile",), deletes=("app", "main.o", "util.o")),
    files={
        "Makefile": script("""
            app: main.o util.o
            \tgcc -o app main.o util.o
            main.o: main.c util.h
            \tgcc -c main.c
            util.o: util.c util.h
            \tgcc -c util.c
            clean:
            \trm -f app main.o util.o
            """),
        **SOURCES,
    },
    needs=("gcc", "make"),
)  # fmt: skip
program(
    "go", "compilers and make",
    does("go run main.go > out.txt", ("main.go",), {"out.txt": [(1, 1)]}),
    files={"main.go": 'package main\n\nfunc main() { println("x"); print() }\n'}, needs=("go",),
)  # fmt: skip

# Databases and other tools.

program(
    "sqlite", "databases and sync",
    does("sqlite3 app.db 'create table t (x); insert into t values (7)'",
         writes={"app.db": None}),
    does("sqlite3 app.db 'select x from t' > out.txt", ("app.db",), {"out.txt": [(1, 1)]}),
    does("sqlite3 app.db 'insert into t values (8)'", ("app.db",), {"app.db": None}),
    does("sqlite3 app.db < query.sql", ("app.db", "query.sql")),
    files={"query.sql": "select count(*) from t;\n"}, needs=("sqlite3",),
)  # fmt: skip
program(
    "python_sqlite_with_a_log", "databases and sync",
    does("python3 fill.py", ("fill.py",), {"app.db": None}),
    does("python3 fill.py", ("fill.py", "app.db"), {"app.db": None}),
    files={
        "fill.py": script("""
            import sqlite3
            base = sqlite3.connect("app.db")
            base.execute("pragma journal_mode = wal")
            base.execute("create table if not exists t (x)")
            base.execute("insert into t values (1)")
            base.commit()
            base.execute("select * from t").fetchall()
            base.close()
            """),
    },
)  # fmt: skip
program(
    "rsync", "databases and sync",
    does("rsync -a src/ dst", ("src/a.txt",), {"dst/a.txt": [(1, 5)]}),
    files={"src/a.txt": FIVE}, needs=("rsync",),
)  # fmt: skip

# Scripts.

program(
    "shebang", "scripts",
    does("cp \"$(command -v bash)\" interp", writes={"interp": None}),
    does("./greet.sh", ("greet.sh", "interp", "words.txt"), {"said.txt": [(1, 1)]}),
    does("cd sub && ../greet.sh", ("greet.sh", "interp", "sub/words.txt"),
         {"sub/said.txt": [(1, 1)]}),
    files={"greet.sh": "#!@ROOT@/interp\ncat words.txt > said.txt\n", "words.txt": "hello\n",
           "sub/words.txt": "hi\n"},
)  # fmt: skip
program(
    "sourced_script", "scripts",
    does(". ./lib.sh && save a.txt", ("lib.sh",), {"a.txt": [(1, 1)]}),
    does("save b.txt", writes={"b.txt": [(1, 1)]}),
    files={"lib.sh": 'save() { echo saved > "$1"; }\n'},
)  # fmt: skip
program(
    "nested_scripts", "scripts",
    does("bash outer.sh", ("outer.sh", "inner.sh", "sub/in.txt"), {"sub/out.txt": [(1, 1)]}),
    does("PATH=$PWD:$PATH outer.sh", ("outer.sh", "inner.sh", "sub/in.txt")),
    files={"outer.sh": "#!/bin/sh\ncd sub && bash ../inner.sh\n",
           "inner.sh": "cat in.txt > out.txt\n", "sub/in.txt": "in\n"},
)  # fmt: skip
program(
    "argument_list", "scripts",
    does(("cp", "a.txt", "b.txt"), ("a.txt",), {"b.txt": [(1, 1)]}),
    does("echo more >> b.txt", writes={"b.txt": [(2, 2)]}),
    does(("sh", "-c", "cd sub; cat x.txt > y.txt"), ("sub/x.txt",), {"sub/y.txt": [(1, 1)]}),
    does(("./run.sh",), ("run.sh",), {"ran.txt": [(1, 1)]}),
    files={"a.txt": "a\n", "sub/x.txt": "x\n", "run.sh": "#!/bin/sh\necho x > ran.txt\n"},
)  # fmt: skip
program(
    "exit", "scripts",
    does("echo a > a.txt; exit 3", writes={"a.txt": [(1, 1)]}, exit_code=3),
    does("cat a.txt > b.txt", ("a.txt",), {"b.txt": [(1, 1)]}, exit_code=0),
    does("(exit 4)", exit_code=4),
    does("trap 'echo bye > bye.txt' EXIT; exit 0", writes={"bye.txt": [(1, 1)]}, exit_code=0),
    does("cat bye.txt", ("bye.txt",)),
)  # fmt: skip
program(
    "syntax_error", "scripts",
    does("echo a > a.txt; if"),
    # bash reads and runs one complete command after the other.
    does("echo b > b.txt\nif", writes={"b.txt": [(1, 1)]}),
    does("echo 'unfinished > c.txt"),
    does("echo d > d.txt", writes={"d.txt": [(1, 1)]}, exit_code=0),
)  # fmt: skip
program(
    "set_e", "scripts",
    does("set -e; echo a > a.txt; false; echo b > b.txt", writes={"a.txt": [(1, 1)]},
         exit_code=1),
    does("false; cat a.txt > c.txt", ("a.txt",), {"c.txt": [(1, 1)]}, exit_code=0),
)  # fmt: skip
program(
    "exec_of_a_program", "scripts",
    does("exec cat a.txt > b.txt", ("a.txt",), {"b.txt": [(1, 1)]}, exit_code=0),
    does("cat b.txt", ("b.txt",)),
    files={"a.txt": "a\n"},
)  # fmt: skip

# Background.

LATE = "until [ -e ../go ]; do sleep 0.02; done; echo late >> f.txt; touch ../done"
PROMPT = "touch ../go; until [ -e ../done ]; do sleep 0.02; done"
program(
    "background_job", "background",
    does("echo now > g.txt & wait; cat g.txt", writes={"g.txt": [(1, 1)]}),
    does(f"({LATE}) &", writes={"f.txt": [(2, 2)]}, swept=Effects()),
    does(PROMPT, swept=Effects(writes={"f.txt": [(2, 2)]})),
    does("wait; cat f.txt", ("f.txt",)),
    files={"f.txt": "early\n"},
    missed={"sweep": "a background job's writes, which count for the command that runs then"},
)  # fmt: skip
program(
    "daemon", "background",
    does(f"(setsid sh -c '{LATE}' > /dev/null 2>&1 &)", writes={"f.txt": [(2, 2)]},
         swept=Effects()),
    does(PROMPT, swept=Effects(writes={"f.txt": [(2, 2)]})),
    files={"f.txt": "early\n"},
    missed={"sweep": "a background job's writes, which count for the command that runs then"},
)  # fmt: skip
program(
    "background_job_between_commands", "background",
    does(f"({LATE}) &", writes={"f.txt": [(2, 2)]}, is_followed_by_late_work=True,
         swept=Effects()),
    does("cat f.txt", ("f.txt",)),
    files={"f.txt": "early\n"},
    missed={"sweep": "writes between two commands, which count for none"},
)  # fmt: skip
program(
    "background_job_that_reads", "background",
    does("(until [ -e ../go ]; do sleep 0.02; done; cat a.txt > ../a; touch ../done) &",
         ("a.txt",)),
    does(PROMPT),
    files={"a.txt": "a\n"},
)  # fmt: skip

# Ports.

program(
    "server_and_client", "ports and processes",
    does(
        "python3 -u -m http.server --bind 127.0.0.1 @PORT@ > ../log 2>&1 &"
        " until grep -q Serving ../log; do sleep 0.02; done",
        ("a.txt",), opens_port=True, started=("python3",),
    ),
    does("curl -s --noproxy '*' http://127.0.0.1:@PORT@/a.txt > got.txt",
         writes={"got.txt": [(1, 2)]}, uses_port=True, started=()),
    does("exec 9<> /dev/tcp/127.0.0.1/@PORT@ && exec 9>&-", uses_port=True, started=()),
    does("python3 -c \"import socket; socket.socket().bind(('127.0.0.1', @PORT@))\"",
         exit_code=1),
    files={"a.txt": "one\ntwo\n"}, needs=("curl",),
    missed={"sweep": "the ports that a command uses"},
)  # fmt: skip
program(
    "short_server", "ports and processes",
    does("python3 echo.py", ("echo.py",), {"got.txt": [(1, 1)]},
         opens_port=True, closes_port=True, uses_port=True),
    files={
        "echo.py": script("""
            import socket, threading
            server = socket.create_server(("127.0.0.1", @PORT@))
            def answer():
                server.accept()[0].sendall(b"hello\\n")
            threading.Thread(target=answer).start()
            with socket.create_connection(("127.0.0.1", @PORT@)) as client:
                open("got.txt", "wb").write(client.recv(100))
            """),
    },
    missed={"sweep": "ports that are closed again before the command ends"},
)  # fmt: skip

# Probes.

program(
    "failed_opens", "probes",
    does("cat missing.txt nowhere/missing.txt", probes=("missing.txt", "nowhere/missing.txt"),
         exit_code=1),
    does("cat < gone.txt", probes=("gone.txt",), exit_code=1),
    does("./missing.sh", probes=("missing.sh",), exit_code=127),
    does("cat dangling.txt", probes=("dangling.txt",), exit_code=1),
    links={"dangling.txt": "nowhere.txt"},
)  # fmt: skip
program(
    "tests_and_listings", "probes",
    does("test -f a.txt && [ -e sub/b.txt ] && [[ ! -d c ]]", probes=("a.txt", "sub/b.txt", "c"),
         exit_code=0),
    does("stat a.txt; ls; ls -lR .", probes=("a.txt",)),
    does("find . -type f; du -s .; echo *"),
    files={"a.txt": "a\n", "sub/b.txt": "b\n"},
)  # fmt: skip
program(
    "grep_reads_what_it_searches", "probes",
    does("grep -rl needle . > ../hits", ("a.txt", "sub/b.txt")),
    does("grep -q needle a.txt", ("a.txt",), exit_code=1),
    files={"a.txt": "hay\n", "sub/b.txt": "needle\n"},
)  # fmt: skip
program(
    "folder_that_is_gone_later", "probes",
    does("cat sub; ls sub; python3 -c 'import os; os.open(\"sub\", os.O_RDONLY)'"),
    does("cat f.txt", ("f.txt",)),
    does("rm -r sub f.txt; mkdir f.txt; echo x > sub", writes={"sub": [(1, 1)]},
         deletes=("f.txt",)),
    files={"sub/": "", "f.txt": "f\n"},
)  # fmt: skip

# Names.

NAMES = {
    "spaces": " two  words .txt",
    "newline": "new\nline.txt",
    "quotes": 'it\'s "it" `x`.txt',
    "angle_brackets": "a<b>c.txt",
    "leading_dash": "-n.txt",
    "unicode": "naïve-☃-日本.txt",
    "not_utf8": "bad\udcff\udcfe.txt",
    "backslash": "back\\slash\\n.txt",
    "like_a_call": "a, b) = 3",
    "deleted": "f.txt (deleted)",
    "pattern": "[a]*?{b,c}$d.txt",
    "control": "\x01\x7f12\t.txt",
    "comment": "#f /*x*/.txt",
    "long": "n" * 251 + ".txt",
    "folder": "dir <1>/in ner.txt",
}


def names(kind: str, name: str) -> None:
    """Add a program that does to a file of this name whatever can be done to one."""
    quoted = shlex.quote(name)
    program(
        f"name_with_{kind}" if kind != "long" else "name_that_is_long", "names",
        does(f"cat -- {quoted} > copy.txt", (name,), {"copy.txt": [(1, 1)]}),
        does(f"echo more >> {quoted}", writes={name: [(2, 2)]}),
        does(f"mv -- {quoted} moved.txt", writes={"moved.txt": [(1, 2)]}, deletes=(name,)),
        does(f"cp -- moved.txt {quoted}", ("moved.txt",), {name: [(1, 2)]}),
        does(f"test -e {quoted}", probes=(name,), exit_code=0),
        does(f"rm -- {quoted}", deletes=(name,)),
        files={name: "text\n"},
    )  # fmt: skip


for _kind, _name in NAMES.items():
    names(_kind, _name)


def table() -> str:
    """Return a Markdown table of what each level sees of each family of programs."""
    rows = [
        "| programs | " + " | ".join(LEVELS) + " |",
        "| --- " * (len(LEVELS) + 1) + "|",
    ]
    for family, members in groupby(PROGRAMS, lambda each: each.family):
        found = list(members)
        cells = [f"{family} ({len(found)})", *(_cell(found, level) for level in LEVELS)]
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows) + "\n"


def _cell(members: list[Program], level: str) -> str:
    """Say what the level sees, and what it misses."""
    seen = "writes and deletes" if level == "sweep" else "all"
    notes = dict.fromkeys(each.missed[level] for each in members if level in each.missed)
    return f"{seen}, but for {'; '.join(notes)}" if notes else seen
