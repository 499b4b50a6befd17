#!/usr/bin/env bash
# Runs the README's two commands and ./dev site in a fresh clone of the last commit on a bare system made by debootstrap:
# bare.sh debian12|ubuntu24 [OPTION...]
#   --base FOLDER    copy a system made earlier by debootstrap
#   --ccache FOLDER  share a compiler cache, to save time
#   --keep           leave the system under build/bare/ for inspection
# Needs root. debian12 runs as root without sudo; ubuntu24 as a user with sudo, in a folder with a space in its name.
# TERN_DEBIAN_MIRROR and TERN_UBUNTU_MIRROR name the package mirror; default: the mirror in /etc/apt if this machine
# runs the same system, else debootstrap's. `none` skips the system. Proxies and pip's settings enter as environment
# variables.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/count.sh"
. "$(dirname "${BASH_SOURCE[0]}")/bare_system.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit

system=${1:-} base='' ccache='' keep=''
(($#)) && shift
while (($#)); do
  case $1 in
    --base) base=${2:?--base takes a folder} && shift ;;
    --ccache) ccache=$(realpath "${2:?--ccache takes a folder}") && shift ;;
    --keep) keep=1 ;;
    *) echo "bare.sh: no option '$1'" >&2 && exit 2 ;;
  esac
  shift
done
# The system's name in /etc/os-release, suite, components of the archive, packages of a usual installation, user, folder.
case $system in
  debian12)
    id=debian suite=bookworm components=main packages=ca-certificates,git user=root place=/root mirror=${TERN_DEBIAN_MIRROR:-}
    ;;
  ubuntu24)
    id=ubuntu suite=noble components=main,universe packages=ca-certificates,git,sudo user=ada place='/home/ada/my code'
    mirror=${TERN_UBUNTU_MIRROR:-}
    ;;
  *) echo 'usage: bare.sh debian12|ubuntu24 [--base FOLDER] [--ccache FOLDER] [--keep]' >&2 && exit 2 ;;
esac
root=$PWD/build/bare/$system
say() { printf '== %s: %s\n' "$system" "$*"; }
give_up() {
  printf 'FAIL %s: %s\n0 passed, 1 failed\n' "$system" "$*"
  exit 1
}
# Machines without an archive skip the system explicitly, not by chance.
if [[ $mirror == none ]]; then
  say "left out, as TERN_${id^^}_MIRROR=none asks"
  printf '0 passed, 0 failed\n'
  exit
fi
((EUID == 0)) || give_up 'needs root: debootstrap and chroot do'

# All mounts are in a namespace of this script's own.
if [[ ${TERN_BARE_INSIDE:-} != "$$" ]]; then
  arguments=()
  [[ $base ]] && arguments+=(--base "$base")
  [[ $ccache ]] && arguments+=(--ccache "$ccache")
  in_own_namespace "$root" "${BASH_SOURCE[0]}" "$system" "${arguments[@]}"
  exit
fi

# The first process of a namespace ignores signals without a handler.
trap 'exit 130' INT TERM HUP

make_system() {
  if [[ $base ]]; then
    cp -a "$base" "$root"
    return
  fi
  say 'debootstrap'
  ./dev setup bare || return 1
  [[ $mirror ]] || mirror=$(own_mirror "$id")
  # An older debootstrap has no script for a newer suite; the scripts of a system are alike.
  local scripts=$PWD/build/bare/debootstrap options=()
  rm -rf "$scripts"
  cp -r /usr/share/debootstrap "$scripts"
  [[ -e $scripts/scripts/noble ]] || ln -s gutsy "$scripts/scripts/noble"
  # Debian has no keyring of Ubuntu's; the system's own apt checks signatures from then on.
  [[ -e /usr/share/keyrings/$id-archive-keyring.gpg ]] || options+=(--no-check-gpg)
  DEBOOTSTRAP_DIR=$scripts debootstrap "${options[@]}" --variant=minbase --components="$components" --include="$packages" \
    "$suite" "$root" ${mirror:+"$mirror"} >"$root.log" 2>&1 || { tail -n 5 "$root.log"; return 1; }
  # An installed system also lists updates.
  sed -i "p; s/ $suite / $suite-updates /" "$root/etc/apt/sources.list"
}

# Mounts files and folders named in variables below /host, and passes their new paths.
environment=()
pass_environment() {
  local name value
  for name in $(compgen -e | grep -iE '^(PIP_.*|(http|https|ftp|all|no)_proxy|SSL_CERT_FILE|REQUESTS_CA_BUNDLE|TERN_JOBS|CI|TERM)$'); do
    value=${!name}
    if [[ $value == /* && -e $value ]]; then
      mkdir -p "$root/host"
      if [[ -d $value ]]; then mkdir "$root/host/$name"; else touch "$root/host/$name"; fi
      mount --bind "$value" "$root/host/$name" && value=/host/$name
    fi
    environment+=("$name=$value")
  done
}

add_user() {
  if [[ $user != root ]]; then
    chroot "$root" useradd --create-home --shell /bin/bash "$user"
    printf '%s ALL=(ALL) NOPASSWD:ALL\nDefaults env_keep += "%s"\n' "$user" "http_proxy https_proxy no_proxy" \
      >"$root/etc/sudoers.d/$user"
  fi
  chroot "$root" install -d -o "$user" "$place"
  if [[ $ccache ]]; then
    mkdir -p "$root/host/ccache" && mount --bind "$ccache" "$root/host/ccache"
    chroot "$root" chown -R "$user" /host/ccache
    # ccache hashes the language of messages.
    environment+=(CCACHE_DIR=/host/ccache "CCACHE_BASEDIR=$place" CCACHE_NOHASHDIR=1 ${LANG:+"LANG=$LANG"})
  fi
}

# as_user COMMAND: runs in the user's folder, with only a login's variables.
as_user() {
  local home
  home=$(chroot "$root" getent passwd "$user" | cut -d : -f 6)
  chroot --userspec="$user" "$root" env -i "HOME=$home" "USER=$user" "LOGNAME=$user" \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${environment[@]}" \
    bash -c "cd '$place' && $1" </dev/null
}

mkdir -p "$(dirname "$root")"
make_system || give_up "debootstrap could not make it${mirror:+ from $mirror}; TERN_${id^^}_MIRROR names another mirror, or none to leave it out"
mounts "$root" && pass_environment && add_user || give_up 'it could not be set up'
commit=$(git rev-parse HEAD)
git bundle create -q "$root/tern.bundle" HEAD || give_up 'git could not bundle the last commit'
start=$SECONDS
say "git clone, commit ${commit:0:10}$([[ $(git status --porcelain --untracked-files=no) ]] && echo '; what is not committed is left out')"
as_user 'git -c advice.detachedHead=false clone -q /tern.bundle tern' || give_up 'git clone failed'
say './dev demo'
try './dev demo' as_user 'cd tern && ./dev demo'
# Debian 12's Python is 3.11.2: pinned packages must not ask for a later one.
say './dev site'
try './dev site' as_user 'cd tern && ./dev site'
say "./dev test, after $((SECONDS - start)) s"
try './dev test' as_user 'cd tern && ./dev test'
say "done after $((SECONDS - start)) s"
logs=$root$place/tern/build/test-logs
rm -rf "$root-logs"
[[ -d $logs ]] && cp -r "$logs" "$root-logs"
add "$root-logs/total.txt"
report
