#!/usr/bin/env bash
# Checks layout, layers, names, and clang-tidy: lint.sh [--all]. Without --all clang-tidy reads the .cpp files that differ from
# main (or, on main, from the previous commit).
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
status=0
format=$(command -v clang-format-14 || command -v clang-format) || { echo 'lint: no clang-format' >&2; exit 1; }
tidy=$(command -v clang-tidy-14 || command -v clang-tidy) || { echo 'lint: no clang-tidy' >&2; exit 1; }

# rope.c has a macro with handmade layout.
mapfile -t sources < <(git ls-files '*.h' '*.c' '*.cpp' ':!examples/custom_op/rope.c')
"$format" --dry-run -Werror "${sources[@]}" || status=1
tests/scripts/check_layers.py || status=1
tests/scripts/names.py || status=1

if [[ ${1:-} == --all ]]; then
  mapfile -t changed < <(git ls-files '*.cpp')
else
  base=$(git merge-base HEAD main 2>/dev/null || true)
  [[ -n $base && $base != "$(git rev-parse HEAD)" ]] || base=$(git rev-parse -q --verify HEAD~1 || git rev-parse HEAD)
  mapfile -t changed < <(git diff --name-only --diff-filter=d "$base" -- '*.cpp')
fi
# Only compiled files have flags; the examples' consumers are separate projects.
cmake/configure.sh default build-lint -DTERN_UNITY=OFF || exit 1  # with the flags of each file
ninja -C build-lint --quiet tern_archive_header || exit 1
known=()
for source in "${changed[@]}"; do
  grep -qF "/$source\"" build-lint/compile_commands.json && known+=("$source")
done
if ((${#known[@]})); then
  # clang refuses unknown GCC flags.
  mkdir -p build-lint/lint
  sed 's/ -fvect-cost-model=[a-z]*//g' build-lint/compile_commands.json >build-lint/lint/compile_commands.json
  printf 'clang-tidy reads %d files\n' "${#known[@]}"
  printf '%s\0' "${known[@]}" |
    nice xargs -0 -n 1 -P "${TERN_JOBS:-$(nproc)}" "$tidy" -p build-lint/lint --quiet --extra-arg=-Wno-unknown-warning-option 2>/dev/null ||
    status=1
fi
((status == 0)) && echo 'lint: nothing to say'
exit "$status"
