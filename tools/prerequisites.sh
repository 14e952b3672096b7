#!/bin/sh
# Installs what a target needs and the machine lacks, with apt-get as root or through sudo; where that
# cannot be, says what to install.
#   usage: prerequisites.sh build|deb|test|opencl|numpy
# test installs no driver of OpenCL: tests that compare with one are for whoever has it; opencl does.
# What a target can do without is wished for: one of these that is not to be had stops nothing.
set -u
need=${1:-build}

want() { # package, test command...
    package=$1
    shift
    "$@" >/dev/null 2>&1 || missing="$missing $package"
}
wish() { # the same of what tests can do without: they skip what needs it, and say so
    package=$1
    shift
    "$@" >/dev/null 2>&1 || wished="$wished $package"
}
has() { command -v "$1"; }
has_header() { echo "#include <$1>" | cc -E -; }
has_loader() { echo 'int main(void){return 0;}' | cc -x c - -o /dev/null -lOpenCL; }
has_platform() { ls /etc/OpenCL/vendors/*.icd; }
has_library() { python3 -c "import ctypes, sys; ctypes.CDLL(sys.argv[1])" "$1"; }
has_python_headers() { test -e "$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["include"])')/Python.h"; }
has_syntax() { vim --version | grep -q +syntax; }
has_numpy() { # a python3 of the user's own, or Debian's
    python3 -c 'import numpy' || /usr/bin/python3 -c 'import numpy'
}

# What is not there: in `missing` what the target needs, in `wished` what it can do without.
look() {
    missing=
    wished=
    want gcc has cc
    want libc6-dev test -e /usr/include/stdio.h
    want make has make
    want flex has flex
    want bison has bison
    want libcjson-dev has_header cjson/cJSON.h
    want libmd-dev has_header md5.h
    case $need in
    deb)
        want dpkg-dev has dpkg-shlibdeps
        want lowdown has lowdown
        ;;
    test | opencl)
        want python3 has python3
        want python3-venv python3 -c 'import ensurepip, venv'
        wish clang has clang
        wish clang-format-14 has clang-format-14
        wish dpkg-dev has dpkg-shlibdeps
        wish emacs-nox has emacs
        wish fish has fish
        wish g++ has c++
        wish git has git
        wish groff-base has groff
        wish libedit2 has_library libedit.so.2
        wish libopenmpi-dev has mpicc
        wish lowdown has lowdown
        wish openmpi-bin has mpirun
        wish pkg-config has pkg-config
        wish python3-dev has_python_headers
        wish tcc has tcc
        wish vim has_syntax
        wish zsh has zsh
        ;;
    esac
    case $need in
    opencl)
        wish ocl-icd-opencl-dev has_loader
        wish oclgrind has oclgrind
        wish opencl-headers has_header CL/cl.h
        wish pocl-opencl-icd has_platform
        ;;
    numpy)
        wish python3-numpy has_numpy
        ;;
    esac
}

# All in one call; where that fails, each by itself, so that one that is broken or gone takes no other with it.
install() { # package...
    [ $# = 0 ] && return
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >>"$log" 2>&1 && return
    [ $# = 1 ] && return
    for package in "$@"; do
        install "$package"
    done
}

# The packages that apt-get knows.
known() { # package...
    for package in "$@"; do
        LC_ALL=C apt-cache policy "$package" | grep -q 'Candidate: [^(]' && echo "$package"
    done
}

look
[ -z "$missing$wished" ] && exit 0
if [ "$(id -u)" = 0 ]; then sudo=; else sudo='sudo -n'; fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if command -v apt-get >/dev/null 2>&1 && { [ -z "$sudo" ] || $sudo true 2>/dev/null; }; then
    $sudo apt-get update -qq >>"$log" 2>&1
    set -- $missing $(known $wished)
    [ $# = 0 ] || echo "installing: $*"
    install "$@"
    look
fi
[ -z "$wished" ] || echo "not to be had here, so that tests which need it are skipped:$wished"
[ -z "$missing" ] && exit 0
tail -5 "$log"
echo "minifut needs these packages (Debian and Ubuntu names); please install them:$missing"
exit 1
