#!/usr/bin/env bash
# Unpacks the packed test data: unpack.sh FOLDER. Folders newer than their archive stay.
set -euo pipefail
out=$1
mkdir -p "$out"
for name in programs traced models mx subclasses import results values optimizers quantized collective tensor_parallel gradients conformance; do
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
