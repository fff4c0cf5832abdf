#!/usr/bin/env bash
# Puts the frameworks into .venv whose tests are in tests/python/frameworks: JAX, Numba and mpi4py, and where PyPI has them as CPU
# builds (aarch64) PyTorch and Paddle. On x86-64 PyPI's PyTorch is the CUDA build of 0.9 GB: there one that is found is used,
# and `frameworks.sh all` installs it. Cheap when everything is there. What can't be had is named, and its tests are skipped.
#
#   frameworks.sh [all]     NO_INSTALL=1: only names what is missing
set -euo pipefail
venv=$PWD/.venv
refused=$venv/.frameworks_refused # what could not be downloaded is not asked for again, but by `all`

# module | what pip is asked for
rows=("jax|jax" "flatbuffers|flatbuffers" "mpi4py|mpi4py" "numba|numba") # jax.export writes programs with flatbuffers
if [[ $(uname -m) == aarch64 ]]; then
  # Later wheels of torch for aarch64 are CUDA builds, as those for x86-64 are.
  rows+=("torch|torch==2.10.*" "paddle|paddlepaddle==3.2.2")
elif [[ ${1:-} == all ]]; then
  rows+=("torch|torch" "paddle|paddlepaddle==3.2.2")
fi

if [[ ! -x $venv/bin/python ]]; then
  echo "frameworks: there is no .venv; their tests use what the interpreter has" >&2
  exit 0
fi
[[ ${1:-} != all || -n ${NO_INSTALL:-} ]] || rm -f "$refused"

present=$("$venv/bin/python" - "${rows[@]%%|*}" <<'PY'
import importlib.util, sys
print(" ".join(name for name in sys.argv[1:] if importlib.util.find_spec(name)))
PY
)
for row in "${rows[@]}"; do
  module=${row%%|*} package=${row#*|}
  if [[ " $present " == *" $module "* ]]; then continue; fi
  if [[ -n ${NO_INSTALL:-} ]]; then
    echo "frameworks: $module is not there (NO_INSTALL); its tests are skipped" >&2
    continue
  fi
  if [[ -f $refused ]] && grep -qxF "$package" "$refused"; then continue; fi
  echo "frameworks: installing $package into .venv" >&2
  # One at a time: one that can't be had must not keep the others away.
  if ! "$venv/bin/pip" install --quiet --disable-pip-version-check --retries 1 "$package" >&2; then
    echo "frameworks: going on without $package; its tests are skipped (make test-frameworks tries again)" >&2
    echo "$package" >>"$refused"
  fi
done
