"""`python -m prereg` and the `prereg` command."""

from __future__ import annotations

import atexit
import gc
import io
import os
import sys

# One thread per worker: products of matrices this small are slower, never more exact, on several.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
# Looking through every installed distribution for plugins of pydantic takes longer than reading a protocol.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
# A command builds what it needs and ends: looking for cycles every 700 objects, and once more among all of
# them at the end, finds nothing worth the fifth of the time that it takes.
gc.set_threshold(100_000, 20, 20)
atexit.register(gc.freeze)


def main() -> None:
    """Run the command line and exit with its code."""
    from prereg.cli.app import execute

    for name in ("stdout", "stderr"):  # a stream that the caller closed takes what nobody reads
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 - kept open
    for stream in (sys.stdout, sys.stderr):  # a console that lacks a sign gets its number, not a failure
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(execute(sys.argv[1:]))


if __name__ == "__main__":
    main()
