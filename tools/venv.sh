#!/bin/sh
# Makes the Python environment of the tests in the folder given: Futhark's own clients, which must be
# able to drive a generated server.
set -e
dir=$1
[ -e "$dir/ready" ] && exit 0
python3 -m venv "$dir"
"$dir/bin/pip" -q --disable-pip-version-check install numpy futhark-server futhark-data
touch "$dir/ready"
