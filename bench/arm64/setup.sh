#!/usr/bin/env bash
# Sets up `./dev bench arm64` in a folder: setup.sh FOLDER [plugin]. Writes libcounting_plugin.so, and a root
# with an aarch64 Python and the other runtimes. `plugin` makes the plugin alone.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
mkdir -p "$1"
folder=$(realpath "$1")

plugin=$folder/libcounting_plugin.so source=../../tests/arm64/counting_plugin.cpp
[[ $plugin -nt $source ]] || c++ -std=c++20 -O2 -fPIC -shared "$source" -o "$plugin"
[[ ${2:-} != plugin ]] || exit 0

# Debian's Python 3.11 and the libraries that it needs, unpacked and not installed.
python_root() {
  local apt=$folder/apt archive
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/parts"
  : >"$apt/status"
  cat >"$apt/parts/debian.sources" <<SOURCES
Types: deb
URIs: http://deb.debian.org/debian
Suites: bookworm
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
SOURCES
  local options=(-o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$apt/parts" -o "Dir::State::lists=$apt/lists"
    -o "Dir::State::status=$apt/status" -o "Dir::Cache=$apt/cache" -o APT::Architecture=arm64 -o APT::Architectures=arm64
    -o Debug::NoLocking=1 -qq)
  apt-get "${options[@]}" update
  apt-get "${options[@]}" --yes --no-install-recommends --download-only install python3.11 libstdc++6 libgomp1 zlib1g
  local name
  for name in lib bin sbin; do
    mkdir -p "$folder/sysroot/usr/$name"
    ln -sfn "usr/$name" "$folder/sysroot/$name"
  done
  for archive in "$apt"/cache/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$archive" | tar -x -C "$folder/sysroot" --keep-directory-symlink
  done
  rm -rf "$apt"
}

[[ -x $folder/sysroot/usr/bin/python3.11 ]] || python_root
if ! cmp -s peers.txt "$folder/sysroot/peers/requirements.txt"; then
  rm -rf "$folder/sysroot/peers"
  python3 -m pip install --quiet --no-deps --only-binary=:all: --python-version 3.11 --implementation cp \
    --platform manylinux_2_17_aarch64 --platform manylinux2014_aarch64 --platform manylinux_2_27_aarch64 \
    --platform manylinux_2_28_aarch64 --platform manylinux_2_35_aarch64 \
    --target "$folder/sysroot/peers" --requirement peers.txt
  cp peers.txt "$folder/sysroot/peers/requirements.txt"
fi
