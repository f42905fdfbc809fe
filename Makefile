# Developers' verbs. Users need only ./run and ./test.
PYTHON ?= .venv/bin/python
export QT_QPA_PLATFORM ?= offscreen

.PHONY: check test fix

check:  ## format, lint, types, layers and every test without a Warp compile; writes nothing
	$(PYTHON) -m ruff format --check -q .
	$(PYTHON) -m ruff check -q .
	$(PYTHON) -m pyright --pythonpath $(PYTHON)
	$(PYTHON) -m pytest -m "not warp and not slow" -p no:cacheprovider

test:  ## everything that needs no GPU
	./test

fix:  ## format and repair what can be repaired
	$(PYTHON) -m ruff format .
	$(PYTHON) -m ruff check --fix .
