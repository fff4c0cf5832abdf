#!/usr/bin/env bash
# Makes .venv with what building and testing the Python package needs, and prints the interpreter to use; with everything
# there it touches neither apt nor the network. With NO_INSTALL=1 it only looks for an interpreter that has nanobind: one
# line on standard output, or none when the package can't be built here.
set -euo pipefail
packages=(nanobind numpy pytest hypothesis mpmath)
modules="nanobind, numpy, pytest, hypothesis, mpmath"
# Type checkers, for the tests of the stubs; those are shown as skipped where these can't be had.
optional=(mypy basedpyright)
venv=$PWD/.venv

install_optional() {
  local refused=$venv/.optional_refused
  if [[ -n ${NO_INSTALL:-} || -e $refused ]]; then return; fi
  "$venv/bin/python" -c "import mypy, basedpyright" 2>/dev/null && return
  if ! "$venv/bin/pip" install --quiet --disable-pip-version-check "${optional[@]}" >&2; then
    echo "going on without ${optional[*]}" >&2
    touch "$refused" # not asked for again
  fi
}

if [[ -x $venv/bin/python ]] && "$venv/bin/python" -c "import $modules" 2>/dev/null; then
  install_optional
  echo "$venv/bin/python"
  exit 0
fi
if [[ -n ${NO_INSTALL:-} ]]; then
  if python3 -c "import nanobind, numpy" 2>/dev/null; then command -v python3; fi
  exit 0
fi

# A distribution's Python comes without venv and headers; any other brings both.
has_parts() {
  python3 - <<'PY' 2>/dev/null
import ensurepip, os, sysconfig, venv
raise SystemExit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))
PY
}
if ! has_parts; then
  sudo=()
  [[ $(id -u) == 0 ]] || sudo=(sudo)
  "${sudo[@]}" apt-get update -qq >&2
  DEBIAN_FRONTEND=noninteractive "${sudo[@]}" apt-get install -y -qq python3-venv python3-dev >&2
fi
echo "making .venv with ${packages[*]}" >&2
python3 -m venv "$venv" >&2
"$venv/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}" >&2
install_optional
echo "$venv/bin/python"
