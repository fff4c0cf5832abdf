#!/usr/bin/env bash
# `make docs`: a static HTML site from docs/*.md and from the reference that make_reference.py writes. The generator is
# installed into the given environment if it is not there.
#
#   build_site.sh PYTHON OUTPUT
set -euo pipefail
python=$1 output=$2
tools=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$tools/../.." && pwd)
if ! "$python" -c "import sphinx, myst_parser, furo" 2>/dev/null; then
  if [[ -n ${NO_INSTALL:-} ]]; then
    echo "make docs: needs sphinx, myst-parser and furo (pip install them, or leave NO_INSTALL out)" >&2
    exit 1
  fi
  "$python" -m pip install --quiet --disable-pip-version-check sphinx myst-parser furo
fi
export PYTHONPATH="$root/python${PYTHONPATH:+:$PYTHONPATH}"
if ! "$python" -c "import warp" 2>/dev/null; then
  echo "make docs: the reference is read from the package; run 'make build' first" >&2
  exit 1
fi
source=$(mktemp -d)
trap 'rm -rf "$source"' EXIT
cp -r "$root/docs/." "$source/"
"$python" "$tools/make_reference.py" "$source/reference"
"$python" -m sphinx -q -W --keep-going -b html -c "$tools/site" "$source" "$output"
echo "wrote $output/index.html"
