# shellcheck shell=bash
# Sourced by the scripts that test on a system which debootstrap makes: needs root and a mount namespace of the script's own
# (in_own_namespace), so that all mounts end with it and nothing can delete through them.

# in_own_namespace ROOT SCRIPT [ARGUMENT...]: runs the script again in a namespace, with TERN_BARE_INSIDE set to its process
# number, and deletes ROOT before and, unless `keep` is set, after.
in_own_namespace() {
  local root=$1 status=0
  shift
  rm -rf --one-file-system "$root"
  # shellcheck disable=SC2016
  unshare --mount --pid --fork --kill-child --propagation private -- \
    bash -c 'TERN_BARE_INSIDE=$$ exec "$0" "$@"' "$@" || status=$?
  [[ ${keep:-} ]] || rm -rf --one-file-system "$root"
  return $status
}

# own_mirror ID: the archive of packages that this machine uses, if it runs the system of that name in /etc/os-release.
own_mirror() {
  grep -qx "ID=$1" /etc/os-release || return 0
  sed -nE 's/^(URIs:|deb( \[[^]]*\])?) *(http[^ ]*\/'"$1"')\/?( .*)?$/\3/p' /etc/apt/sources.list \
    /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null | head -n 1
}

# mounts ROOT: what a machine has that runs, and how this one reaches the network.
mounts() {
  mount -t proc proc "$1/proc" && mount --rbind /sys "$1/sys" && mount --rbind /dev "$1/dev" || return 1
  cp -L /etc/resolv.conf "$1/etc/resolv.conf"
  [[ ! -e /etc/pip.conf ]] || cp -L /etc/pip.conf "$1/etc/pip.conf"
  apt-config dump 2>/dev/null | grep -iE '^Acquire::[a-z]+::Proxy' >"$1/etc/apt/apt.conf.d/90proxy" || true
}

# bare_debian12 ROOT PACKAGES: Debian 12 with a comma-separated list of packages beside the smallest set. TERN_DEBIAN_MIRROR
# names another mirror than this machine's own.
bare_debian12() {
  ./dev setup bare || return
  local mirror=${TERN_DEBIAN_MIRROR:-$(own_mirror debian)}
  mkdir -p "$(dirname "$1")"
  debootstrap --variant=minbase --include="$2" bookworm "$1" ${mirror:+"$mirror"} >"$1.log" 2>&1 ||
    { tail -n 5 "$1.log"; return 1; }
  mounts "$1"
}

# inside ROOT COMMAND: in its /srv, with nothing of this machine's environment.
inside() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/srv DEBIAN_FRONTEND=noninteractive chroot "$1" bash -c "cd /srv && $2" </dev/null; }
