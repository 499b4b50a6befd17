#!/usr/bin/env bash
# Averages the weights over the steps, and stops when the held-out loss stops falling: average.sh [TERN] [FOLDER]
#
# `tensorboard --logdir FOLDER/runs` shows the curves.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
tern=${1:-tern} folder=${2:-.}
"$tern" export examples/training/digits.pt2 --train --loss cross_entropy --optimizer adamw --lr 1e-2 --ema 0.95 \
  --gradient-norm -o "$folder/average.tern"
# Held-out figures and --forward are those of the averages.
"$tern" train "$folder/average.tern" --data examples/digits/digits_test.safetensors --array target=labels --epochs 200 \
  --held-out 0.25 --seed 1 --patience 5 --metric f1 --metric auc --tensorboard "$folder/runs" -o "$folder/averaged.tern" \
  --forward "$folder/averaged_forward.tern"
