# The few daily commands. `just` alone lists them; each is plain enough to type by hand.

set shell := ["bash", "-euc"]

bin := ".venv/bin"

# List the commands.
default:
    @just --list --unsorted

# Make the environment of the checkout.
setup:
    python3 -m venv .venv
    {{ bin }}/python -m pip install --upgrade -c constraints.txt pip
    {{ bin }}/python -m pip install -c constraints.txt -e . -e reproductions --group dev

# Format, and mend what ruff can mend.
fix:
    {{ bin }}/ruff format .
    {{ bin }}/ruff check --fix .

# The static checks: seconds, not minutes.
check:
    {{ bin }}/ruff check .
    {{ bin }}/ruff format --check .
    {{ bin }}/mypy
    {{ bin }}/lint-imports
    {{ bin }}/pydoclint src reproductions/src

# Run the tests, for example `just test tests/unit -k flip_rate`.
test *args:
    {{ bin }}/pytest -n 2 {{ args }}

# Serve the docs and rebuild them on each change.
docs:
    {{ bin }}/mkdocs serve

# Everything that CI runs, in a fresh environment.
ci:
    .ci/run
