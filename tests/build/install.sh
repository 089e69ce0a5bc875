#!/bin/sh
# install.sh VENV ARGUMENTS: pip install ARGUMENTS in a virtual environment, by uv where it can be had (several times as
# fast; it takes what the environment holds already, so install torch first), else by pip.
set -eu
venv=$1
shift
pip="$venv/bin/python -m pip --disable-pip-version-check install --quiet"
uv="$venv/bin/uv"
[ -x "$uv" ] || $pip "uv>=0.9,<1" >/dev/null 2>&1 || true
if [ -x "$uv" ] && UV_SYSTEM_CERTS=1 UV_NO_PROGRESS=1 "$uv" pip install --quiet --python "$venv/bin/python" "$@" 2>/dev/null; then
  exit 0
fi
echo "uv could not install this (a registry that only pip knows?); pip does."
exec $pip "$@"
