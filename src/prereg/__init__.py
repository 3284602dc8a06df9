"""Pre-registered experiments for ML evaluation: lock a protocol, run it, judge it."""

__version__ = "0.1.0"
