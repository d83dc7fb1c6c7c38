"""What was found, in words and tables, for pages and for the terminal alike.

Why this shape: one module for each question that a study asks; the most important sentence comes first.
"""
