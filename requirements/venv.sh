#!/bin/sh
# Makes or renews .venv: the pinned tools and libraries of requirements/dev.txt, then this checkout.
# Run by `make`; safe to run again at any time. PYTHON names the interpreter, if not the first fit.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
venv=$root/.venv

say() { printf 'venv: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

find_python() {
    for candidate in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11; do
        if new_enough "$candidate"; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    die "no Python 3.11 or newer was found: install one (on Debian 12 or Ubuntu 24.04 the package python3) or name it with PYTHON=/path/to/python3"
}

# Debian ships venv without ensurepip until python3-venv is there.
need_ensurepip() {
    "$1" -c 'import ensurepip, venv' >/dev/null 2>&1 && return
    package=$("$1" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
        die "$1 has no module ensurepip, which makes virtual environments: as root run 'apt-get install $package'"
    fi
    say "installing the Debian package $package"
    apt_install "$package" || { apt-get update -q >&2 && apt_install "$package"; } ||
        die "the Debian package $package could not be installed: install it by hand, then try again"
}

apt_install() {
    DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-remove --no-install-recommends "$1" >&2
}

make_venv() {
    if "$venv/bin/python" -c 'import pip' >/dev/null 2>&1; then
        return
    fi
    python=$(find_python)
    need_ensurepip "$python"
    say "making $venv with $($python --version)"
    rm -rf "$venv"
    "$python" -m venv "$venv"
}

pip_install() { "$venv/bin/python" -m pip install --disable-pip-version-check -q "$@" >&2; }
uv_install() { "$venv/bin/uv" pip install --quiet --python "$venv/bin/python" "$@" >&2; }

# uv takes seconds where pip takes minutes, but only pip reads pip's own settings (mirrors, proxies).
install_locked() {
    pip_install --require-hashes -r "$root/requirements/bootstrap.txt"
    say "installing $(grep -c '^[a-z0-9].*==' "$root/requirements/dev.txt") pinned packages"
    uv_install --require-hashes -r "$root/requirements/dev.txt" || {
        say "uv could not install them; trying pip, which takes some minutes"
        pip_install --require-hashes -r "$root/requirements/dev.txt"
    }
}

make_venv
install_locked
uv_install --no-deps --no-build-isolation -e "$root" ||
    pip_install --no-deps --no-build-isolation -e "$root"
# Without stored bytecode each of the many processes would compile every library anew.
say "compiling"
env -u PYTHONDONTWRITEBYTECODE "$venv/bin/python" -m compileall -q -j 0 "$venv/lib" >/dev/null 2>&1 ||
    say "some files of libraries can't be compiled; they are left as they are"
say "ready"
