#!/usr/bin/env bash
# Put uv at $1: a link to the one on PATH, else installed by pip, else by a throw-away virtual environment.
set -euo pipefail
target=$1
home=$(dirname "$(dirname "$target")")
mkdir -p "$home/bin"
home=$(cd "$home" && pwd)

if command -v uv >/dev/null 2>&1; then
  ln -sf "$(command -v uv)" "$home/bin/uv"
  exit 0
fi
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || {
  echo "Python 3.11 or newer is needed; python3 is $(python3 --version 2>&1 || echo missing)" >&2
  exit 3
}
echo "Setting up (once) ..."
if ! python3 -m pip --version >/dev/null 2>&1 && ! python3 -c 'import ensurepip' 2>/dev/null; then
  # Debian and Ubuntu ship Python without pip and without ensurepip.
  as_root=""
  [ "$(id -u)" = 0 ] || as_root="sudo -n"
  $as_root apt-get update -qq >/dev/null 2>&1 && $as_root apt-get install -y -qq python3-venv >/dev/null 2>&1 || {
    echo "This Python has neither pip nor venv. Install one, then try again: sudo apt-get install python3-venv" >&2
    exit 3
  }
fi
if python3 -m pip --version >/dev/null 2>&1; then
  python3 -m pip install --quiet --disable-pip-version-check --no-warn-script-location --root-user-action=ignore --upgrade --target "$home/uv" uv
else
  python3 -m venv "$home/seed"
  "$home/seed/bin/pip" install --quiet --disable-pip-version-check --target "$home/uv" uv
  rm -rf "$home/seed"
fi
ln -sf "$home/uv/bin/uv" "$home/bin/uv"
"$home/bin/uv" --version >/dev/null
