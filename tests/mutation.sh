#!/usr/bin/env bash
# Mutation testing by cosmic-ray: how many changed operators, numbers and conditions of the modules that
# judge and measure the tests notice. It works on a copy of the last commit, since it edits files.
#
#   tests/mutation.sh [MODULE ...]      modules of `tests_of` below; all take hours on two cores
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD work=${TMPDIR:-/tmp}/onelayer-mutation
declare -A tests_of=(
  [evidence/verdicts]="tests/unit/test_verdicts.py tests/oracle/test_judgement.py"
  [evidence/intervals]="tests/unit/test_intervals.py tests/oracle/test_intervals.py"
  [topic_structure/wikipedia/measure]="tests/oracle/test_wikipedia.py tests/unit/test_wikipedia.py"
  [local_to_global/canonical]="tests/oracle/test_local_to_global.py tests/unit/test_local_to_global.py"
  [local_to_global/integrator]="tests/oracle/test_local_to_global.py tests/unit/test_local_to_global.py"
)
rm -rf "$work" && mkdir -p "$work/copy"
python -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check cosmic-ray==8.7.0
git archive HEAD | tar -x -C "$work/copy"
cd "$work/copy"
[ $# -gt 0 ] || set -- "${!tests_of[@]}"
for name in "$@"; do
  config=$work/${name//\//_}.toml session=$work/${name//\//_}.sqlite
  cat >"$config" <<EOF
[cosmic-ray]
module-path = "src/onelayer/$name.py"
timeout = 120.0
test-command = "$(command -v python) -m pytest -n0 -q -x -p no:cacheprovider ${tests_of[$name]}"
[cosmic-ray.distributor]
name = "local"
EOF
  "$work/venv/bin/cosmic-ray" init "$config" "$session"
  "$work/venv/bin/cosmic-ray" exec "$config" "$session"
  echo "$name: $("$work/venv/bin/cr-rate" "$session")% of mutants survive"
  "$work/venv/bin/cr-report" --show-diff --surviving-only "$session" >"$root/mutation_${name//\//_}.txt"
done
