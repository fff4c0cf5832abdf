#!/usr/bin/env bash
# The Python package on an interpreter without the global lock: builds the extension for it in build/free-threaded and runs tests.
#
#   free_threaded.sh PYTHON [PYTEST ARGUMENT…]     PYTHON: python3.13t or later; without arguments all of tests/python
#
# A test of its own threads is tests/python/stress/test_shared_objects.py; WEFT_STRESS=1 makes it, and its neighbours, take a minute.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=$(command -v "${1:?the path of a free-threaded Python}")
shift
build=$PWD/build/free-threaded env=$PWD/build/free-threaded-env
if ! "$python" -c 'import sysconfig; raise SystemExit(not sysconfig.get_config_var("Py_GIL_DISABLED"))'; then
  echo "$python is built with the global lock: name a free-threaded one, for example python3.13t" >&2
  exit 1
fi
if ! "$env/bin/python" -c "import nanobind, numpy, pytest, hypothesis, mpmath" 2>/dev/null; then
  "$python" -m venv "$env"
  "$env/bin/pip" install --quiet --disable-pip-version-check --prefer-binary nanobind numpy pytest hypothesis mpmath
fi
cmake --preset dev -B "$build" -DWEFT_TESTS=OFF -DWEFT_PYTHON=ON \
  -DPython_EXECUTABLE="$env/bin/python" -DPython3_EXECUTABLE="$env/bin/python"
cmake --build "$build" -j "${JOBS:-2}" --target _weft weftc
export PYTHONPATH=$PWD/python WEFT_EXTENSION_DIR=$build/python/warp WEFTC=$build/bin/weftc PYTHONDONTWRITEBYTECODE=1
"$env/bin/python" -c 'import sys, warp; raise SystemExit("the package turned the global lock on" if sys._is_gil_enabled() else 0)'
cd tests/python
(($#)) || set -- .
exec "$env/bin/python" -m pytest -q --no-header -p no:cacheprovider "$@"
