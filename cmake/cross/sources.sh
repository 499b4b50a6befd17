#!/usr/bin/env bash
# sources.sh: unpacks Debian's source packages of Tern's libraries into build/cross/sources/NAME.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
packages=(libzstd fmtlib xxhash libzip zlib pcre2 utf8proc cpp-httplib)
folder=$PWD/build/cross/sources
[[ $(cat "$folder/packages.txt" 2>/dev/null) == "${packages[*]}" ]] && exit
echo "Downloading sources of libraries: 8 MB" >&2
rm -rf "$folder"
mkdir -p "$folder"/apt/{sources,lists/partial,cache/archives/partial}
# The machine's archives, for source packages.
for list in /etc/apt/sources.list.d/*.sources; do
  [[ -f $list ]] && sed 's/^Types:.*/Types: deb-src/' "$list" >"$folder/apt/sources/$(basename "$list")"
done
sed -n "s/^deb /deb-src /p" /etc/apt/sources.list /etc/apt/sources.list.d/*.list >"$folder/apt/sources/lines.list" 2>/dev/null || true
# shellcheck source=/dev/null
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
apt=(apt-get -qq -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$folder/apt/sources"
  -o "Dir::State::lists=$folder/apt/lists" -o "Dir::Cache=$folder/apt/cache" -o APT::Sandbox::User=root)
"${apt[@]}" update
cd "$folder"
for package in "${packages[@]}"; do
  # Mirrors of updates may lack sources: those of the release then serve.
  "${apt[@]}" source "$package" >"$package.log" 2>&1 || "${apt[@]}" source "$package/$release" >"$package.log" 2>&1 ||
    { cat "$package.log" >&2 && exit 1; }
  mv "$package"-*/ "$package"
done
rm -rf ./*.tar.* ./*.diff.gz
printf '%s\n' "${packages[*]}" >packages.txt
