#!/bin/sh
# Installs what a target needs and the machine lacks, with apt-get as root or through sudo; where that
# cannot be, says what to install.
#   usage: prerequisites.sh build|deb|run|test|numpy
set -u
need=${1:-build}
missing=
wished=

want() { # package, test command...
    package=$1
    shift
    "$@" >/dev/null 2>&1 || missing="$missing $package"
}
wish() { # the same of what tests can do without: they skip what needs it
    package=$1
    shift
    "$@" >/dev/null 2>&1 || wished="$wished $package"
}
has_header() { echo '#include <CL/cl.h>' | cc -E - ; }
has_loader() { echo 'int main(void){return 0;}' | cc -x c - -o /dev/null -lOpenCL ; }
has_json() { echo '#include <cjson/cJSON.h>' | cc -E - ; }
has_md() { echo '#include <md5.h>' | cc -E - ; }
has_platform() { ls /etc/OpenCL/vendors/*.icd ; }

want gcc sh -c 'command -v cc'
want libc6-dev test -e /usr/include/stdio.h
want make sh -c 'command -v make'
want flex sh -c 'command -v flex'
want bison sh -c 'command -v bison'
if command -v cc >/dev/null 2>&1; then
    want opencl-headers has_header
    want ocl-icd-opencl-dev has_loader
    want libcjson-dev has_json
    want libmd-dev has_md
else
    missing="$missing opencl-headers ocl-icd-opencl-dev libcjson-dev libmd-dev"
fi
if [ "$need" = deb ] || [ "$need" = test ]; then
    want dpkg-dev sh -c 'command -v dpkg-shlibdeps'
    want lowdown sh -c 'command -v lowdown'
fi
if [ "$need" != build ] && [ "$need" != deb ]; then
    want pocl-opencl-icd has_platform
fi
if [ "$need" = test ]; then
    want clang sh -c 'command -v clang'
    want oclgrind sh -c 'command -v oclgrind'
    want zsh sh -c 'command -v zsh'
    want fish sh -c 'command -v fish'
    want groff-base sh -c 'command -v groff'
    want pkg-config sh -c 'command -v pkg-config'
    want python3 sh -c 'command -v python3'
    want python3-venv python3 -c 'import ensurepip, venv'
    wish vim sh -c 'vim --version | grep -q +syntax'
    wish emacs-nox sh -c 'command -v emacs'
fi
if [ "$need" = numpy ]; then # for a python3 of the user's own or Debian's
    want python3-numpy sh -c 'python3 -c "import numpy" || /usr/bin/python3 -c "import numpy"'
fi
[ -z "$missing$wished" ] && exit 0

if [ "$(id -u)" = 0 ]; then sudo=; else sudo='sudo -n'; fi
if command -v apt-get >/dev/null 2>&1 && { [ -z "$sudo" ] || $sudo true 2>/dev/null; }; then
    echo "installing:$missing$wished"
    log=$(mktemp)
    if { $sudo apt-get update -qq; $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
         --no-install-recommends $missing $wished; } >"$log" 2>&1; then
        rm -f "$log"
        exit 0
    fi
    tail -5 "$log"
    rm -f "$log"
fi
[ -z "$missing" ] && exit 0
echo "minifut needs these packages (Debian and Ubuntu names); please install them:$missing"
exit 1
