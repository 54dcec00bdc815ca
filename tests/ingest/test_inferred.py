"""Inferred accesses are those that a person reads off the text, and nothing is ever guessed."""

import copy
import json
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollgraph.ingest import export, ingest
from rollgraph.ingest.inferred import Inferred, infer_accesses, infer_record
from rollgraph.queries import library

NOTHING = Inferred((), (), ())


def absolute(names: str) -> set[str]:
    return {name if name.startswith("/") else f"/w/{name}" for name in names.split()}


def check(text: str, reads: str = "", writes: str = "", deletes: str = "") -> None:
    found = infer_accesses(text, "/w")
    assert found is not None
    assert set(found.reads) == absolute(reads)
    assert set(found.writes) == absolute(writes)
    assert set(found.deletes) == absolute(deletes)


@pytest.mark.parametrize(
    ("text", "reads", "writes"),
    [
        ("echo hi > a", "", "a"),
        ("echo hi >> a", "", "a"),
        ("echo hi >| a", "", "a"),
        ("make &> log", "", "log"),
        ("make &>> log", "", "log"),
        ("make > log 2>&1", "", "log"),
        ("make >& log", "", "log"),
        ("make 2> err > out", "", "err out"),
        ("make > /dev/null 2>&1 < /dev/stdin", "", ""),
        ("echo hi >&2; echo hi 2>&-; read x <&3", "", ""),
        ("wc -l < in > out", "in", "out"),
        ("> a", "", "a"),
        (">a cat b", "b", "a"),
        ("cat 2>/dev/null a b", "a b", ""),
        ("cat a > b > c d", "a d", "b c"),
        ("while read line; do echo $line; done < in > out", "in", "out"),
        ("{ cat a; echo b; } > c", "a", "c"),
        ("(cat a; cat b) | sort > c", "a b", "c"),
        ("sort a > a", "a", "a"),
        ("grep x <<< 'some text' > out", "", "out"),
        ("diff <(sort a) <(sort b) > c", "a b", "c"),
        ("make | tee >(grep error > errors) > log", "", "errors log"),
    ],
)
def test_redirections_read_and_write(text, reads, writes):
    check(text, reads, writes)


@pytest.mark.parametrize(
    ("text", "reads", "writes"),
    [
        ("cat > a.py <<'EOF'\nprint('>b') # cat c\nEOF", "", "a.py"),
        ("cat <<EOF > a.py\nx = $(cat b) and $HOME\nEOF", "b", "a.py"),
        ("cat <<-EOF >> a 2> c\n\tx\n\tEOF\ncat d", "d", "a c"),
        ("tee a <<EOF\nhi\nEOF", "", "a"),
        ("cat > a <<EOF && cat b > c\nhi\nEOF\ncat d", "b d", "a c"),
        ("cd d && cat > a <<EOF && cat b\nhi\nEOF\ncat c", "d/b d/c", "d/a"),
        ("cat <<'EOF' | sed s/a/b/ > f\nhi\nEOF", "", "f"),
        ("python3 - <<EOF > out\nopen('x')\nEOF", "", "out"),
        ("if true; then cat > a <<E\nx\nE\nfi", "", "a"),
    ],
)
def test_a_here_document_fills_the_file_beside_it(text, reads, writes):
    check(text, reads, writes)


@pytest.mark.parametrize(
    ("text", "reads", "writes"),
    [
        ("cd d && cat a > b", "d/a", "d/b"),
        ("cd d && cat a | tee b; cat c", "d/a d/c", "d/b"),
        ("cd d; cd ..; cat a", "a", ""),
        ("cd d; cd -; cat a", "a", ""),
        ("cd /x/./y/../z; cat a ../b", "/x/z/a /x/b", ""),
        ("(cd d && cat a); cat b", "d/a b", ""),
        ("x=$(cd d; cat a); cat b", "d/a b", ""),
        ("cd d | true; cat a", "a", ""),
        ("cd d && python app.py > log & cat a", "d/app.py a", "d/log"),
        ("{ cd d; cat a; } > b; cat c", "d/a d/c", "b"),
        ("cd d 2> err; cat a", "d/a", "err"),
        ("cd d || exit 1; cat a", "d/a", ""),
        ("cd d || cat a; cat b", "d/b", ""),
        ("pushd d > /dev/null; cat a; popd; cat b /c", "d/a /c", ""),
        ("cd; cat a /b", "/b", ""),
        ("cd $somewhere; cat a /b", "/b", ""),
        ("cd ~/src && cat a /b", "/b", ""),
        ("if make; then cd d; cat a; else cat b; fi; cat c /e", "d/a b /e", ""),
        ("if cat a; then cat b; elif cat c; then cat d; fi; cat e", "a b c d e", ""),
        ("case $x in a) cd d; cat a;; *) cat b;; esac; cat /c", "d/a b /c", ""),
        ("f() { cd d; cat a; }; cat b", "d/a b", ""),
        ("! cat a && [ -f b ] && cat $(dirname c)/d", "a", ""),
    ],
)
def test_relative_names_follow_the_folder(text, reads, writes):
    check(text, reads, writes)


@pytest.mark.parametrize(
    ("text", "reads", "writes", "deletes"),
    [
        ("cp a b", "a", "b", ""),
        ("cp -r a b c/", "a b", "c/a c/b", ""),
        ("cp a b c", "a b", "c/a c/b", ""),
        ("cp x/a .", "x/a", "a", ""),
        ("cp -t d a b", "a b", "d/a d/b", ""),
        ("cp --target-directory=d a", "a", "d/a", ""),
        ("cp -r src/ dst/", "", "", ""),
        ("cp *.txt d", "", "", ""),
        ('cp "$x" b', "", "b", ""),
        ("mkdir -p d && cp a d", "a", "d/a", ""),
        ("mv a b", "", "b", "a"),
        ("mv a d/", "", "d/a", "a"),
        ("mv -f -- -a b", "", "b", "-a"),
        ("mv a b c ../d", "", "/d/a /d/b /d/c", "a b c"),
        ("mv -T a b/", "", "", "a"),
        ("rm -rf a b/c d/", "", "", "a b/c d"),
        ("rm -f *.o ~/x $y 'a'", "", "", "a"),
        ("unlink a", "", "", "a"),
        ("echo > a; rm a", "", "", "a"),
        ("rm a; echo > a", "", "a", ""),
        ("mkdir t; echo > t/a; cat t/a; rm -r t", "", "", "t"),
        ("jq .x f > f.tmp && mv f.tmp f", "f", "f", "f.tmp"),
        ("ln -sf ../x b", "", "b", ""),
        ("ln -s /x/y", "", "y", ""),
        ("install -D -m 755 a bin/b", "a", "bin/b", ""),
        ("install -d a b", "", "", ""),
        ("gzip a", "a", "a.gz", "a"),
        ("gzip -9k a", "a", "a.gz", ""),
        ("gzip -dc a.gz > a", "a.gz", "a", ""),
        ("gunzip a.gz", "a.gz", "a", "a.gz"),
        ("xz -d a.xz", "a.xz", "a", "a.xz"),
    ],
)
def test_copies_moves_and_removals_name_both_ends(text, reads, writes, deletes):
    check(text, reads, writes, deletes)


@pytest.mark.parametrize(
    ("text", "reads", "writes"),
    [
        ("sed -i s/a/b/ f", "f", "f"),
        ("sed -i.bak -e s/a/b/ -e s/c/d/ f g", "f g", "f g f.bak g.bak"),
        ("sed --in-place=~ s/a/b/ f", "f", "f f~"),
        ("sed -ni '1,3p' f", "f", "f"),
        ("sed -n 1,20p f g", "f g", ""),
        ("sed -i -f prog f", "prog f", "f"),
        ("sed '' f", "f", ""),
        ("perl -pi -e 's/a/b/' f g", "f g", "f g"),
        ("perl -pi.orig -e 's/a/b/' f", "f", "f f.orig"),
        ("perl -0777 -ne 'print' f", "f", ""),
        ("perl -e 'print' f", "", ""),
        ("echo x | tee -a a b > /dev/null", "", "a b"),
        ("touch -d yesterday a b", "", "a b"),
        ("truncate -s 0 a", "", "a"),
        ("dd if=a of=b bs=1M count=1", "a", "b"),
        ("dd if=/dev/zero of=b", "", "b"),
        ("patch f < fix.diff", "f fix.diff", "f"),
        ("patch -p1 -i fix.diff", "fix.diff", ""),
        ("patch f fix.diff -o g", "f fix.diff", "g"),
        ("sort -k 2,2 -o b a", "a", "b"),
        ("sort -u -t, -ob a c", "a c", "b"),
        ("uniq -c a b", "a", "b"),
        ("xxd -l 16 a", "a", ""),
        ("xxd -r -p a b", "a", "b"),
    ],
)
def test_edits_read_and_write(text, reads, writes):
    check(text, reads, writes)


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("cat -n a b - c", "a b c"),
        ("head -n 5 a", "a"),
        ("head -5 a", "a"),
        ("head -n5 -- -a", "-a"),
        ("tail -c +3 a", "a"),
        ("tail --lines 3 -f a", "a"),
        ("tail -n $count a", "a"),
        ("less +F a", "a"),
        ("wc -lc a b", "a b"),
        ("cut -d , -f 1 a", "a"),
        ("cut -d' ' -f1-3 a", "a"),
        ("grep -A 3 pat a", "a"),
        ("grep -rn --include='*.py' pat a b/", "a"),
        ("grep -e p -e q a b", "a b"),
        ("grep -f pats a", "pats a"),
        ('grep "$pat" a', "a"),
        ("egrep -c '^x|y$' a", "a"),
        ("rg -g '*.rs' -t rust pat a", "a"),
        ("awk -F, '{print $1 > \"x\"}' a n=3", "a"),
        ("awk -v x=1 -f prog a", "prog a"),
        ("jq -r '.a[]' a", "a"),
        ("jq --arg k v --slurpfile s b '.x' a", "a b"),
        ("diff -u -L x a b", "a b"),
        ("cmp a b 10 20", "a b"),
        ("md5sum a b && sha256sum c && file d", "a b c d"),
        ("od -A x -t x1z a | nl -b a | tac", "a"),
        ("source venv/bin/activate; . ./env.sh", "venv/bin/activate env.sh"),
        ("cat foo#bar # comment > x", "foo#bar"),
        ("cat /proc/cpuinfo /dev/null /sys/x", ""),
        ("cat . .. d/ /", ""),
        ("ls a; test -f b; [ -e c ]; stat d; find . -name e -exec cat {} \\;", ""),
        ("git add a && git commit -m b", ""),
    ],
)
def test_operands_are_read_and_values_of_options_are_not(text, reads):
    check(text, reads)


@pytest.mark.parametrize(
    ("text", "reads", "writes"),
    [
        ("python3 x.py in out", "x.py", ""),
        ("python3.11 -u -W error x.py", "x.py", ""),
        ("python -c 'open(\"a\")' a; python -m pytest b", "", ""),
        ("/usr/bin/python3 x.py > out", "x.py", "out"),
        ("node -r ts x.js; node -e 'x' y; ruby x.rb; Rscript x.R", "x.js x.rb x.R", ""),
        ("bash -x run.sh a; sh ./b.sh", "run.sh b.sh", ""),
        ("bash -lc 'cd d && cat a > b'; cat c", "d/a c", "d/b"),
        ('bash -c "echo \'" > a', "", "a"),
        ("eval 'cat a'; eval \"$x\"", "a", ""),
        ("./run --flag in > out", "run", "out"),
        ("bin/tool a", "bin/tool", ""),
        ("gcc -Wall -O2 -o p a.c b.c -lm -I inc", "a.c b.c", "p"),
        ("gcc a.c && ./a.out", "a.c", "a.out"),
        ("g++ -std=c++17 -c x/a.cpp b.cpp", "x/a.cpp b.cpp", "a.o b.o"),
        ("rustc -O m.rs; javac -d out M.java", "m.rs M.java", "m"),
        ("rustc m.rs -o n", "m.rs", "n"),
        ("go build -o srv main.go; go build ./...; go run x.go y", "main.go x.go", "srv"),
        ("tar czf a.tgz x y", "x y", "a.tgz"),
        ("tar -czvf a.tgz -C d x .", "d/x", "a.tgz"),
        ("tar xfz a.tgz -C d", "a.tgz", ""),
        ("tar -tf a.tar; tar --extract --file=b.tar m", "a.tar b.tar", ""),
        ("zip -r a d/ b", "b", "a.zip"),
        ("unzip -o a.zip -d d", "a.zip", ""),
        ("curl -sSL -H 'A: b' https://x/y -o a", "", "a"),
        ("curl -fsSLo a https://x/y; curl https://x/z; curl -o - u", "", "a"),
        ("wget -q -O a https://x/y; wget -qO- https://x/y > b", "", "a b"),
    ],
)
def test_programs_read_their_sources(text, reads, writes):
    check(text, reads, writes)


@pytest.mark.parametrize(
    ("text", "reads", "writes", "deletes"),
    [
        ("sudo cat a | sudo tee b", "a", "b", ""),
        ("sudo -u bob env A=b C= timeout -s KILL 5 nohup cat a", "a", "", ""),
        ("A=b cat a; C=$(cat c) D=e cat f", "a c f", "", ""),
        ("time -p cat a; nice -n 5 cat b; stdbuf -oL cat c; exec cat d", "a b c d", "", ""),
        ("exec > log 2>&1", "", "log", ""),
        ("command -v cat a; command cat b", "b", "", ""),
        ("ls | xargs -n 1 rm; ls | xargs -a list rm a", "list", "", "a"),
        ("ls | xargs grep -l pat > out", "", "out", ""),
        ("ls | xargs cp a b; ls | xargs -I{} cp {} c", "a b", "", ""),
    ],
)
def test_wrappers_are_seen_through(text, reads, writes, deletes):
    check(text, reads, writes, deletes)


@pytest.mark.parametrize(
    ("text", "reads", "writes"),
    [
        ('f=out.txt; echo > $f; cat ${f}.bak "$f.old"', "out.txt.bak out.txt.old", "out.txt"),
        ('export d=/x; cat $d/a "${d}/b"', "/x/a /x/b", ""),
        ("a='p q'; cat $a", "p q", ""),
        ("f=a; f=$(date); cat $f", "", ""),
        ("f=a; unset f; cat $f b", "b", ""),
        ("f=a; f+=b; cat $f", "", ""),
        ("f=a; read -r f; cat $f", "", ""),
        ("f=a; (f=b; cat $f); cat $f", "a b", ""),
        ("f=a; [ -n x ] && cat $f", "a", ""),
        ("if x; then f=a; else f=b; fi; cat $f c", "c", ""),
        ("for f in a b; do sed -i.x 1d $f; done; cat $f", "a b", "a b a.x b.x"),
        ("for f in a $(ls) *.c; do cat $f; done", "a", ""),
        ("for f in *.c; do cat $f > $f.out; done", "", ""),
        ("for ((i=0;i<3;i++)); do cat f$i; done", "", ""),
        ("i=1; ((i++)); echo > f$i", "", ""),
        ("i=1; n=$((i+1)); echo > f$n", "", ""),
        ('echo > $PWD/a; echo > "$(pwd)/b"', "", "a b"),
        ('cat $1 "$@" ${x:-y} ${#z} `ls` a{1,2} b{1..3} c? [d] ~/e ~', "", ""),
        ("cat \\*a '*b' \"?c\" d\\[1]", "*a *b ?c d[1]", ""),
        ("cat a=b c~ d,e @f %g", "a=b c~ d,e @f %g", ""),
        ("cat $'a' 'c'\"d\"e", "a cde", ""),
        ("cat $'a\\tb' $x/y", "", ""),
    ],
)
def test_words_are_expanded_where_they_are_known(text, reads, writes):
    check(text, reads, writes)


def test_quotes_and_escapes_are_resolved():
    found = infer_accesses("""cat 'a b' "c \\"d\\" \\e" f\\ g 'h'"i"\\j > "$x"k""", "/")
    assert found == Inferred(("/a b", '/c "d" \\e', "/f g", "/hij"), (), ())


def test_what_the_text_wrote_itself_is_no_read():
    check("echo > a; cat a b; cp b c; sort c", "b", "a c")
    check("cat a; echo > a", "a", "a")


def test_names_relative_to_no_known_folder_are_left_out():
    assert infer_accesses("cat a /b > c", None) == Inferred(("/b",), (), ())
    assert infer_accesses("cat a /b > c", "not/absolute") == Inferred(("/b",), (), ())
    assert infer_accesses("cd /x && cat a", None) == Inferred(("/x/a",), (), ())


@pytest.mark.parametrize("text", ["", "\n", "# cat a > b", "ls -la", "echo hi", "make -j 4"])
def test_a_text_that_names_no_file_touches_none(text):
    assert infer_accesses(text, "/w") == NOTHING


@pytest.mark.parametrize(
    "text",
    [
        "cat 'a",
        'echo "a > b',
        "cat a > b; if",
        "cat > a <<EOF\nhi",
        "cat a\0b",
        'echo "`a b`" "c"\nx="  <--- ` d e`"',
        "cat \ud800 > a",
        "cat a" + " b" * 40_000,
        "a && " * 11_000 + "b",
        "$(" * 50 + "a" + ")" * 50,
        "for a in 1 2 3; do " * 12 + "cat a;" + " done;" * 12,
    ],
    ids=lambda text: ascii(text[:20]),
)
def test_of_a_text_that_does_not_parse_or_never_ends_nothing_is_said(text):
    assert infer_accesses(text, "/w") is None


PIECES = st.sampled_from(
    [
        *(
            "cat ",
            "sed -i ",
            "tar cf ",
            "cd ",
            "cp ",
            "mv -t ",
            "rm ",
            "xargs ",
            "eval ",
            "bash -c ",
        ),
        *(
            "env ",
            "let ",
            "read ",
            "gcc -c ",
            "dd of=",
            "awk ",
            "jq --arg ",
            "zip ",
            "gzip ",
            "go ",
        ),
        *("a ", "b/ ", "-", "--", "=", "$x ", "${", "$(", "`", "'", '"', "\\", "\n", "*", "~", "{"),
        *("}", "(", ")", ";", "&", "|", "<", ">", "<<E", "E\n", "<(", "((", "if ", "then ", "fi "),
        *("for x in ", "do ", "done ", "case ", "esac ", "f() ", "x=", "[[ ", "]] ", "!", "2>&1 "),
        *("\0", "\ud800", "é", "\U0001f600", "\t", "\r\n", "#", "export ", "unset ", "1", "+="),
    ]
)


@given(st.lists(PIECES).map("".join) | st.text(), st.none() | st.just("/w") | st.text())
def test_no_text_is_a_trap(text, cwd):
    found = infer_accesses(text, cwd)
    assert found == infer_accesses(text, cwd)
    if found is not None:
        names = [*found.reads, *found.writes, *found.deletes]
        assert all(name.startswith("/") for name in names)
        assert not set(found.writes) & set(found.deletes)


NAMES = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0/\n\r"), min_size=1
).filter(lambda name: name not in {".", ".."} and not name.startswith(("-", "+")))


@given(NAMES)
def test_a_quoted_name_is_the_name(name):
    double = '"' + "".join(f"\\{c}" if c in '\\"$`' else c for c in name) + '"'
    for word in (shlex.quote(name), double):
        found = infer_accesses(f"cat {word}", "/w")
        assert found is None or found == Inferred((f"/w/{name}",), (), ())


def rollout(*commands):
    steps = [{"observation": "x"}, {"commands": [*commands]}, {"commands": None}, "no step"]
    return {"type": "rollout", "id": "r", "task": "t", "steps": steps}


def test_a_record_is_filled_with_whole_file_writes():
    command = {"text": "sed -i s/a/b/ f; rm g", "cwd": "/w", "exit_code": 0}
    assert infer_record(rollout(command)) == 1
    assert command == {
        "text": "sed -i s/a/b/ f; rm g",
        "cwd": "/w",
        "exit_code": 0,
        "reads": ["/w/f"],
        "writes": [{"path": "/w/f"}],
        "deletes": ["/w/g"],
        "inferred": True,
    }


@pytest.mark.parametrize("key", ["reads", "probes", "writes", "deletes", "ports", "processes"])
def test_a_traced_command_is_left_alone(key):
    command = {"text": "cd /x; cat a", key: []}
    after = {"text": "cat b"}
    assert infer_record(rollout(command, after)) == 1
    assert command == {"text": "cd /x; cat a", key: []}
    assert after["reads"] == ["/x/b"]


@pytest.mark.parametrize(
    ("former", "reads"),
    [
        ({"text": "cd d"}, ["/w/d/a"]),
        ({"text": "ls"}, ["/w/a"]),
        ({"text": "cd d", "cwd": "/x"}, ["/x/d/a"]),
        ({"text": "(cd d)"}, ["/w/a"]),
        ({"text": "cd $d"}, []),
        ({"text": "cd d; if"}, []),
        ({"text": "cd d", "exit_code": 1}, []),
        ({"text": "make", "exit_code": 1}, ["/w/a"]),
        ({"text": None}, []),
    ],
)
def test_a_command_starts_where_the_former_ended(former, reads):
    command = {"text": "cat a"}
    infer_record(rollout({"text": "cd /w", "exit_code": 0}, former, command))
    assert command["reads"] == reads
    assert "cwd" not in command


def test_a_command_of_which_nothing_can_be_said_stays_untraced():
    command = {"text": "cat 'a"}
    assert infer_record(rollout(command)) == 0
    assert command == {"text": "cat 'a"}


@pytest.mark.parametrize("record", [{}, {"steps": None}, {"steps": [1, {"commands": [2, {}]}]}])
def test_a_record_without_commands_is_left_alone(record):
    before = copy.deepcopy(record)
    assert infer_record(record) == 0
    assert record == before


@given(st.lists(st.lists(PIECES, max_size=6).map("".join), max_size=5))
def test_filling_a_record_again_changes_nothing(texts):
    record = rollout(*({"text": text} for text in texts))
    filled = infer_record(record)
    once = copy.deepcopy(record)
    assert filled <= len(texts)
    assert infer_record(record) == 0
    assert record == once


TEXTS = [{"commands": [{"text": "cat a > b", "cwd": "/w"}, {"text": "true", "reads": ["/w/x"]}]}]
RECORD = {"type": "rollout", "id": "r", "task": "t", "steps": TEXTS}


def facts(store):
    rows = library.run(store, "commands").to_pylist()
    return [(row["traced"], row["inferred"], row["kind"], row["records"]) for row in rows]


def test_ingest_infers_only_where_it_is_asked_to_and_marks_it(store):
    ingest(store, [RECORD])
    assert facts(store) == [(False, False, "read", 0), (True, False, "read", 0)]
    report = ingest(store, [RECORD], inferred="add")
    assert report.notes == ["accesses of 1 commands are inferred, or were dropped"]
    assert facts(store) == [(True, True, "write", 1), (True, False, "read", 0)]
    (line,) = export(store)
    assert json.loads(line)["steps"][0]["commands"][0]["inferred"]


def test_inferred_accesses_can_be_left_out(store):
    marked = copy.deepcopy(RECORD)
    infer_record(marked)
    ingest(store, [marked])
    assert facts(store)[0] == (True, True, "write", 1)
    ingest(store, [marked], inferred="drop")
    assert facts(store)[0] == (False, False, "read", 0)
    (line,) = export(store)
    assert json.loads(line) == RECORD
