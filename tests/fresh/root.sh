# A fresh Debian to try things in, for scripts of the shell that read this file: it must be root who runs them, and mmdebstrap is
# needed. `root` is its folder, gone at the end. What is mounted is mounted in a namespace of its own, which ends with its process.

[ "$(id -u)" = 0 ] || { echo "$0 is for root"; exit 2; }
command -v mmdebstrap >/dev/null || { echo "$0 needs mmdebstrap (apt-get install mmdebstrap)"; exit 2; }
tmp=$(mktemp -d)
root=$tmp/root
trap 'rm -rf --one-file-system "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

# A shell in the fresh root, with PATH and HOME of its own. Where pip needs a certificate of this machine's, it has it there.
inside() { # command
    unshare --mount --pid --fork --kill-child sh -c 'mount -t proc proc "$0/proc" && mount -t sysfs -o ro sysfs "$0/sys" &&
        { mountpoint -q "$0/dev/pts" || mount -t devpts -o newinstance,ptmxmode=0666 devpts "$0/dev/pts"; } &&
        { [ -c "$0/dev/ptmx" ] || ln -sf pts/ptmx "$0/dev/ptmx"; } && mount -t tmpfs tmpfs "$0/dev/shm" &&
        exec chroot "$0" /usr/bin/env -i HOME=/mnt PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
            DEBIAN_FRONTEND=noninteractive ${PIP_CERT:+PIP_CERT=/etc/pip-cert.crt} sh -c "cd /mnt && $1"' "$root" "$1"
}

make_root() { # release, option of mmdebstrap...
    release=$1
    shift
    mmdebstrap --variant=apt "$@" "$release" "$root" || return
    [ -z "${PIP_CERT:-}" ] || cp "$PIP_CERT" "$root/etc/pip-cert.crt"
    inside 'apt-get update'
}
