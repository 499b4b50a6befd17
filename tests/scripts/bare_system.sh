# shellcheck shell=bash
# Sourced by tests on a bare system made by debootstrap. Needs root and its own mount namespace (in_own_namespace): all
# mounts end with the namespace, and no deletion reaches through a mount.

# in_own_namespace ROOT SCRIPT [ARGUMENT...]: runs the script again in a namespace, with its process number in
# TERN_BARE_INSIDE. Deletes ROOT before and, unless `keep` is set, after.
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

# own_mirror ID: this machine's package archive if /etc/os-release has this ID.
own_mirror() {
  grep -qx "ID=$1" /etc/os-release || return 0
  sed -nE 's/^(URIs:|deb( \[[^]]*\])?) *(http[^ ]*\/'"$1"')\/?( .*)?$/\3/p' /etc/apt/sources.list \
    /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null | head -n 1
}

# mounts ROOT: mounts a running machine's file systems and copies this machine's network settings.
mounts() {
  mount -t proc proc "$1/proc" && mount --rbind /sys "$1/sys" && mount --rbind /dev "$1/dev" || return 1
  cp -L /etc/resolv.conf "$1/etc/resolv.conf"
  [[ ! -e /etc/pip.conf ]] || cp -L /etc/pip.conf "$1/etc/pip.conf"
  apt-config dump 2>/dev/null | grep -iE '^Acquire::[a-z]+::Proxy' >"$1/etc/apt/apt.conf.d/90proxy" || true
}

# bare_debian12 ROOT PACKAGES: makes a minimal Debian 12 with additional packages, separated by commas.
# TERN_DEBIAN_MIRROR replaces this machine's mirror.
bare_debian12() {
  ./dev setup bare || return
  local mirror=${TERN_DEBIAN_MIRROR:-$(own_mirror debian)}
  mkdir -p "$(dirname "$1")"
  debootstrap --variant=minbase --include="$2" bookworm "$1" ${mirror:+"$mirror"} >"$1.log" 2>&1 ||
    { tail -n 5 "$1.log"; return 1; }
  mounts "$1"
}

# inside ROOT COMMAND: runs the command in ROOT/srv without this machine's environment.
inside() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/srv DEBIAN_FRONTEND=noninteractive chroot "$1" bash -c "cd /srv && $2" </dev/null; }
