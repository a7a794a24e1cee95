#!/bin/sh
# All checks that start no program of ours but the generator. Runs every one, then says which failed.
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

# The generator runs on the work tree; what it wrote must equal what was there before.
generated() {
    before=$(generated_digest)
    "$bin/python" -m kubewhy.api.generate || return 1
    [ "$before" = "$(generated_digest)" ] && return
    echo "make generate changed files: look at 'git diff', then commit them"
    return 1
}

generated_digest() { find crds deploy docs -type f ! -path '*/local/*' -exec cksum {} + | sort; }

step "ruff check" "$bin/ruff" check --quiet .
step "ruff format" "$bin/ruff" format --quiet --check .
step "mypy" "$bin/mypy" --no-error-summary
step "layers" "$bin/lint-imports" --no-logo
step "generated files" generated

if [ -n "$failed" ]; then
    echo "check failed:$failed"
    exit 1
fi
