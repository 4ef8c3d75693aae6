#!/usr/bin/env bash
# Does README's first command work on a machine that has Python and the public package index alone?
# A fresh environment from a clean clone for each Python from 3.11 to 3.14, or for those named, in a
# folder with a space and an umlaut, without a locale; `make quick` in it to its end. Gigabytes each.
#
#   tests/install.sh [PYTHON ...]
set -uo pipefail
repository=$(cd "$(dirname "$0")/.." && pwd)
found() {
  for version in 3.11 3.12 3.13 3.14; do
    for python in "python$version" "$(pyenv root 2>/dev/null)"/versions/$version.*/bin/python; do
      "$python" -c '' 2>/dev/null && command -v "$python" && break
    done
  done
}
[ $# -gt 0 ] || mapfile -t pythons < <(found)
[ $# -gt 0 ] && pythons=("$@")
[ ${#pythons[@]} -gt 0 ] || { echo 'no Python from 3.11 on was found' >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C PIP_CONFIG_FILE=/dev/null PIP_FIND_LINKS= PIP_NO_CACHE_DIR=1 UV_NO_CACHE=1 UV_NO_CONFIG=1
unset PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_NO_INDEX UV_INDEX UV_DEFAULT_INDEX UV_FIND_LINKS PYTHONPATH VIRTUAL_ENV
failed=0
printf '%s\n' '| Python | install, s | .venv, MB | make quick, s | torch | result |' '|---|---|---|---|---|---|'
for python in "${pythons[@]}"; do
  clone="$work/one läyer"
  cd "$work" && rm -rf "$clone"
  git clone --quiet "$repository" "$clone" || exit 1
  cd "$clone" || exit 1
  start=$SECONDS
  if make install PYTHON="$python" >"$work/log" 2>&1; then
    installed=$((SECONDS - start)) start=$SECONDS
    size=$(du -sm .venv | cut -f1)
    torch=$(.venv/bin/python -c 'import torch; print(torch.__version__)' 2>>"$work/log")
    make quick >>"$work/log" 2>&1 && result=passed || result=failed
  else
    installed=$((SECONDS - start)) start=$SECONDS size=- torch=- result=failed
  fi
  version=$("$python" -c 'import platform; print(platform.python_version())')
  echo "| $version | $installed | $size | $((SECONDS - start)) | $torch | $result |"
  [ "$result" = passed ] || { failed=1; tail -n 20 "$work/log" >&2; }
done
exit $failed
