"""Results as plain text for the terminal: the most important first.

Why this shape: one module for each command that prints results.
"""
