#!/usr/bin/env bash
# Makes the package, unpacks it outside the build, and uses it without help from the environment.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/count.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
./dev package >"$out/package.log" || exit 1
package=$(sed -n 's/^\(dist\/.*\.tar\.gz\), .*/\1/p' "$out/package.log")
tar -xzf "$package" -C "$out" || exit 1
root=$(echo "$out"/tern-*)
# Everything but glibc comes from the package.
self_contained() {
  local file foreign
  for file in "$root"/bin/tern "$root"/lib/libtern.so; do
    foreign=$(env -i ldd "$file" | awk '$3 ~ /^\// {print $3}' | xargs -r realpath | grep -v "^$(realpath "$root")/" |
      grep -vE '/(libc|libm|libdl|libpthread|librt|libmvec|ld-linux[^/]*)\.so[^/]*$')
    [[ -z $foreign ]] || { echo "$file needs $foreign"; return 1; }
    if env -i ldd "$file" | grep 'not found'; then return 1; fi
  done
}
# No symbol of a glibc newer than Debian 12's.
old_enough() {
  local newest
  newest=$(objdump -T "$root"/bin/* "$root"/lib/*.so* | grep -oE 'GLIBC_2\.[0-9]+' | sort -Vu | tail -n 1)
  echo "needs $newest"
  [[ $(printf '%s\n' "$newest" GLIBC_2.36 | sort -V | tail -n 1) == GLIBC_2.36 ]]
}
licences() {
  local library
  for library in "$root"/lib/*.so*; do
    [[ $(basename "$library") == libtern.so* || -s $root/share/doc/tern/licences/$(basename "$library" | sed 's/\.so.*//').txt ]] ||
      { echo "no licence text of $library"; return 1; }
  done
  [[ -s $root/share/doc/tern/LICENSE ]]
}
try 'nothing from outside but glibc' self_contained
try 'glibc 2.36 is enough' old_enough
try 'licence texts' licences
for page in man/man1/tern.1 man/man1/tern-run.1 bash-completion/completions/tern zsh/site-functions/_tern \
  fish/vendor_completions.d/tern.fish; do
  try "share/$page" test -s "$root/share/$page"
done
try 'tern --version' env -i "$root/bin/tern" --version
try 'tern export' env -i "$root/bin/tern" export examples/digits/digits.pt2 -o "$out/digits.tern"
try 'tern validate' env -i "$root/bin/tern" validate "$out/digits.tern"
try 'tern run' env -i "$root/bin/tern" run "$out/digits.tern" --random --size s34=2
try 'tern view --html' env -i "$root/bin/tern" view "$out/digits.tern" --html "$out/digits.html"
# The server is not in the package.
no_server() {
  env -i "$root/bin/tern" view "$out/digits.tern" --no-browser >/dev/null 2>"$out/view.log"
  [[ $? -ne 0 ]] && grep -q 'libcpp-httplib-dev' "$out/view.log" && grep -q -e '--html' "$out/view.log"
}
try 'tern view says what it lacks' no_server
tests/scripts/consumers.sh build-release "$root" >"$out/consumers.log" 2>&1
cat "$out/consumers.log"
add "$out/consumers.log"
./dev setup packaging && tests/scripts/release_test.sh "$package" >"$out/release.log" 2>&1
cat "$out/release.log"
add "$out/release.log"
report
