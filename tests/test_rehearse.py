"""Rehearsals: nothing that was answered is looked at, and claims that cannot come out otherwise are seen."""

from __future__ import annotations

import json
import random

import pytest

from prereg.cli.app import execute
from prereg.documents import check as documents_check
from prereg.errors import InputError
from prereg.project import Project
from prereg.rehearse import given_draw, read, rehearse

PROTOCOL = """
prereg: 1
id: trial
title: A trial
data:
  records: {records}
  arm: model
  unit: item
  {more}
metrics:
  accuracy: {{rate: correct, among: answered}}
  coverage: {{rate: answered, per: topic}}
  ece: {{ece: {{confidence: conf, label: correct}}}}
resampling: {{resamples: 50, seed: 1, stratify: topic}}
predictions:
  better: {{claim: "accuracy[a] > accuracy[b]"}}
  shares-are-shares: {{claim: "all(accuracy >= 0) and all(ece <= 1)", evidence: point}}
  better-than-chance: {{claim: "all(accuracy > 0.9)", evidence: point}}
  often: {{claim: "mean(coverage) > 0.2"}}
"""


def rows(outcomes, units=30, arms=("a", "b")):
    """CSV records with a given structure; `outcomes()` gives the cells of answered, correct, conf."""
    lines = ["model,item,topic,answered,correct,conf"]
    for arm in arms:
        lines += [f"{arm},q{i},{'xy'[i % 2]}," + ",".join(outcomes()) for i in range(units)]
    return "\n".join(lines) + "\n"


def honest(seed=1):
    draw = random.Random(seed)
    return lambda: (str(draw.random() < 0.8).lower(), str(draw.randrange(2)), f"{draw.random():.3f}")


def project_at(folder, text, more="", name="records.csv"):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    protocol = folder / "protocol.yaml"
    protocol.write_text(PROTOCOL.format(records=name, more=more))
    return Project.at(folder), protocol


def ended(folder, text, **more):
    project, protocol = project_at(folder, text)
    end = rehearse(project, protocol, draws=12, **more).end
    return {key: value for key, value in end.items() if key != "time"}


@pytest.mark.parametrize(
    "other",
    [
        honest(2),
        lambda: ("", "", ""),
        lambda: ("poison", "NaN", "1e999"),
        lambda: ("true", "true", "<script>"),
    ],
    ids=["other outcomes", "none", "poison", "texts"],
)
def test_records_of_equal_structure_rehearse_alike_whatever_was_answered_against_itself(tmp_path, other):
    assert ended(tmp_path / "one", rows(honest())) == ended(tmp_path / "two", rows(other))


def test_json_lines_rehearse_as_csv_does_against_itself(tmp_path):
    text = rows(honest())
    header, *lines = text.splitlines()
    names = header.split(",")
    records = [dict(zip(names, line.split(","), strict=True)) for line in lines]
    for record in records:
        record["conf"] = {"nested": [record["conf"]]}
    project, protocol = project_at(
        tmp_path / "json", "\n".join(map(json.dumps, records)) + "\n", name="records.jsonl"
    )
    end = rehearse(project, protocol, draws=12).end
    found = ended(tmp_path / "csv", text)
    assert end["predictions"] == found["predictions"]


def test_the_seed_alone_moves_the_draws(tmp_path):
    first = ended(tmp_path / "one", rows(honest()))
    assert ended(tmp_path / "two", rows(honest()), jobs=2) == first
    assert ended(tmp_path / "three", rows(honest()), seed=1) != first


def test_what_holds_by_construction_is_said(tmp_path):
    found = {p["id"]: p for p in ended(tmp_path / "one", rows(honest()))["predictions"]}
    assert found["shares-are-shares"]["constant"] == "held"
    assert found["better-than-chance"]["constant"] == "falsified"
    assert found["better"]["constant"] is None
    assert found["better"]["held"] + found["better"]["falsified"] < 12
    for p in found.values():
        assert p["held"] + p["falsified"] + sum(p["failed"].values()) == 12


def test_structure_is_read_and_outcomes_are_drawn(tmp_path):
    end = ended(tmp_path / "one", rows(honest()))
    assert end["read"] == ["model", "item", "topic"]
    assert [one["column"] for one in end["drawn"]] == ["answered", "correct", "conf"]
    said = {one["column"]: one["drawn"] for one in end["drawn"]}
    assert "true or false" in said["correct"]
    assert "uniform from 0 to 1" in said["conf"]


def test_a_column_that_is_counted_is_drawn_even_where_it_is_a_category(tmp_path):
    project, protocol = project_at(tmp_path, rows(honest()))
    protocol.write_text(protocol.read_text().replace("per: topic", "per: correct"))
    end = rehearse(project, protocol, draws=3).end
    assert "correct" not in end["read"]


def test_certified_implies_answered_in_every_draw_where_both_are_derived(tmp_path):
    project, protocol = project_at(
        tmp_path,
        "model,item,topic,grade,conf,correct\n"
        + "".join(f"{a},q{i},x,C,0.5,1\n" for a in "ab" for i in range(20)),
    )
    derive = '{answered: grade != "none", certified: grade == "C" or conf > 0.9}'
    protocol.write_text(protocol.read_text().replace("unit: item", f"unit: item\n  derive: {derive}"))
    end = rehearse(project, protocol, draws=20).end
    assert end["broken"] == {"draws": 0, "message": None}


def test_known_columns_are_read_and_given_ones_drawn_as_said(tmp_path):
    project, protocol = project_at(tmp_path, rows(honest()))
    end = rehearse(project, protocol, draws=5, known=["answered"], given=[given_draw("conf=0.9..0.95")]).end
    assert "answered" in end["read"]
    assert {"column": "conf", "drawn": "a number, uniform from 0.9 to 0.95"} in end["drawn"]
    with pytest.raises(InputError, match="did you mean `conf`"):
        rehearse(project, protocol, draws=5, known=["cnf"])
    with pytest.raises(InputError, match="lays the records out"):
        rehearse(project, protocol, draws=5, given=[given_draw("topic=x,y")])


@pytest.mark.parametrize("text", ["conf", "conf=", "=1..2", "conf=2..1", "conf=a..b"])
def test_a_malformed_draw_is_refused(text):
    with pytest.raises(InputError, match="--draw"):
        given_draw(text)


def test_draws_that_contradict_the_protocol_name_the_way_out(tmp_path):
    project, protocol = project_at(tmp_path, rows(honest()))
    protocol.write_text(protocol.read_text().replace("confidence: conf", "confidence: exp(conf)"))
    with pytest.raises(InputError, match="lies outside"):
        rehearse(project, protocol, draws=5)
    end = rehearse(project, protocol, draws=5, given=[given_draw("conf=-5..0")]).end
    assert end["judged"] == 5


def test_a_rehearsal_is_an_attempt_of_its_own_kind_and_no_run(tmp_path, capsys):
    _, protocol = project_at(tmp_path, rows(honest()))
    at = ["--root", str(tmp_path)]
    assert execute(["rehearse", str(protocol), "--draws", "4", "--json", *at]) == 0
    told = json.loads(capsys.readouterr().out)
    file = tmp_path / told["rehearsal"]
    start, end = read(file, file.name)
    assert start["kind"] == "rehearsal"
    assert end["outcome"] == "finished"
    documents_check("rehearsal", {"start": start, "end": end}, "x")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["protocol.yaml", "records.csv", "rehearsals"]
    assert execute(["run", *at]) == 4
    assert execute(["show", str(file), *at]) == 2
    assert "prereg-rehearsal" in capsys.readouterr().err


def test_a_refused_rehearsal_says_so_in_its_file(tmp_path):
    project, protocol = project_at(tmp_path, rows(honest()))
    protocol.write_text(protocol.read_text().replace("accuracy[a] >", "acuracy[a] >"))
    with pytest.raises(InputError, match="acuracy"):
        rehearse(project, protocol, draws=3)
    (file,) = (tmp_path / "rehearsals" / "trial").iterdir()
    assert read(file, file.name)[1]["outcome"] == "refused"


def test_a_stopped_rehearsal_leaves_its_start(tmp_path, monkeypatch):
    import prereg.rehearse as module

    project, protocol = project_at(tmp_path, rows(honest()))

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "compute", interrupted)
    with pytest.raises(KeyboardInterrupt):
        rehearse(project, protocol, draws=3)
    (file,) = (tmp_path / "rehearsals" / "trial").iterdir()
    assert read(file, file.name)[1]["outcome"] == "stopped"


def test_columns_that_only_say_which_records_are_meant_are_one_per_unit(tmp_path):
    project, protocol = project_at(tmp_path, rows(honest()).replace("conf", "hard", 1))
    text = protocol.read_text()
    text = text.replace("{rate: correct, among: answered}", '{rate: correct, among: hard == "yes"}')
    text = text.replace("  ece: {ece: {confidence: conf, label: correct}}\n", "").replace(
        " and all(ece <= 1)", ""
    )
    protocol.write_text(text)
    end = rehearse(project, protocol, draws=3).end
    assert {"column": "hard", "drawn": "one of yes, or something else in half, one per unit"} in [
        {**one, "drawn": one["drawn"].replace("`", "")} for one in end["drawn"]
    ]
