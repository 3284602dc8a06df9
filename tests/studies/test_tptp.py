"""The reader of problem files: what it reads, what it refuses, and the census of the library."""

from __future__ import annotations

import csv
import statistics
import sys
from collections import Counter

import pytest
import slow_logic as slow

from prereg.errors import InputError
from prereg.studies.logic.formulas import lengths, table, texts
from prereg.studies.logic.labels import Labels, header_labels, table_labels
from prereg.studies.logic.tptp import MAX_BYTES, parse_problem, read_problem


def conjecture(formula):
    return f"fof(c, conjecture, {formula})."


def core(formula):
    """The conjecture as core text."""
    problem = parse_problem(conjecture(formula))
    return texts(problem.formulas, problem.formulas.reached([problem.conjecture]))[problem.conjecture]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("p", "p"),
        ("( ( p ) )", "p"),
        ("~p", "~p"),
        ("~ ~ ~p", "~~~p"),
        ("p => $false", "~p"),
        ("p <= q", "(q => p)"),
        ("p <=> q", "((p => q) & (q => p))"),
        ("p <~> q", "~((p => q) & (q => p))"),
        ("p ~| q", "~(p | q)"),
        ("p ~& q", "~(p & q)"),
        ("p & q & r", "((p & q) & r)"),
        ("p | (q | r)", "(p | (q | r))"),
        ("~p & ~(q | r) => s", None),
        ("(~p & ~(q | r)) => $true", "((~p & ~(q | r)) => $true)"),
        ("'p' & p", "(p & p)"),
        ("'P' | 'it''s'", None),
        (r"'P q' | 'it\'s' | '\\'", r"(('P q' | 'it\'s') | '\\')"),
        ("'$true'", "'$true'"),
        ("p % a comment ) (\n /* and * another ( */ & q", "(p & q)"),
        ("fof & include", "(fof & include)"),
    ],
)
def test_formulas_come_out_in_the_core_by_hand(written, meant):
    if meant is None:
        with pytest.raises(InputError):
            core(written)
    else:
        assert core(written) == meant


def test_equal_formulas_are_one_row_by_hand():
    problem = parse_problem("fof(a, axiom, p & q). fof(b, axiom, (p & q)). " + conjecture("q | (p & q)"))
    assert problem.axioms == (2, 2)
    assert len(problem.formulas) == 4
    assert problem.letters == ("p", "q")


def test_double_negation_stays_by_hand():
    assert core("~~p => p") == "(~~p => p)"


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("", "x.p:", "empty"),
        ("% only a comment\n", "x.p:", "empty"),
        ("fof(a, axiom, p).", "x.p:", "no conjecture"),
        ("fof(c, conjecture, ( p & q ).", "x.p:1:29", "brackets balanced"),
        ("fof(c, conjecture, ( p & q.", "x.p:1:27", "bracket is still open at `.`"),
        ("fof(c, conjecture, ( p & q", "x.p:1:27", "still open at the end of the file"),
        ("fof(c, conjecture, p)).", "x.p:1:22", "brackets balanced"),
        ("fof(c, conjecture, p", "x.p:1:21", "the end of the file"),
        ("fof(c, conjecture, )).", "x.p:1:20", "a formula expected"),
        ("fof(c, conjecture, p &).", "x.p:1:23", "a formula expected"),
        ("fof(c, conjecture, p q).", "x.p:1:22", "not `q`"),
        ("fof(c, conjecture, p => q => r).", "x.p:1:27", "needs brackets"),
        ("fof(c, conjecture, p & q | r).", "x.p:1:26", "needs brackets"),
        ("fof(c, conjecture, p ~ q).", "x.p:1:22", "cannot stand between"),
        ("fof(c, conjecture, p ^ q).", "x.p:1:22", "means nothing"),
        ("fof(c, conjecture, p -> q).", "x.p:1:22", "means nothing"),
        ("fof(c, conjecture, p(a)).", "x.p:1:20", "has terms"),
        ("fof(c, conjecture, p = q).", "x.p:1:20", "has terms"),
        ("fof(c, conjecture, ! [X] : p).", "x.p:1:20", "first-order"),
        ("fof(c, conjecture, X).", "x.p:1:20", "first-order"),
        ("fof(c, conjecture, $distinct).", "x.p:1:20", "unknown constant"),
        ("fof(c, conjectur, p).", "x.p:1:8", "did you mean `conjecture`?"),
        ("fof(c, plain, p).", "x.p:1:8", "unknown role `plain`"),
        ("fof(c, conjecture, p, file(x, y)).", "x.p:1:21", "annotations"),
        ("include('Axioms/A.ax').", "x.p:1:1", "includes are not followed"),
        ("cnf(c, axiom, p).", "x.p:1:1", "only `fof`"),
        ("foo(c, axiom, p).", "x.p:1:1", "`fof(` expected"),
        ("fof(a, axiom, p).\nfof(a, conjecture, p).", "x.p:2:1", "the name `a` is used twice"),
        ("fof(a, axiom, p).\nfof('a', conjecture, p).", "x.p:2:1", "the name `a` is used twice"),
        ("fof(a, conjecture, p).\nfof(b, conjecture, p).", "x.p:2:1", "a second conjecture"),
        ("fof(c, conjecture, café).", "x.p:1:23", "not ASCII"),
        ("fof(c, conjecture, p\x00).", "x.p:1:21", "means nothing"),
        ("fof(c, conjecture, 'p).", "x.p:1:20", "never ends"),
        ("fof(c, conjecture, ''). ", "x.p:1:20", "empty"),
        ("/* fof(c, conjecture, p).", "x.p:1:1", "comment that never ends"),
        (conjecture("(" * 100_000 + "p" + ")" * 100_000), "x.p:1:20020", "nested deeper"),
        (conjecture("~" * 100_000 + "p"), "x.p:1:20020", "nested deeper"),
        (conjecture("(" * 100_000), "x.p:1:20020", "nested deeper"),
    ],
)
def test_a_malformed_file_is_one_line_with_its_place_by_hand(text, place, message):
    with pytest.raises(InputError) as caught:
        parse_problem(text.encode("latin-1"), "x.p")
    (problem,) = caught.value.problems
    assert str(problem).startswith(place)
    assert message in str(problem)
    assert "\n" not in str(problem)
    assert len(str(problem)) < 200


def test_a_file_that_is_too_large_or_absent_is_one_line_by_hand(tmp_path):
    path = tmp_path / "x.p"
    with pytest.raises(InputError, match=r"x\.p: cannot be read"):
        read_problem(path)
    path.write_bytes(b"%" * (MAX_BYTES + 1))
    with pytest.raises(InputError, match=r"x\.p: is larger than"):
        read_problem(path)


def test_deep_and_wide_formulas_are_read_at_the_default_recursion_limit_by_hand():
    assert sys.getrecursionlimit() <= 1000
    for depth in (4_202, 19_000):
        problem = parse_problem(conjecture("(p & " * depth + "q" + ")" * depth))
        assert len(problem.formulas) == depth + 2
        problem = parse_problem(conjecture("~" * depth + "p"))
        assert len(problem.formulas) == depth + 2
    assert len(parse_problem(conjecture("p | " * 50_000 + "q")).formulas) == 50_002


def test_any_byte_may_stand_in_a_comment_by_hand():
    assert parse_problem(b"% caf\xe9 \x00\n" + conjecture("p").encode()).letters == ("p",)


def test_lengths_are_those_of_the_texts_against_the_texts():
    formula = "((p <=> ~'Q q') <~> ($true ~| (r & p))) => ($false <= ~~(p ~& r))"
    problem = parse_problem(conjecture(formula))
    rows = problem.formulas.reached([problem.conjecture])
    written = texts(problem.formulas, rows)
    assert lengths(problem.formulas, rows) == {row: len(text) for row, text in written.items()}
    again = parse_problem(conjecture(written[problem.conjecture]))
    assert table(again.formulas, [again.conjecture])[0].count("p") == table(
        problem.formulas, [problem.conjecture]
    )[0].count("p")


def test_connectives_mean_what_the_slow_oracle_says():
    for connective in ("&", "|", "=>", "<=", "<=>", "<~>", "~|", "~&"):
        formula = (connective, ("~", "p"), (connective, "q", "p"))
        assert core(slow.tptp(formula)) == core(slow.tptp(slow.core(formula)))


@pytest.mark.parametrize(
    ("header", "labels"),
    [
        ("", Labels(None, None)),
        ("% Status (intuit.) : Theorem", Labels("theorem", "theorem")),
        ("% Status (intuit.) : Non-Theorem", Labels("non_theorem", None)),
        ("% Status (intuit.) : Unsolved", Labels(None, None)),
        ("% Status   : Theorem\n% Status (intuit.) : Non-Theorem", Labels("non_theorem", "theorem")),
        ("% Status   : CounterSatisfiable", Labels("non_theorem", "non_theorem")),
        ("% Status (other) : Whatever", Labels(None, None)),
        ("%   Statuses: none\n Status : Theorem", Labels(None, None)),
    ],
)
def test_two_status_lines_are_kept_apart_by_hand(header, labels):
    assert header_labels(header) == labels


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("% Status : Teorem", "did you mean `Theorem`?"),
        ("% Status : Theorem\n% Status : Theorem", "p:2: the status is given twice"),
        ("% Status : CounterSatisfiable\n% Status (intuit.) : Theorem", "cannot fail classically"),
    ],
)
def test_a_status_that_cannot_be_is_one_line_by_hand(header, message):
    with pytest.raises(InputError) as caught:
        header_labels(header, "p")
    assert message in str(caught.value)


def test_labels_of_a_table_by_hand(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("problem,intuit_status,classical_status\na,Theorem,\nb,Non-Theorem,Theorem\n")
    assert table_labels(path) == {"a": Labels("theorem", "theorem"), "b": Labels("non_theorem", "theorem")}
    with pytest.raises(InputError, match=r"labels\.csv:1: there is no column `status`"):
        table_labels(path, intuitionistic="status")
    path.write_text("problem,intuit_status,classical_status\na,Theorem,\na,Theorem,\n")
    with pytest.raises(InputError, match=r"labels\.csv:3: `a` is listed twice"):
        table_labels(path)


# The published numbers of the study this one follows, and the library's own documents.
def test_census_of_the_library_against_published_numbers(library):
    problems = library.problems.values()
    assert len(problems) == 274
    assert sum(len(problem.axioms) for problem in problems) == 2093
    assert sum(not problem.axioms for problem in problems) == 84
    assert statistics.median(len(problem.letters) for problem in problems) == 14
    assert max(len(problem.letters) for problem in problems) == 402
    assert sum(len(problem.letters) <= 16 for problem in problems) == 158
    labels = library.headers.values()
    constructive = Counter(label.intuitionistic for label in labels)
    assert constructive == {"theorem": 128, "non_theorem": 109, None: 37}
    assert Counter(label.classical for label in labels) == {"theorem": 142, "non_theorem": 1, None: 131}
    assert library.headers["SYN916+1"] == Labels("non_theorem", "non_theorem")
    # `$true` and `$false`.
    assert [name for name, problem in library.problems.items() if not problem.letters] == [
        "SYN915+1",
        "SYN916+1",
    ]


def test_every_problem_of_the_library_has_the_letters_and_axioms_of_the_table(library):
    with (library.folder / "labels.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["problem"]: row for row in csv.DictReader(file)}
    assert rows.keys() == library.problems.keys()
    for name, problem in library.problems.items():
        assert (len(problem.letters), len(problem.axioms)) == (
            int(rows[name]["atoms"]),
            int(rows[name]["axioms"]),
        )
    assert library.headers == library.table


# Twenty-three files differ between header and statistics document, three of them in the status.
def test_the_statistics_document_knows_three_labels_more(library):
    document = table_labels(library.folder / "labels.csv", intuitionistic="doc_status")
    more = [name for name, label in library.headers.items() if label != document[name]]
    assert more == ["SYJ208+1.018", "SYJ208+1.019", "SYJ208+1.020"]
    assert Counter(label.intuitionistic for label in document.values()) == {
        "theorem": 128,
        "non_theorem": 112,
        None: 34,
    }
