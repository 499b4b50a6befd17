#!/usr/bin/env bash
# Fine-tunes a trained CNN with parameter groups: fine_tune.sh [TERN] [FOLDER]
#
# The first convolution stays as it is, the rest of the features learn at a tenth of the rate, and vectors (biases and
# batch norms) have no weight decay.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
tern=${1:-tern} folder=${2:-.}
"$tern" export examples/digits/digits.pt2 --train --loss cross_entropy --optimizer adamw --lr 1e-3 --weight-decay 0.05 \
  --params 'ndim<2: weight-decay=0' --params 'features: lr=0.1x' --params 'features.0: frozen' -o "$folder/fine_tune.tern"
# The classifier's rate falls to 0, that of the features to a half.
"$tern" train "$folder/fine_tune.tern" --data examples/digits/digits_test.safetensors --array target=labels --epochs 5 \
  --held-out 0.25 --seed 1 --schedule cosine --schedule 'features: linear:0.5' -o "$folder/fine_tuned.tern"
