#!/bin/sh
# Build the wheel, install it in a clean environment outside the clone, and use it there: help, construct, run.
set -eu
root=$(pwd)
: "${VENV:=.venv}" "${PYTHON:=python3}" "${TORCH:=torch==2.13.0}"
case $VENV in /*) ;; *) VENV=$root/$VENV ;; esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$VENV/bin/python" -m build --quiet --wheel --outdir "$work/dist" "$root"
"$PYTHON" -m venv "$work/venv"
pip="$work/venv/bin/python -m pip --disable-pip-version-check install --quiet"
cd "$work"
$pip -c "$root/constraints.txt" "$work"/dist/*.whl
echo "base install:"
"$work/venv/bin/scedit" --help >/dev/null && echo "  scedit --help works"
"$work/venv/bin/scedit" split add mini --store base.duckdb
$pip $TORCH
more="sh $root/tests/build/install.sh $work/venv" # the base install above is pip's alone, as a user types it
$more -c "$root/constraints.txt" "scedit[eval,local] @ file://$(ls "$work"/dist/*.whl)"
"$work/venv/bin/scedit" model fetch embedded
echo "with eval and local:"
"$work/venv/bin/scedit" construct shipped --store s.duckdb --model embedded --limit 1 --questions 1 --neighbours 0
cat > run.toml <<'TOML'
split = "mini"
editors = ["none", "prompt"]
limit = 2
out = "runs"
TOML
"$work/venv/bin/scedit" run run.toml
"$work/venv/bin/scedit" report runs
test -s runs/report.html && echo "  construct, run and report work outside the clone"
"$work/venv/bin/python" -c 'import scedit; print(scedit.load_run("runs").summary().to_string())' &&
  echo "  the Python door works outside the clone"
cp -r "$root/examples/plugin" "$work/plugin"
$pip --no-deps "$work/plugin"
$more -c "$root/constraints.txt" "scedit[annotate] @ file://$(ls "$work"/dist/*.whl)"
echo "with a plug-in:"
(cd "$work/plugin" && "$work/venv/bin/python" try_plugin.py)
