"""A second opinion that shares nothing: what a certificate shows is found again from the problem's own text.

This package imports the standard library only, and no engine may import it: a mistake that the two sides
shared would be invisible. Nothing here searches; a certificate is accepted, or there is a reason why not.
"""

from __future__ import annotations

from prereg.checker.bounds import Bounds
from prereg.checker.verdict import SHOWS, Verdict, check

__all__ = ["SHOWS", "Bounds", "Verdict", "check"]
