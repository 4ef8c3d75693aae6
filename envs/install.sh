#!/usr/bin/env bash
# Build the environment .venv of this folder: one resolver (uv), with requirements.lock as constraints, so
# that it brings along whatever the torch that it chose needs. What pip is configured to find (another
# index, wheels on this machine) it finds, too.
#
#   envs/install.sh PYTHON [INDEX_WITH_PYTORCH]
set -euo pipefail
python=$1 torch_index=${2:-}
"$python" envs/check.py ${torch_index:+--extra-index-url "$torch_index"}
# Always anew: half an environment never passes for a whole one.
"$python" -m venv --clear .venv
pip=(.venv/bin/python -m pip --disable-pip-version-check)
"${pip[@]}" install --quiet --no-compile uv==0.9.30

of_pip() { # a setting of pip's: from the environment, else from its files
  local name=PIP_${1^^}
  name=${name//-/_}
  if [ -n "${!name+set}" ]; then echo "${!name}"; else "${pip[@]}" config get "global.$1" 2>/dev/null || true; fi
}
# Certificates: those of the system, and the file that pip is told of.
export UV_NATIVE_TLS=1
certificate=$(of_pip cert)
[ -z "$certificate" ] || export SSL_CERT_FILE=$certificate
proxy=$(of_pip proxy)
[ -z "$proxy" ] || export HTTPS_PROXY=$proxy
options=()
for host in $(of_pip trusted-host); do options+=(--allow-insecure-host "$host"); done
for links in $(of_pip find-links); do options+=(--find-links "$links"); done
for index in $torch_index $(of_pip extra-index-url); do options+=(--index "$index"); done
for index in $(of_pip index-url); do options+=(--default-index "$index"); done
# Names are looked up in all indexes, as pip does. The locale is for folders whose names are not ASCII,
# which setuptools cannot write down in a plain C locale.
LC_ALL=C.UTF-8 .venv/bin/uv pip install --quiet --python .venv/bin/python \
  --index-strategy unsafe-best-match "${options[@]}" \
  --constraint requirements.lock --editable '.[pipeline,cluster,dev,docs]'
# A relative path, because Python 3.12 cannot read one that is not ASCII in a plain C locale.
for file in .venv/lib/python*/site-packages/__editable__.onelayer-*.pth; do
  echo ../../../../src >"$file"
done
# Left uncompiled are tests of libraries and models of transformers that nothing here imports.
.venv/bin/python -m compileall -qq -j 0 \
  -x '/tests?/|/transformers/models/(?!_|auto|albert|bart|bert|electra|mpnet|roberta)' .venv/lib || true
