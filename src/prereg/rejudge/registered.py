"""Every prediction and report of a ledger exactly once, in registered order, as it was registered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prereg import ledger
from prereg.findings import amends_of, deviation_of
from prereg.resolve.promised import expanded
from prereg.stored import from_stored

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prereg.protocol import Protocol
    from prereg.registration import Registration
    from prereg.resolve.expand import Expanded

Tree = dict[str, Any]
_DEVIATION = ("deviated", "deviations", "verdicts_before")


def one_each(registered: Registration, content: Tree) -> list[str]:
    """Every prediction and report exactly once, in registered order, as it was registered, and no other."""
    protocol = from_stored(registered.content["protocol"], registered.place)
    asked = expanded(protocol, registered)
    out = _in_order("predictions", [p.id for p in asked], [p["id"] for p in content["predictions"]])
    out += _in_order("variants", list(protocol.variants), [v["name"] for v in content["variants"]])
    for variant in content["variants"]:
        label = f"variants[{variant['name']}].predictions"
        out += _in_order(label, [p.id for p in asked], [p["id"] for p in variant["predictions"]])
    out += _in_order("reports", list(protocol.reports), [r["id"] for r in content["reports"]])
    for report in content["reports"]:
        text = protocol.reports.get(report["id"])
        if text is not None and report["expression"] != " ".join(text.split()):
            out.append(f"reports[{report['id']}].expression is not the registered one")
    if out:
        return out
    for label, entries in _all_predictions(content):
        for one, entry in zip(asked, entries, strict=True):
            out += [f"{label}[{one.id}].{said}" for said in _as_registered(one, entry, protocol)]
    if content.get("amends") != amends_of(registered).get("amends"):
        out.append("amends: not what the registration says")
    for one, entry in zip(asked, content["predictions"], strict=True):
        wanted = ledger.shortened(deviation_of(registered, one.id))
        if {key: entry[key] for key in _DEVIATION if key in entry} != wanted:
            out.append(f"predictions[{one.id}]: its deviations are not those of the amendment")
    return out


def _all_predictions(content: Tree) -> Iterator[tuple[str, list[Tree]]]:
    yield "predictions", content["predictions"]
    for variant in content["variants"]:
        yield f"variants[{variant['name']}].predictions", variant["predictions"]


def _in_order(label: str, wanted: Sequence[str], is_there: Sequence[str]) -> list[str]:
    out = [f"{label}: `{name}` is missing" for name in wanted if name not in is_there]
    out += [f"{label}: `{name}` is not registered" for name in dict.fromkeys(is_there) if name not in wanted]
    out += [
        f"{label}: `{name}` stands {list(is_there).count(name)} times"
        for name in dict.fromkeys(is_there)
        if list(is_there).count(name) > 1
    ]
    if not out and list(wanted) != list(is_there):
        out.append(f"{label}: not in registered order")
    return out


def _as_registered(one: Expanded, entry: Tree, protocol: Protocol) -> Iterator[str]:
    spec = one.spec
    evidence: object = spec.evidence.kind
    if spec.evidence.support is not None:
        evidence = {"support": spec.evidence.support}
    wanted = {
        "claim": " ".join(spec.claim.split()),
        "anticipated": spec.anticipate,
        "tier": None if spec.tier == "primary" else spec.tier,
        "gate": spec.gate or None,
        "family": spec.family,
    }
    if "legs" in entry:
        wanted["evidence"] = ledger.shortened(evidence)
    for key, value in wanted.items():
        if entry.get(key) != value:
            yield f"{key}: registered {value}, the ledger says {entry.get(key)}"
    if (spec.falsified_if is None) != (entry["falsifier"] is None) or (
        spec.falsified_if is not None and entry["falsifier"]["claim"] != " ".join(spec.falsified_if.split())
    ):
        yield "falsifier: not the registered one"
    if (entry["verdict"] == "failed") != (entry["reason"] is not None):
        yield f"reason: {entry['reason']} of a prediction that is {entry['verdict']}"
    drawn = protocol.resampling.resamples if protocol.resampling else 0
    counter = entry["falsifier"] if entry["falsifier"] and "resamples" in entry["falsifier"] else None
    for each in (entry, counter, *entry.get("legs", ()), *(counter or {}).get("legs", ())):
        if each is None:
            continue
        if each["resamples"] not in {drawn, 0} or each["resamples_defined"] > each["resamples"]:
            yield f"resamples: registered {drawn}, the ledger says {each['resamples']}"
            break
