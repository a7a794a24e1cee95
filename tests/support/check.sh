#!/bin/sh
# All checks but the tests. Runs every one, then says which failed.
# Argument: the folder of the virtual environment's programs.
set -u
bin=$1
failed=

step() {
    name=$1
    shift
    printf '%s: ' "$name"
    if output=$("$@" 2>&1); then
        echo ok
    else
        printf 'failed\n%s\n' "$output"
        failed="$failed $name"
    fi
}

step "ruff check" "$bin/ruff" check --quiet .
step "ruff format" "$bin/ruff" format --quiet --check .
step "mypy" "$bin/mypy" --no-error-summary
step "layers" "$bin/lint-imports" --no-logo
step "generated files" "$bin/python" -m kubewhy.api.generate --check

if [ -n "$failed" ]; then
    echo "check failed:$failed"
    exit 1
fi
