# Two commands for a fresh machine: `make demo` and `make test`. Python 3.11 or newer is all they need.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STUDY  ?= my-program
CHECKS := $(BIN)/ruff format --check . && $(BIN)/ruff check . && $(BIN)/mypy && $(BIN)/lint-imports --no-cache

# Another sample of cases at each commit; the first where there is no history.
SAMPLE := $(shell git rev-list --count HEAD 2> /dev/null || echo 0)

# Each module is compiled to bytecode once, not by each worker and each process that a test starts.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test checks thorough report docs pages format bench clean

demo: $(VENV)/.demo ## set up, and answer for a program and for a service
	$(BIN)/slipstick run $(STUDY) --out build/demo/$(STUDY)
	@echo
	$(BIN)/slipstick solve three-tier --value 'response_time_quantile[requests,0.95]'
	@echo "Next, with your own figures:"
	@echo "  source $(BIN)/activate"
	@echo "  slipstick measured timings.csv            a table with columns p and time [s]"
	@echo "  slipstick new study --out mine.yaml       the study above, with comments"
	@echo "  slipstick new queueing-network --out service.yaml"
	@echo "Open build/demo/$(STUDY)/report.html in a browser."

test: $(VENV)/.test ## set up, check the code and run the tests, with a part of the examples and long cases
	@# The checks of the code run beside the tests, so that no processor waits; they are shown after them.
	@mkdir -p build
	@{ $(CHECKS); } > build/checks.txt 2>&1 & checks=$$!; \
	SLIPSTICK_SAMPLE=$(SAMPLE) $(BIN)/pytest -q -n auto --dist worksteal; tested=$$?; \
	wait $$checks; checked=$$?; cat build/checks.txt; \
	[ $$tested = 0 ] || echo "The same sample again: SLIPSTICK_SAMPLE=$(SAMPLE) $(BIN)/pytest"; \
	exit $$((tested || checked))
	@command -v chromium chromium-browser > /dev/null || echo "No Chromium is installed, so no page was opened in a browser."

checks: $(VENV)/.test ## the form, the types and the contracts of the code
	$(CHECKS)

thorough: $(VENV)/.test ## the tests with all examples, crosses, protocols with mistakes, pages and reports, of which `test` tries a part
	SLIPSTICK_EXAMPLES=1 $(BIN)/pytest -q -n auto --dist worksteal

report: $(VENV)/.demo ## rebuild every committed report
	for study in specs/studies/*.yaml; do $(BIN)/slipstick run $$(basename $$study .yaml) --no-html || exit 1; done
	$(BIN)/slipstick gallery reports/*/ --out reports/README.md
	$(BIN)/slipstick statements reports/*/ --before reports/papers-before.csv --together reports/papers-together.csv --out reports/papers.md

docs: $(VENV)/.test ## build the documentation as a site
	$(BIN)/sphinx-build -q -W -b html -c docs models/slipstick/documentation build/docs
	@echo open build/docs/index.html

pages: $(VENV)/.test ## write the outputs, pictures and references of the documentation anew
	$(BIN)/python -m tests.pages

format: $(VENV)/.test ## put the code in its usual form
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.test ## measurements; see benchmarks/README.md
	for program in benchmarks/*.py; do $(BIN)/python $$program || exit 1; done

clean: ## forget the environment
	rm -rf $(VENV)

# One step for each stage of the environment, done again when the lists of libraries change.
$(VENV)/.demo: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "slipstick needs Python 3.11 or newer; name one with PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[report]'
	@touch $@

$(VENV)/.test: $(VENV)/.demo
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[test]'
	@touch $@
