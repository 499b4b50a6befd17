#!/usr/bin/env bash
# Makes the seeds of fuzz_run: archives of small programs of tests/data, exported by a tern command. seeds.sh TERN FOLDER
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tern=$1 out=$2
# Control flow, data-dependent sizes, mutation, microscaling, optimizers.
programs=(batchnorm_train buffer_mutation cond cond_nested cond_shape_predicate data_dependent dynamic_arith item_size joint_training kv_cache
  map mx_mxfp4 mx_mxfp8_e4m3 opt_adam pt212_kitchen_raw pt212_mut_raw pt212_mxw4_raw pt212_unbacked_raw scan user_input_mutation while_loop)
# Quantized weights of each format: products, experts, convolutions, embeddings, 2:4 sparse ones, integers.
quantized=(all_int4_embedding all_int4_experts all_int8_conv2d ao_int3intx_block grouped_mx_v2_rows pt2e_x86_cnn pt2e_x86_depthwise
  qd_embedding_2bit_4_zero scaled_mm_v2_mx sparse_linear_bfloat16 sparse_linear_int8)
subclasses=(int8_group_embedding mx_e2m1_tiles nvfp4_two_levels_activations_static)
mkdir -p "$out"
unpacked=$(mktemp -d)
trap 'rm -rf "$unpacked"' EXIT
# add ARCHIVE NAME...
add() {
  local archive=$1 name
  zstd -dc --long=27 "tests/data/$archive.tar.zst" | tar -C "$unpacked" --strip-components=1 -xf -
  for name in "${@:2}"; do
    "$tern" export "$unpacked/$name.pt2" -o "$out/$name.tern" >/dev/null
  done
}
add programs "${programs[@]}"
add quantized "${quantized[@]}"
add subclasses "${subclasses[@]}"
# Weights packed for this processor.
"$tern" export "$unpacked/kv_cache.pt2" --target cpu -o "$out/kv_cache_packed.tern" >/dev/null
