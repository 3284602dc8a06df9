"""A registration drawn for a reader: what is promised, before any result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prereg.cli.lines import NOT_PROVEN, amendment_lines, show_notes
from prereg.cli.sheet import Table, Text

if TYPE_CHECKING:
    from prereg.cli.sheet import Sheet
    from prereg.registration import Registration

_MOST_FILES = 10
_FIRST_FILES = 5


def show_registration(
    sheet: Sheet, registered: Registration, notes: list[dict[str, Any]] | None = None
) -> None:
    """A registration: what is promised, before any result."""
    protocol = registered.content["protocol"]
    sheet.print(Text(f"{protocol['id']}: {protocol['title']}", style="bold"))
    if protocol.get("question"):
        sheet.print(Text(protocol["question"]))
    sheet.print(Text(f"registered as {registered.digest}"))
    sheet.print(
        Text(
            f"on {registered.envelope.get('time', '?')} by prereg {registered.envelope.get('prereg', '?')}; "
            f"{_when_made(registered.content['data'])}"
        )
    )
    sheet.print()
    for line in _file_lines(registered.content["data"]):
        sheet.print(Text(line))
    for factor in registered.content["factors"]:
        values = factor["values"]
        shown = ", ".join(values[:8]) + (f" … ({len(values)})" if len(values) > 8 else "")
        sheet.print(Text(f"factor   {factor['name']}: {shown}"))
    split = registered.content["split"]
    if split:
        units: dict[str, int] = {}
        for entry in split["counts"]:
            units[entry["part"]] = units.get(entry["part"], 0) + entry["units"]
        sheet.print(Text("parts    " + ", ".join(f"{part}: {count} units" for part, count in units.items())))
    drawn = protocol["resampling"]
    if drawn:
        sheet.print(Text(f"resamples {drawn['resamples']}, seed {drawn['seed']}, level {drawn['level']:g}"))
    sheet.print()
    metrics = Table("Metrics")
    for name in ("metric", "kind", "parameters", "among", "part"):
        metrics.add_column(name)
    for m in protocol["metrics"]:
        parameters = ", ".join(f"{k}: {v}" for k, v in m["parameters"].items())
        metrics.add_row(m["name"], m["kind"], Text(parameters), Text(str(m["among"] or "")), m["part"] or "")
    sheet.print(metrics)
    sheet.print()
    table = Table("Predictions")
    for name in ("prediction", "claim", "evidence", "falsified if", "expected"):
        table.add_column(name)
    for p in protocol["predictions"]:
        evidence = p["evidence"]
        kind = evidence["kind"] if evidence["support"] is None else f"support {evidence['support']:g}"
        table.add_row(
            p["id"] + _each_of(p),
            Text(" ".join(p["claim"].split())),
            kind + (" (gate)" if p.get("gate") else ""),
            Text(p["falsified_if"] or "the opposite, by the same evidence"),
            p["anticipate"],
        )
    sheet.print(table)
    _also_registered(sheet, protocol)
    amends = registered.content.get("amends")
    if amends is not None:
        sheet.print()
        for line in amendment_lines(amends):
            sheet.print(Text(line))
    show_notes(sheet, notes or [], registered.digest)
    sheet.print()
    sheet.print(Text(f"Not proven: {NOT_PROVEN}."))


def _when_made(data: dict[str, Any]) -> str:
    """Whether there were records when the registration was locked."""
    if data.get("collector") is not None:
        return "records are made by the run"
    return "records did not exist when locked" if data.get("prospective") else "records existed when locked"


def _file_lines(data: dict[str, Any]) -> list[str]:
    """The record files, or what a collector starts from; of many the first few."""
    made = data.get("collector") is not None
    files = data["files"]
    shown = files if len(files) <= _MOST_FILES else files[:_FIRST_FILES]
    lines = []
    for entry in shown:
        rows = "" if made else f"  {entry['rows']} rows"
        lines.append(
            f"{'source ' if made else 'records'}  {entry['path']}{rows}  sha256 {entry['sha256'][:12]}…"
        )
    if len(shown) < len(files):
        lines.append(f"         … {len(files) - len(shown)} more files")
    return lines


def _each_of(prediction: dict[str, Any]) -> str:
    """` for each model, seed` where a prediction stands for several."""
    names = [pair["name"] for pair in prediction.get("each") or []]
    return f" for each {', '.join(names)}" if names else ""


def _also_registered(sheet: Sheet, protocol: dict[str, Any]) -> None:
    """What decides beside the predictions: exclusion, variants, outcomes."""
    lines = []
    if protocol["policies"].get("exclude"):
        lines.append(f"excluded where: {' '.join(protocol['policies']['exclude'].split())}")
    for variant in protocol.get("variants") or []:
        told = [f"{key} {variant[key]}" for key in ("where", "exclude", "samples") if variant.get(key)]
        told += [f"another `{item['name']}`" for key in ("metrics", "let") for item in variant.get(key) or []]
        lines.append(f"variant {variant['name']}: {'; '.join(' '.join(x.split()) for x in told)}")
    outcomes = protocol.get("outcomes") or []
    lines += [f"outcome: {' '.join(rule['when'].split())} -> {rule['then']}" for rule in outcomes]
    if lines:
        sheet.print()
    for line in lines:
        sheet.print(Text(line))
