"""The expression language: one grammar, read over rows, over policies and as claims."""
