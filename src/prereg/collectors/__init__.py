"""Collectors: makers of records that do not exist before the run, one module each."""
