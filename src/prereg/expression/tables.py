"""The parser of the grammar: from prepared tables where they fit this grammar and this lark, else built anew.

Building it takes some fifteen times longer than loading its tables, which is most of what a short run waits
for. `python -m prereg.expression.tables` writes the tables; what they were made of decides whether they are
used, so a forgotten update costs time and nothing else.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lark import Lark

GRAMMAR = Path(__file__).with_name("grammar.lark")
TABLES = Path(__file__).with_name("grammar.json")


def parser() -> Lark:
    """The parser of expressions."""
    from lark import Lark

    grammar = GRAMMAR.read_text(encoding="utf-8")
    try:
        stored = json.loads(TABLES.read_bytes())
        made_of = stored["made_of"]
    except (OSError, ValueError, KeyError, TypeError):
        return build(grammar)
    if made_of != _made_of(grammar):
        return build(grammar)
    load: Any = Lark._load_from_dict  # noqa: SLF001
    table = stored["data"]["parser"]["parser"]
    # JSON knows only texts as keys; these are whole numbers.
    table["states"] = {int(k): {int(t): v for t, v in row.items()} for k, row in table["states"].items()}
    table["tokens"] = {int(k): v for k, v in table["tokens"].items()}
    loaded: Lark = load(stored["data"], {int(k): v for k, v in stored["memo"].items()})
    return loaded


def build(grammar: str) -> Lark:
    """The parser, made of the text of the grammar."""
    from lark import Lark

    return Lark(grammar, parser="lalr", lexer="basic", propagate_positions=True, maybe_placeholders=False)


def tables() -> bytes:
    """What is stored: the tables of a parser, and what they were made of."""
    from lark.grammar import Rule
    from lark.lexer import TerminalDef

    grammar = GRAMMAR.read_text(encoding="utf-8")
    data, memo = build(grammar).memo_serialize([TerminalDef, Rule])
    tree = {"made_of": _made_of(grammar), "data": data, "memo": memo}
    return json.dumps(tree, separators=(",", ":"), sort_keys=True).encode() + b"\n"


def _made_of(grammar: str) -> dict[str, str]:
    import lark

    return {"lark": lark.__version__, "grammar": hashlib.sha256(grammar.encode()).hexdigest()}


if __name__ == "__main__":
    TABLES.write_bytes(tables())
