#!/usr/bin/env bash
# Makes the seeds of fuzz_run: archives of small programs of tests/data, exported by a tern command. seeds.sh TERN FOLDER
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tern=$1 out=$2
# Control flow, data-dependent sizes, mutation, microscaling, optimizers.
programs=(batchnorm_train buffer_mutation cond cond_nested cond_shape_predicate data_dependent dynamic_arith item_size joint_training kv_cache
  map mx_mxfp4 mx_mxfp8_e4m3 opt_adam pt212_kitchen_raw pt212_mut_raw pt212_mxw4_raw pt212_unbacked_raw scan user_input_mutation while_loop)
mkdir -p "$out"
unpacked=$(mktemp -d)
trap 'rm -rf "$unpacked"' EXIT
zstd -dc --long=27 tests/data/programs.tar.zst | tar -C "$unpacked" --strip-components=1 -xf -
for name in "${programs[@]}"; do
  "$tern" export "$unpacked/$name.pt2" -o "$out/$name.tern" >/dev/null
done
# Weights packed for this processor.
"$tern" export "$unpacked/kv_cache.pt2" --target cpu -o "$out/kv_cache_packed.tern" >/dev/null
