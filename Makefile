# Developers' verbs. Users need only ./run and ./test.
PYTHON ?= .venv/bin/python
export QT_QPA_PLATFORM ?= offscreen

.PHONY: check lint types quick test fix docs

check: lint  ## format, lint, types, layers and every test without a Warp compile; writes nothing
	@$(MAKE) --no-print-directory -j2 --output-sync=target types quick

lint:
	$(PYTHON) -m ruff format --check -q .
	$(PYTHON) -m ruff check -q .

types:
	$(PYTHON) scripts/check_types.py

quick:  # beside types: pyright keeps one core busy for a minute
	$(PYTHON) -m pytest -n 3 --dist worksteal -m "not warp and not slow" -p no:cacheprovider

test:  ## everything that needs no GPU
	./test

fix:  ## format and repair what can be repaired
	$(PYTHON) -m ruff format .
	$(PYTHON) -m ruff check --fix .

docs: .venv-docs/installed  ## the site, in build/site; only the first time needs a network
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/python -m mkdocs build --strict --quiet

.venv-docs/installed: docs/requirements.txt
	python3 -m venv .venv-docs
	.venv-docs/bin/python -m pip install --quiet --require-hashes -r docs/requirements.txt
	touch $@
