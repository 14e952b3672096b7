#!/bin/sh
# Makes the Python environment of the tests in the folder given: NumPy, and Futhark's own clients, which must
# be able to drive a generated server. Where pip does not reach them NumPy is the system's (Debian's
# python3-numpy) and the clients are missing; what needs them is then skipped, and the next call tries again.
set -e
dir=$1
[ -e "$dir/ready" ] && exit 0
python3 -m venv --clear "$dir"
if "$dir/bin/pip" -q --disable-pip-version-check install --timeout 15 --retries 1 \
    numpy futhark-server futhark-data futhark-ffi setuptools matplotlib >"$dir/pip.log" 2>&1; then
    touch "$dir/ready"
    exit 0
fi
echo "pip does not get numpy, futhark-server and futhark-data ($(tail -1 "$dir/pip.log")): tests with Futhark's clients are skipped"
tools/prerequisites.sh numpy
for python in python3 /usr/bin/python3; do
    if "$python" -c 'import numpy' 2>/dev/null; then
        exec "$python" -m venv --clear --system-site-packages "$dir"
    fi
done
echo "there is no Python with NumPy"
exit 1
