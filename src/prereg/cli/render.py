"""Registrations and ledgers drawn for a reader: surprises first, reasons always, nothing hidden."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING, Any

from prereg.cli.sheet import Table, Text
from prereg.differences import ABSENT, Change

if TYPE_CHECKING:
    from prereg.cli.sheet import Sheet
    from prereg.registration import Registration

NOT_PROVEN = (
    "that no other plan was registered elsewhere and dropped; "
    "that the records were not known when this was locked; "
    "anything about units, arms or metrics other than those registered"
)
TIES = re.compile(r" \(ties: \w+\)$")
MOST_TIES = 40
MOST_EXCLUDED = 20
MOST_FILES = 10
FIRST_FILES = 5
MOST_LEGS = 10
MOST_LEGS_ASKED = 100
_NOT_BY_LEGS = ("not_applicable", "not_measured")
"""Reasons for which no leg of a prediction says why it failed."""
_STYLE = {"held": "green", "failed": "yellow", "falsified": "red"}


def short(value: float | str | None) -> str:
    """A number for reading: four significant decimals, ⊥ where it is undefined."""
    if value is None:
        return "⊥"
    if isinstance(value, str):
        return value
    if value == int(value) and abs(value) < 1e6:
        return str(int(value))
    return f"{value:+.4f}" if abs(value) < 1e4 else f"{value:.6g}"


def verdict_text(entry: dict[str, Any]) -> Text:
    """`held`, `falsified`, or `failed (reason)`, coloured; `deviated` where an amendment touches it."""
    word = entry["verdict"]
    said = f"failed ({entry['reason']})" if word == "failed" else word
    said += ", deviated" if entry.get("deviated") else ""
    return Text(said, style=_STYLE.get(word, ""))


def _interval(entry: dict[str, Any]) -> str:
    interval = entry.get("interval")
    told = [] if interval is None else [f"[{short(interval[0])}, {short(interval[1])}]"]
    if entry.get("p_adjusted") is not None:
        told.append(f"p = {entry['p_adjusted']:.2g} (Holm)")
    elif entry.get("p") is not None and interval is None:
        told.append(f"p = {entry['p']:.2g}")
    return " ".join(told)


def _count(value: Any) -> str:
    if value is None:
        return ""
    return " / ".join(map(str, value)) if isinstance(value, list) else str(value)


def _n(entry: dict[str, Any]) -> str:
    n, undefined = entry.get("n"), entry.get("n_undefined")
    if n is None and entry.get("legs"):
        return f"{len(entry['legs'])} legs"
    out = _count(n)
    left = undefined if isinstance(undefined, list) else [undefined or 0]
    return f"{out} ({_count(undefined)} undefined)" if any(left) else out


def ordered(predictions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Surprises first, the rest in registered order."""
    return sorted(predictions, key=lambda p: not p["surprise"])


def verdict_table(predictions: list[dict[str, Any]], title: str) -> Table:
    """One row per prediction."""
    table = Table(title)
    for name in ("prediction", "verdict", "expected", "d", "interval", "support", "n", "claim"):
        table.add_column(name, right=name in ("d", "support"))
    for entry in predictions:
        mark = "! " if entry["surprise"] else "  "
        point = (
            ""
            if entry.get("legs") is not None
            or (entry.get("left") is None and entry["point"] is None and entry["reason"] is None)
            else short(entry["point"])
        )
        table.add_row(
            mark + entry["id"],
            verdict_text(entry),
            entry["anticipated"],
            point,
            _interval(entry),
            "" if entry["support"] is None else f"{entry['support']:.3f}",
            _n(entry),
            Text(entry["claim"]),
        )
    return table


def leg_tables(predictions: list[dict[str, Any]], *, every: bool = False) -> list[tuple[Table, int]]:
    """A table of legs per prediction, and how many legs it leaves to the ledger.

    Without `every` only predictions that fell short of `held`, and of these the legs that fell short too.
    """
    out = []
    for entry in predictions:
        legs = entry.get("legs") or []
        if not every:
            legs = _deciding(entry)
        if legs:
            shown = legs[: MOST_LEGS_ASKED if every else MOST_LEGS]
            out.append((_leg_table(entry["id"], shown), len(entry["legs"]) - len(shown)))
    return out


def _deciding(entry: dict[str, Any]) -> list[dict[str, Any]]:
    """The legs to blame, falsified ones first; all of them where each was held, as below a `not`."""
    if entry["verdict"] == "held" or entry["reason"] in _NOT_BY_LEGS:
        return []
    legs: list[dict[str, Any]] = entry.get("legs") or []
    short_of = [leg for leg in legs if leg["verdict"] != "held"]
    return sorted(short_of or legs, key=lambda leg: leg["verdict"] != "falsified")


def _leg_table(name: str, legs: list[dict[str, Any]]) -> Table:
    """One row per leg, as the ledger holds it; columns that would stay empty are left out."""
    columns = {
        "  leg": [Text("  " + leg["claim"]) for leg in legs],
        "verdict": [verdict_text(leg) for leg in legs],
        "left": [Text(_side(leg, "left")) for leg in legs],
        "right": [Text(_side(leg, "right")) for leg in legs],
        "d": [Text(_side(leg, "point")) for leg in legs],
        "interval": [Text(_interval(leg)) for leg in legs],
        "corrected": [Text(_interval({"interval": leg.get("interval_corrected")})) for leg in legs],
        "support": [Text("" if leg["support"] is None else f"{leg['support']:.3f}") for leg in legs],
        "n": [Text(_n(leg)) for leg in legs],
        "undefined": [Text(leg.get("undefined_because", "")) for leg in legs],
    }
    kept = {column: cells for column, cells in columns.items() if any(cell.text for cell in cells)}
    table = Table(f"  Legs of {name}")
    for column in kept:
        table.add_column(column, right=column in ("left", "right", "d", "support"))
    for row in zip(*kept.values(), strict=True):
        table.add_row(*row)
    return table


def _side(leg: dict[str, Any], key: str) -> str:
    """A number of a leg; ⊥ only where an undefined value decided, and not where there is no number."""
    return "" if leg[key] is None and leg["reason"] != "undefined" else short(leg[key])


def _legs(sheet: Sheet, predictions: list[dict[str, Any]], *, every: bool) -> None:
    for table, left in leg_tables(predictions, every=every):
        sheet.print()
        sheet.print(table)
        if left:
            sheet.print(Text(f"  … {left} more in the ledger"))


def _headline(sheet: Sheet, content: dict[str, Any], stored: dict[str, Any]) -> None:
    """The outcome in the author's words; `void` where a gate was not held."""
    if content.get("headline") == "void":
        shut = [p["id"] for p in content["predictions"] if p.get("gate") and p["verdict"] != "held"]
        sheet.print(Text(f"headline: void, because {', '.join(shut)} did not hold", style="red bold"))
    elif content.get("headline"):
        sheet.print(Text(f"headline: {content['headline']}", style="bold"))
    elif stored.get("outcomes"):
        sheet.print(Text("headline: none, no registered outcome covers these verdicts", style="bold"))


def variant_table(content: dict[str, Any]) -> Table | None:
    """One row per prediction, one column per variant; None where nothing was registered to vary."""
    variants = content.get("variants") or []
    if not variants:
        return None
    table = Table("The same under each variant (≠: the verdicts are not all the same)")
    for name in ("prediction", "registered", *(v["name"] for v in variants)):
        table.add_column(name)
    found = [{p["id"]: p for p in v["predictions"]} for v in variants]
    for entry in content["predictions"]:
        row = [entry, *(predictions[entry["id"]] for predictions in found)]
        mark = "≠ " if len({p["verdict"] for p in row}) > 1 else "  "
        table.add_row(mark + entry["id"], *map(verdict_text, row))
    return table


def _excluded(sheet: Sheet, content: dict[str, Any], stored: dict[str, Any]) -> None:
    """The policies that were taken out, and the condition that took them."""
    out = content.get("excluded") or []
    if not out:
        return
    condition = " ".join((stored.get("exclude") or "").split())
    sheet.print()
    sheet.print(Text(f"{len(out)} excluded by `{condition}`, and in none of the numbers above:"))
    for policy in out[:MOST_EXCLUDED]:
        sheet.print(Text("  " + ", ".join(f"{name} {value}" for name, value in policy.items())))
    if len(out) > MOST_EXCLUDED:
        sheet.print(Text(f"  and {len(out) - MOST_EXCLUDED} more in policies.csv"))


def degenerate_table(policies: str, arm: str, names: tuple[str, ...]) -> Table | None:
    """The degenerate policies, ⊥ for what they leave undefined; None where there are none."""
    rows = [r for r in csv.DictReader(io.StringIO(policies)) if r.get(arm) in names]
    if not rows:
        return None
    metrics = list(dict.fromkeys(r["metric"] for r in rows))
    table = Table("Degenerate policies (⊥: undefined, never 0 and never 1)")
    table.add_column("policy")
    for metric in metrics:
        table.add_column(metric, right=True)
    for policy in dict.fromkeys(r["policy"] for r in rows):
        cells = {r["metric"]: (r["value"] or f"⊥ {r['reason']}") for r in rows if r["policy"] == policy}
        table.add_row(policy, *[_shown(cells.get(m, "")) for m in metrics])
    return table


def _shown(cell: str) -> str:
    try:
        value = float(cell)
    except ValueError:
        return cell
    return f"{value:.3f}"


def show_ledger(
    sheet: Sheet,
    content: dict[str, Any],
    title: str,
    policies: str | None,
    stored: dict[str, Any],
    *,
    legs: bool = False,
) -> None:
    """A ledger, so that a reader understands it in ten seconds; with `legs`, those of held claims too."""
    registration = content["registration"]
    counts = content["counts"]
    sheet.print(Text(f"{registration['id']}: {title}", style="bold"))
    sheet.print(Text(f"registered as {registration['digest'][:12]}, {stored.get('time', '')}".rstrip(", ")))
    _headline(sheet, content, stored)
    told = (
        f"{counts['held']} held, {counts['failed']} failed, {counts['falsified']} falsified; "
        f"{counts['surprises']} surprise{'s' * (counts['surprises'] != 1)}"
    )
    sheet.print(Text(told, style="bold"))
    sheet.print()
    every = content["predictions"]
    primary = [p for p in every if not p["guard"] and p.get("tier", "primary") == "primary"]
    if primary:
        sheet.print(verdict_table(ordered(primary), "Predictions (! differs from what was expected)"))
    for tier in ("secondary", "exploratory"):
        chosen = [p for p in every if not p["guard"] and p.get("tier") == tier]
        if chosen:
            sheet.print()
            sheet.print(verdict_table(ordered(chosen), f"{tier.capitalize()} (outside the counts)"))
    guards = [p for p in every if p["guard"]]
    if guards:
        sheet.print()
        sheet.print(verdict_table(ordered(guards), "Guards (known answers, outside the counts)"))
    _legs(sheet, [*ordered(primary), *(p for p in every if p not in primary)], every=legs)
    _dropped(sheet, content)
    variants = variant_table(content)
    if variants is not None:
        sheet.print()
        sheet.print(variants)
    _excluded(sheet, content, stored)
    _reports(sheet, content)
    if policies is not None:
        _wilson(sheet, policies, stored)
        _ties(sheet, policies)
        _degenerate(sheet, policies, stored)
    _explain(sheet, every)
    _deviations(sheet, content, stored.get("amends"))
    _notes(sheet, stored.get("noted", []))
    _caution(sheet, content, stored)
    sheet.print()
    sheet.print(Text(f"Not proven: {NOT_PROVEN}."))


def _deviations(sheet: Sheet, content: dict[str, Any], amends: dict[str, Any] | None) -> None:
    """What an amendment changed beside the verdicts it touches, and what they were before."""
    if amends is None:
        return
    sheet.print()
    for line in amendment_lines(amends, short=True):
        sheet.print(Text(line))
    for entry in content["predictions"]:
        for change in entry.get("deviations", []):
            moved = "" if change["direction"] == "changed" else f" ({change['direction']})"
            said = f"{entry['id']}: deviated: {change['path']}{moved}, since {change['amends'][:12]}"
            sheet.print(Text(said))
        for was in entry.get("verdicts_before", []):
            sheet.print(
                Text(f"{entry['id']}: {_verdict_words(was)} before, under {was['registration'][:12]}")
            )


def _verdict_words(entry: dict[str, Any]) -> str:
    return f"{entry['verdict']} ({entry['reason']})" if entry["reason"] else str(entry["verdict"])


def amendment_lines(amends: dict[str, Any], *, short: bool = False) -> list[str]:
    """An amendment in lines: what it amends, why, what changed, what it touches, what had been seen.

    `short` leaves out what a ledger tells prediction by prediction.
    """
    out = [f"amends   {amends['digest'][:12]}: {' '.join(amends['reason'].split())}"]
    if not short:
        out += [f"changed  {_change(change)}" for change in amends["changes"]]
    for other in amends["supersedes"]:
        out.append(f"supersedes {other['digest'][:12]}")
        out += [] if short else [f"changed  {_change(change)}" for change in other["changes"]]
    if not short:
        touched = [t["prediction"] for t in amends["touched"]]
        out.append(f"touches  {', '.join(touched) if touched else 'no verdict'}")
    seen = amends["seen"]
    started = "; ".join(
        f"{a['started']} {a['kind']} started, {a['results']} with results" for a in seen["attempts"]
    )
    out.append(f"seen     {seen['state']}" + (f" ({started})" if started else ""))
    for entry in seen["judged"]:
        if entry["state"] not in ("results written", "damaged"):
            continue
        what = "these records were" if entry["files"] else "other records were"
        who = f"{entry['id']} {entry['registration'][:12]}"
        out.append(f"seen     {what} judged before, as {who}; verdict then: {_came_to(entry)}")
    return out


def _came_to(entry: dict[str, Any]) -> str:
    verdicts, counts = entry["verdicts"], entry["counts"]
    if verdicts is not None:
        more = f" and {len(verdicts) - 20} more" if len(verdicts) > 20 else ""
        return ", ".join(f"{v['prediction']} {v['verdict']}" for v in verdicts[:20]) + more
    if counts is None:
        return "not readable"
    return ", ".join(f"{n} {word}" for word, n in counts.items() if word != "surprises") + " (ledger gone)"


def _change(change: dict[str, Any]) -> str:
    pair = str(Change(change["path"], change.get("before", ABSENT), change.get("after", ABSENT)))
    return pair if change["direction"] == "changed" else f"{pair} ({change['direction']})"


def note_lines(notes: list[dict[str, Any]]) -> list[str]:
    """Notes in lines, each with its day and the verdicts it names."""
    out = []
    for note in notes:
        about = f" ({', '.join(note['predictions'])})" if note["predictions"] else ""
        out.append(f"note of {note['time'][:10]}{about}: {' '.join(note['text'].split())}")
    return out


def _notes(sheet: Sheet, notes: list[dict[str, Any]]) -> None:
    if notes:
        sheet.print()
    for line in note_lines(notes):
        sheet.print(Text(line))


def _wilson(sheet: Sheet, policies: str, stored: dict[str, Any]) -> None:
    """Rates with the interval of Wilson (1927): for readers, it never decides."""
    names = [m["name"] for m in stored["metrics"] if m["show"] == "wilson"]
    rows = [r for r in csv.DictReader(io.StringIO(policies)) if r["metric"] in names]
    if not rows:
        return
    from prereg.intervals import wilson  # numpy, which a table without rates need not pay

    level = stored["level"]
    table = Table(f"Rates, with Wilson intervals at level {level:g}")
    for name in ("metric", "policy", "rate", "of", "interval"):
        table.add_column(name)
    for row in rows:
        counted = f"{row['numerator']}/{row['denominator']}"
        interval = "⊥"
        if row["value"]:
            low, high = wilson(int(row["numerator"]), int(row["denominator"]), level)
            interval = f"[{low:.3f}, {high:.3f}]"
        rate = f"{float(row['value']):.3f}" if row["value"] else f"⊥ {row['reason']}"
        table.add_row(row["metric"], Text(row["policy"]), rate, counted, interval)
    sheet.print()
    sheet.print(table)


def _caution(sheet: Sheet, content: dict[str, Any], stored: dict[str, Any]) -> None:
    """What a reader of an interval must know of the metrics behind it."""
    entries = [*content["predictions"]]
    for p in content["predictions"]:
        entries += p.get("legs") or []
    for report in content.get("reports") or []:
        entries += report["values"]
    if not any(entry.get("interval") for entry in entries):
        return
    from prereg.metrics import KINDS

    for m in stored["metrics"]:
        kind = KINDS.get(m["kind"])
        if kind is not None and kind.caution:
            sheet.print(Text(f"{m['name']} ({m['kind']}): {kind.caution}"))


def _ties(sheet: Sheet, policies: str) -> None:
    """Values with ties kept and with ties dropped, where there are any."""
    rows = list(csv.DictReader(io.StringIO(policies)))
    found = [r for r in rows if TIES.search(r["metric"])]
    if not found:
        return
    known = {(r["metric"], r["policy"]): r for r in rows}
    pairs = [(known[TIES.sub("", r["metric"]), r["policy"]], r) for r in found]
    pairs = [(one, other) for one, other in pairs if one["n"] != other["n"]]
    table = Table("Ties (correctness 1/2): as registered, and the other way")
    for name in ("metric", "policy", "registered", "n", "other way", "n"):
        table.add_column(name, right=name not in {"metric", "policy"})
    for one, other in pairs[:MOST_TIES]:
        cells = [x for r in (one, other) for x in (_shown(r["value"] or f"⊥ {r['reason']}"), r["n"])]
        table.add_row(other["metric"], Text(one["policy"]), *cells)
    sheet.print()
    sheet.print(table)
    if len(pairs) > MOST_TIES:
        sheet.print(Text(f"and {len(pairs) - MOST_TIES} more in policies.csv"))


def _degenerate(sheet: Sheet, policies: str, stored: dict[str, Any]) -> None:
    table = degenerate_table(policies, stored["arm"], tuple(stored["degenerate"]))
    if table is not None:
        sheet.print()
        sheet.print(table)


def _reports(sheet: Sheet, content: dict[str, Any]) -> None:
    if not content.get("reports"):
        return
    sheet.print()
    table = Table("Reports (estimates, never verdicts)")
    for name in ("report", "policy", "value", "interval", "n"):
        table.add_column(name)
    for report in content["reports"]:
        for entry in report["values"]:
            interval = entry["interval"]
            table.add_row(
                report["id"],
                ", ".join(entry["policy"]),
                short(entry["value"]) + (f" ({entry['reason']})" if entry["reason"] else ""),
                "" if interval is None else f"[{short(interval[0])}, {short(interval[1])}]",
                _count(entry["n"]),
            )
    sheet.print(table)


_WHY = {
    "no_variation": "every resample gave one value, so the interval is no evidence; register "
    "`evidence: exact` (one rate against a number, or two rates over the same units), `point`, or more units",
    "undefined": "the claim hangs on a value that is undefined; policies.csv says why, and defined(x) makes "
    "it a claim of its own",
    "short": "true at the point, but the registered evidence was not met",
    "contrary": "false at the point, and the registered falsifier stayed silent",
    "not_applicable": "a prediction it was given, or a gate, was not held",
    "not_measured": "its records were not measured",
    "variants_disagree": "a variant that it must agree with came out otherwise",
}


def _explain(sheet: Sheet, predictions: list[dict[str, Any]]) -> None:
    reasons = dict.fromkeys(p["reason"] for p in predictions if p["reason"])
    if reasons:
        sheet.print()
    for reason in reasons:
        sheet.print(Text(f"failed ({reason}): {_WHY.get(reason, '')}"))
    if any(p.get("unpaired") for p in predictions):
        sheet.print(
            Text(
                "unpaired: two reductions of one leg left out different policies; "
                "they do not compare the same ones"
            )
        )


def _dropped(sheet: Sheet, content: dict[str, Any]) -> None:
    arms = [a for a in content["data"].get("arms", []) if a["dropped"]]
    if not arms:
        return
    sheet.print()
    for arm in arms[:20]:
        name = ", ".join(map(str, arm["arm"].values()))
        sheet.print(
            Text(
                f"{name}: {arm['dropped']} of {arm['units']} units dropped "
                f"({100 * arm['dropped_share']:.1f} %), because another arm has no row for them"
            )
        )
    if len(arms) > 20:
        sheet.print(Text(f"and {len(arms) - 20} more arms"))


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
    _notes(sheet, notes or [])
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
    shown = files if len(files) <= MOST_FILES else files[:FIRST_FILES]
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
