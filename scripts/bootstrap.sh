#!/usr/bin/env bash
# Set up Lanista in .venv of this folder: `scripts/bootstrap.sh`, from anywhere. It may be run again.
# PYTHON names another Python than python3.
set -eu

cd "$(dirname "$0")/.."
python="${PYTHON:-python3}"

if ! command -v "$python" > /dev/null; then
  echo "There is no $python; install Python 3.11 or newer, or name one with PYTHON=." >&2
  exit 2
fi
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  echo "$("$python" --version) is too old; Lanista needs 3.11 or newer: name one with PYTHON=." >&2
  exit 2
fi

"$python" -m venv .venv
.venv/bin/python -m pip install .
.venv/bin/lanista games
echo 'Ready. Begin with: . .venv/bin/activate'
