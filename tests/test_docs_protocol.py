"""docs/protocol.md against the tool: keys, defaults and choices of its tables, and `check` on every example."""

from __future__ import annotations

import json
import re
from dataclasses import MISSING
from itertools import product
from pathlib import Path

import pytest
import yaml

from prereg import protocol
from prereg.check import check
from prereg.collect import COLLECTORS
from prereg.dataclass import fields
from prereg.errors import InputError
from prereg.formats import read_yaml
from prereg.metrics import KINDS
from prereg.outcomes import FUNCTIONS
from prereg.project import Project
from prereg.prose import PLACEHOLDER
from prereg.resolve.metrics import COMMON, SHOWN
from prereg.schema import protocol_schema
from prereg.validation import validator
from registrations import csv_text

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")
SCHEMA = protocol_schema()
METRIC = SCHEMA["properties"]["metrics"]["additionalProperties"]["properties"]
CATEGORIES = [name for name, kind in KINDS.items() if kind.parameter("groups")]

# Heading -> the section it documents, and what a section of this kind holds at least.
SECTIONS = {
    "Top level": (
        protocol.Protocol,
        {
            "prereg": 1, "id": "a", "title": "A", "data": {"records": "r.csv", "arm": "a", "unit": "u"}, "metrics": {},
            "predictions": {},
        },
    ),
    "data": (protocol.Data, {"arm": "a", "unit": "u", "records": "r.csv"}),
    "split": (protocol.Split, {"parts": {"all": 1.0}, "seed": 0}),
    "policies": (protocol.Policies, {}),
    "gate": (protocol.Gate, {"score": "s", "at_least": ["0.5"]}),
    "threshold": (
        protocol.Threshold,
        {
            "act_below": "s", "control": {"rate": "r"}, "candidates": {"part": "a"},
            "select": {"part": "b", "rules": "ltt"}, "budget": 0.1,
        },
    ),
    "control": (protocol.Control, {"rate": "r"}),
    "candidates": (protocol.Candidates, {"part": "a"}),
    "select": (protocol.Select, {"part": "b", "rules": "ltt"}),
    "resampling": (protocol.Resampling, {"resamples": 10, "seed": 0}),
    "predictions": (protocol.Prediction, {"claim": "a > b"}),
    "variants": (protocol.Variant, {"where": "true"}),
    "outcomes": (protocol.OutcomeRule, {"when": "held(a)", "then": "A"}),
}  # fmt: skip


def below(heading):
    """The text below a heading, up to the next one."""
    return re.split(rf"^#+ {re.escape(heading)}\n", TEXT, flags=re.MULTILINE)[1].split("\n#")[0]


def tables(text):
    """Each table as a list of rows, each row a dictionary by the words of the header."""
    out = []
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        lines = [[c.strip() for c in line.strip().strip("|").split("|")] for line in block.splitlines()]
        out.append([dict(zip(lines[0], cells, strict=True)) for cells in lines[2:]])
    return out


def coded(cell):
    return re.findall(r"`([^`\n]+)`", cell)


def section(heading):
    """The rows of the table of keys below a heading, by key."""
    rows = next(t for t in tables(below(heading)) if "key" in t[0])
    return {coded(row["key"])[0]: row for row in rows}


SHARED = section("What all kinds share")
KIND_ROWS = {coded(row["kind"])[0]: row for row in tables(below("Kinds"))[0]}


def option_rows(kind, name):
    """The rows that document an option of a kind: there should be one."""
    rows = [row for row in tables(below("Kinds"))[1] if coded(row["option"]) == [name]]
    return [r for r in rows if kind in (CATEGORIES if r["of"] == "kinds with `groups`" else coded(r["of"]))]


def enums(schema):
    """The words that a schema lists."""
    found = [str(x) for x in schema.get("enum", [])]
    for inner in schema.get("anyOf", []):
        found += enums(inner)
    return found + (enums(schema["items"]) if "items" in schema else [])


def read_as(model, tree):
    """A section from what stands in its place in a protocol."""
    return validator(model).validate_json(json.dumps(tree))


# Keys


def test_every_key_of_the_schema_is_on_the_page():
    named = set(coded(TEXT))
    keys = {*SCHEMA["properties"], *METRIC}
    for name, definition in SCHEMA["$defs"].items():
        keys |= set(definition["properties"]) if name != "Evidence" else set()
    for kind in METRIC.values():
        for shape in (kind, *kind.get("anyOf", [])):
            keys |= set(shape.get("properties", {}))
    assert len(keys) > 100
    assert keys - named == set()


@pytest.mark.parametrize("heading", SECTIONS)
def test_a_table_names_the_keys_of_its_section_and_no_others(heading):
    model, _ = SECTIONS[heading]
    assert list(section(heading)) == [f.name for f in fields(model)]


def test_every_section_of_the_schema_has_its_table():
    named = {model.__name__ for model, _ in SECTIONS.values()} - {"Protocol"}
    assert {*SCHEMA["$defs"]} - {"Evidence"} == named


def test_the_tables_of_metrics_name_what_there_is():
    assert list(KIND_ROWS) == [*KINDS, "value"]
    assert set(SHARED) == set(COMMON)
    assert set(METRIC) <= {*KIND_ROWS, *SHARED}
    assert coded(SHARED["show"]["takes"]) == list(SHOWN)
    for name, kind in KINDS.items():
        assert coded(KIND_ROWS[name]["parameters"]) == [p.name for p in kind.parameters]
    options = {(k, p.name) for k, kind in KINDS.items() for p in kind.parameters if not p.of_rows}
    documented = tables(below("Kinds"))[1]
    assert {coded(row["option"])[0] for row in documented} == {name for _, name in options}
    assert all(len(option_rows(kind, name)) == 1 for kind, name in options)
    assert sum(len(CATEGORIES if "kinds" in r["of"] else coded(r["of"])) for r in documented) == len(options)


# Defaults, choices and bounds


@pytest.mark.parametrize("heading", SECTIONS)
def test_defaults_of_the_tables_are_those_of_the_models(heading):
    model, least = SECTIONS[heading]
    read = read_as(model, least)
    defaults = {f.name: f.default for f in fields(model) if f.default_factory is MISSING}
    for key, row in section(heading).items():
        if defaults.get(key) is MISSING:
            assert row["default"] == "required"
            continue
        assert row["default"] != "required"
        (written,) = coded(row["default"])
        bare = {k: v for k, v in least.items() if k != key}
        given = {**bare, key: yaml.safe_load(written)}
        if bare == least:
            assert read_as(model, given) == read, key
        else:  # one of two keys, of which one must be given
            assert (written, defaults[key]) == ("null", None)


@pytest.mark.parametrize("heading", SECTIONS)
def test_words_of_the_tables_are_those_of_the_schema(heading):
    model, _ = SECTIONS[heading]
    properties = (SCHEMA["$defs"].get(model.__name__) or SCHEMA)["properties"]
    for key, row in section(heading).items():
        words = enums(properties[key])
        assert words == [w for w in coded(row["takes"]) if w in words], key


def test_options_have_the_defaults_choices_and_bounds_of_the_kinds():
    for name, kind in KINDS.items():
        for p in kind.parameters:
            if p.of_rows:
                continue
            (row,) = option_rows(name, p.name)
            assert row["default"] == ("required" if p.required else f"`{p.default}`")
            if p.kind == "choice":
                assert tuple(coded(row["takes"])) == p.choices
            else:
                low = f"above {p.least:g}" if p.open_below else f"{p.least:g}"
                assert row["takes"].replace(",", "") == f"{low} to {p.most:.10g}"


def test_kinds_tell_their_range_and_when_they_are_undefined():
    for name, kind in KINDS.items():
        low, high = kind.range_of({p.name: p.default for p in kind.parameters})
        said = {"-inf": "any", "0": "0 up" if high > 1 else "0 to 1", "-1": "-1 to 1"}[f"{low:g}"]
        assert KIND_ROWS[name]["range"].split(";")[0] == said
        reasons = set(re.findall(r"\((\w+)\)", kind.undefined_when))
        assert set(coded(KIND_ROWS[name]["undefined"])) - {"among"} == reasons
        assert KIND_ROWS[name]["undefined"].startswith("never") == kind.undefined_when.startswith("never")


def test_required_and_optional_parameters_are_told():
    required = {p.name for kind in KINDS.values() for p in kind.parameters if p.of_rows and p.required}
    assert required == {"groups", "raters"}
    assert re.search(r"^`groups` .* and `raters` .* are required\.$", TEXT, re.MULTILINE)
    optional = {(k, p.name) for k, kind in KINDS.items() for p in kind.parameters if p.optional}
    found = {
        (k, n) for k, row in KIND_ROWS.items() for n in re.findall(r"`(\w+)` \(optional\)", row["parameters"])
    }
    assert found == optional


def test_small_tables_and_lists_are_complete():
    of_samples, *_ = (t for t in tables(below("data")) if "one unit counts" in t[0])
    words = enums(SCHEMA["$defs"]["Data"]["properties"]["samples"])
    assert [w for row in of_samples for w in coded(row["`samples`"])] == words
    (conditions,) = (t for t in tables(below("outcomes")) if "in a condition" in t[0])
    told = [m for row in conditions for m in re.findall(r"`(\w+)\(id\)`", row["in a condition"])]
    assert tuple(told) == FUNCTIONS
    (line,) = re.findall(r"^Placeholders \((.*?)\) in", TEXT, re.MULTILINE)
    assert all(PLACEHOLDER.fullmatch(word) for word in coded(line))
    assert set(COLLECTORS) <= set(coded(section("data")["collect"]["meaning"]))


def test_links_lead_to_headings():
    for target in re.findall(r"\]\(([^)]+)\)", TEXT):
        path, _, anchor = target.partition("#")
        text = (ROOT / "docs" / path).read_text(encoding="utf-8") if path else TEXT
        headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
        known = {re.sub(r"[^\w -]", "", h).strip().lower().replace(" ", "-") for h in headings}
        assert not anchor or anchor in known, target


# Examples

EXAMPLES = [
    (m[1], TEXT[: m.start()].count("\n") + 2) for m in re.finditer(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
]
BASE = {
    "prereg": 1,
    "id": "base",
    "title": "Two models and one that guesses",
    "data": {"records": "records.csv", "arm": "model", "unit": "item"},
    "metrics": {"accuracy": {"rate": "correct"}},
    "resampling": {"resamples": 400, "seed": 0},
    "predictions": {"base": {"claim": "mean(accuracy) > 0.3"}},
}
RIGHT = {"old": 20, "new": 36, "random": 14}


def merged(base, fragment):
    """A mapping over another: mappings key by key, everything else replaced."""
    out = dict(base)
    for key, value in fragment.items():
        below_ = out.get(key)
        out[key] = merged(below_, value) if isinstance(below_, dict) and isinstance(value, dict) else value
    return out


def records(samples):
    """Of 48 items the models get 20, 36 and 14 right, surer where they are; every column a fragment may name."""
    for (model, right), i, k in product(RIGHT.items(), range(48), range(1, samples + 1)):
        place = i * 29 % 48
        correct, answered = place < right + k - 1, place % 7 != 3
        yield {
            "model": model, "item": f"i{i:02}", "k": k, "correct": int(correct), "answered": answered,
            "certified": answered and correct, "confidence": round(1 - (place + 3 * k) / 60, 2),
            "difficulty": place / 48, "label": int(i % 3 > 0), "seconds": (i * k) % 11,
            "topic": "xyz"[i % 3], "fold": ("fit", "test")[i % 2],
        }  # fmt: skip


def checked(fragment, folder):
    """`check` of the base protocol with a fragment in it."""
    samples = 3 if "sample" in fragment.get("data", {}) else 1
    (folder / "records.csv").write_text(csv_text(records(samples)), encoding="utf-8")
    # JSON is YAML
    (folder / "base.yaml").write_text(json.dumps(merged(BASE, fragment), indent=1), encoding="utf-8")
    return check(Project(folder), folder / "base.yaml")


def fragment_of(text, folder):
    (folder / "fragment.yaml").write_text(text, encoding="utf-8")
    return read_yaml(folder / "fragment.yaml").tree


@pytest.mark.parametrize("text", [pytest.param(text, id=f"line {line}") for text, line in EXAMPLES])
def test_every_example_passes_check(text, tmp_path):
    fragment = fragment_of(text, tmp_path)
    assert set(fragment) <= set(BASE) | set(section("Top level"))
    found = checked(fragment, tmp_path)
    assert [p.message for p in found.warnings if "no outcome covers" in p.message] == []


def test_a_fragment_with_a_wrong_word_does_not_pass(tmp_path):
    checked({}, tmp_path)
    for wrong in (
        "data: {guards: randon}",
        "metrics: {kept: {rate: answred}}",
        "predictions: {better: {claim: 'accuracy[new] > accuracy[old]', given: later}}",
        "outcomes: [{when: held(bas), then: A}]",
    ):
        with pytest.raises(InputError):
            checked(fragment_of(wrong, tmp_path), tmp_path)


def test_the_page_shows_every_section_and_the_rarer_keys():
    shown = "".join(text for text, _ in EXAMPLES)
    top = {key for text, _ in EXAMPLES for key in yaml.safe_load(text)}
    assert set(section("Top level")) - top <= {"prereg", "id", "title", "question", "authors", "notes"}
    for key in (
        "guards",
        "prospective",
        "agree",
        "given",
        "gate: true",
        "each",
        "family",
        "where",
        "samples",
        "distinct",
    ):
        assert re.search(rf"\b{key}\b", shown)
