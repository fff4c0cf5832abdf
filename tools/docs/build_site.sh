#!/usr/bin/env bash
# `make docs`: a static HTML site from docs/*.md, from the README, which the first page shows parts of, and from the
# reference and the pages of examples that make_reference.py writes. The generator is installed into the given environment
# if it is not there; with NO_INSTALL it is an error, or status 77 ("skipped") if WEFT_SKIP_STATUS is set, as by ctest.
#
#   build_site.sh PYTHON OUTPUT
set -euo pipefail
python=$1 output=$2
tools=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$tools/../.." && pwd)
if ! "$python" -c "import sphinx, myst_parser, furo" 2>/dev/null; then
  if [[ -n ${NO_INSTALL:-} ]]; then
    echo "make docs: needs sphinx, myst-parser and furo (pip install them, or leave NO_INSTALL out)" >&2
    [[ -n ${WEFT_SKIP_STATUS:-} ]] && exit 77
    exit 1
  fi
  "$python" -m pip install --quiet --disable-pip-version-check sphinx myst-parser furo
fi
export PYTHONPATH="$root/python${PYTHONPATH:+:$PYTHONPATH}"
if ! "$python" -c "import warp" 2>/dev/null; then
  echo "make docs: the reference is read from the package; run 'make build' first" >&2
  exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source=$work/docs
cp -r "$root/docs" "$root/README.md" "$work/"
"$python" "$tools/make_reference.py" "$source"
# On the site an example is a page of its own.
sed -i -E 's#\]\(\.\./examples/python/([a-z_]+)\.py\)#](examples/\1.md)#g' "$source"/*.md
"$python" -m sphinx -q -W --keep-going -b html -c "$tools/site" "$source" "$output"
echo "wrote $output/index.html"
