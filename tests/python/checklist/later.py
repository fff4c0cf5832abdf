"""Statements of the documents that belong to later issues: number, issue, statement.

The numbers count the statements in the order of the documents; every other number has a test in this folder that
carries it in its name (test_seed_NNN_…), which test_completeness.py checks.
"""

LATER: list[tuple[int, str, str]] = []
