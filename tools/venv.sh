#!/bin/sh
# Makes the Python environment of the tests in the folder given: NumPy, pytest, what runs notebooks, and Futhark's own clients, which
# must be able to drive a generated server. What pip does not get is missing, and what needs it is skipped; NumPy is then
# the system's (Debian's python3-numpy), if there is one. The next call tries again.
set -e
dir=$1
packages='numpy futhark-server futhark-data futhark-ffi setuptools matplotlib pytest nbclient ipykernel'
[ "$(cat "$dir/ready" 2>/dev/null)" = "$packages" ] && exit 0

get() { # packages...
    "$dir/bin/pip" -q --disable-pip-version-check install --timeout 15 --retries 1 "$@" >>"$dir/pip.log" 2>&1
}

python3 -m venv --clear "$dir"
if get $packages; then
    echo "$packages" >"$dir/ready"
    exit 0
fi
if get numpy; then
    for package in $packages; do
        get "$package" || echo "pip does not get $package: what needs it is skipped"
    done
    exit 0
fi
echo "pip does not get numpy ($(tail -1 "$dir/pip.log")): what needs Futhark's clients is skipped"
tools/prerequisites.sh numpy
for python in python3 /usr/bin/python3; do
    if "$python" -c 'import numpy' 2>/dev/null; then
        exec "$python" -m venv --clear --system-site-packages "$dir"
    fi
done
