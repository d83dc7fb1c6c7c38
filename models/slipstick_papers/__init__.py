"""What papers print, held against what is computed: tables, sentences, and a page of all sentences.

slipstick finds this package by its entry points and imports none of it. `compare` puts published
tables beside answers, `statements` checks sentences, `page` lays out the sentences of several
reports, `unpublished` draws what a source does not print, and `specs` has the keys of a study.
"""

COMMANDS = {"statements": "slipstick_papers.page:statements"}
QUESTIONS = {
    "compare": "slipstick_papers.specs:COMPARE",
    "statements": "slipstick_papers.specs:STATEMENTS",
    "unpublished": "slipstick_papers.specs:UNPUBLISHED",
}
