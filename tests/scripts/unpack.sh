#!/usr/bin/env bash
# Unpacks the packed test data: unpack.sh FOLDER. What is there already and not older than its archive stays.
# FOLDER/few/conformance has links to the cases of every fourth op.
set -euo pipefail
out=$1
mkdir -p "$out"
for name in programs traced models mx subclasses import results values optimizers quantized collective tensor_parallel gradients gguf museum conformance; do
  archive=tests/data/$name.tar.zst
  [[ -e $out/$name.unpacked && ! $archive -nt $out/$name.unpacked ]] && continue
  rm -rf "${out:?}/$name"
  # The conformance archive has no top folder.
  into=$out
  [[ $name == conformance ]] && into=$out/$name
  mkdir -p "$into"
  zstd -dc --long=27 "$archive" | tar -xf - -C "$into"
  touch "$out/$name.unpacked"
done
few=$out/few/conformance
rm -rf "$out/few" && mkdir -p "$few"
find "$out/conformance" -mindepth 1 -maxdepth 1 -type d | LC_ALL=C sort | awk 'NR % 4 == 1' | xargs -r cp -al -t "$few"
