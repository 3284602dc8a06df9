"""Trees with something in them replaced, taken away, renamed or added."""

from __future__ import annotations

import copy

from hypothesis import strategies as st


def damaged(data, tree, odd, keys=()):
    """A copy of a tree, damaged in one place with a value of `odd`, or one of `keys` as the name of an entry."""
    tree = copy.deepcopy(tree)
    here, holder, key = tree, None, None
    while isinstance(here, dict | list) and here and (holder is None or data.draw(st.integers(0, 4))):
        holder = here
        key = data.draw(st.sampled_from(list(here) if isinstance(here, dict) else range(len(here))))
        here = here[key]
    if holder is None:
        return data.draw(odd)
    match data.draw(st.sampled_from(["replace", "remove", "add", *["rename"] * bool(keys)])):
        case "remove":
            del holder[key]
        case "rename" if isinstance(holder, dict):
            holder[data.draw(st.sampled_from(keys))] = holder.pop(key)
        case "add" if isinstance(holder, dict):
            holder["further"] = data.draw(odd)
        case _:
            holder[key] = data.draw(odd)
    return tree
