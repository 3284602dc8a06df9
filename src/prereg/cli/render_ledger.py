"""Ledgers drawn for a reader: surprises first, reasons always, nothing hidden."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prereg.cli.lines import NOT_PROVEN, amendment_lines, show_notes
from prereg.cli.policy_tables import show_policies
from prereg.cli.sheet import Table, Text
from prereg.ledger import said

if TYPE_CHECKING:
    from prereg.cli.sheet import Sheet

MOST_EXCLUDED = 20
MOST_LEGS = 10
MOST_LEGS_ASKED = 100
_NOT_BY_LEGS = ("not_applicable", "not_measured")
"""Reasons for which no leg of a prediction says why it failed."""
_LEAST = 1e-3
"""Below it four decimals would be one digit, or none."""
_LARGEST = 1e15
_STYLE = {"held": "green", "failed": "yellow", "falsified": "red"}


def short(value: float | str | None) -> str:
    """A number for reading: four decimals, or as many digits as tell it from its like; ⊥ where undefined."""
    if value is None:
        return "⊥"
    if isinstance(value, str):
        return value
    size = abs(value)
    if value == int(value) and size < _LARGEST:
        return str(int(value))
    return f"{value:+.4f}" if _LEAST <= size < 1e4 else f"{value:+.4g}" if size < 1 else f"{value:+.10g}"


def verdict_text(entry: dict[str, Any]) -> Text:
    """`held`, `falsified`, or `failed (reason)`, coloured; `deviated` where an amendment touches it."""
    word = said(entry["verdict"], entry["reason"])
    return Text(word + ", deviated" * bool(entry.get("deviated")), style=_STYLE.get(entry["verdict"], ""))


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
            sheet.print(Text(f"  … {left} more (--legs shows them)"))


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
    if stored.get("amends"):
        sheet.print(Text(_amended(content, stored["amends"]), style="yellow"))
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
        show_policies(sheet, policies, stored)
    _explain(sheet, every)
    _deviations(sheet, content, stored.get("amends"))
    show_notes(sheet, stored.get("noted", []), content["registration"]["digest"])
    _caution(sheet, content, stored)
    sheet.print()
    sheet.print(Text(f"Not proven: {NOT_PROVEN}."))


def _amended(content: dict[str, Any], amends: dict[str, Any]) -> str:
    """That this is an amendment, what had been seen when it was made, and how many verdicts it touches."""
    touched = sum(bool(p.get("deviated")) for p in content["predictions"])
    told = f"amendment of {amends['digest'][:12]}; seen when it was made: {amends['seen']['state']}"
    return f"{told}; {touched} verdict{'s' * (touched != 1)} deviated (see below)"


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
            since = f"{change['path']}{moved}, since {change['amends'][:12]}"
            sheet.print(Text(f"{entry['id']}: deviated: {since}"))
        for was in entry.get("verdicts_before", []):
            before = said(was["verdict"], was["reason"])
            sheet.print(Text(f"{entry['id']}: {before} before, under {was['registration'][:12]}"))


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
