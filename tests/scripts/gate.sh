#!/usr/bin/env bash
# The parts of `./dev test`. A part is a command whose last line is `N passed, N failed`; one that ends otherwise counts
# as one failure. The sum over all parts is this script's own last line.
# gate.sh [--full] [--only PATTERN]: the parts whose names match an extended regular expression, and those that prepare.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
scripts=tests/scripts
full=''
only=''
while (($#)); do
  case $1 in
    --full) full=--full ;;
    --only) only=${2:?--only takes a pattern} && shift ;;
  esac
  shift
done
logs=build/test-logs
data=build/test-data
reports=build/test-reports
passed=0
failed=0
parts=()
[[ -t 1 ]] && terminal=1 || terminal=0
[[ $only ]] || rm -rf "$logs"
mkdir -p "$logs"

# part NAME COMMAND...: runs it with its output in a log, adds its counts, shows the end of the log when something failed.
# Between `together` and `apart` a part does not wait for those before it: for parts that use one core.
# Where somebody stops this script, they stop too.
trap 'exit 130' INT TERM
trap 'kill $(jobs -rp) 2>/dev/null' EXIT
lanes=0
together() { lanes=${TERN_JOBS:-$(nproc)}; }
apart() {
  lanes=0
  wait
}
part() {
  local name=$1
  [[ $name =~ $only || $name == build || $name == 'unpack the test data' ]] || return 0
  parts+=("$name")
  rm -f "$(log_of "$name").counts"
  if ((lanes)); then
    while (($(jobs -rp | wc -l) >= lanes)); do wait -n; done
    run_part "$@" &
  else
    run_part "$@"
  fi
}
log_of() { echo "$logs/${1//[^a-z0-9]/-}.log"; }
run_part() {
  local name=$1 log start=$SECONDS status=0 last p=0 f=0
  log=$(log_of "$name")
  shift
  ((terminal)) && printf '%-28s ...\r' "$name"
  "$@" >"$log" 2>&1 || status=$?
  last=$(tail -n 1 "$log")
  if [[ $last =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
    p=${BASH_REMATCH[1]} f=${BASH_REMATCH[2]}
    # A command that says that all is well and does not end well has failed.
    ((status == 0 || f > 0)) || f=1
  else
    f=1
  fi
  echo "$p $f" >"$log.counts"
  # One write, so that the lines of two parts do not mix.
  printf '%s\n' "$(
    printf '%-28s %6d passed %5d failed %6d s\n' "$name" "$p" "$f" "$((SECONDS - start))"
    if ((f > 0)); then
      { grep -aE '^(FAIL|\[  FAILED  \] |ERROR)' "$log" | sort -u | head -n 40 || true; } | sed 's/^/    /'
      [[ $last =~ passed,\ [0-9]+\ failed$ ]] || tail -n 25 "$log" | sed 's/^/    /'
      printf '    (all of it: %s; exit status %d)\n' "$log" "$status"
    fi
  )"
}

# A part of one check: the command's exit status is the result.
check() { part "$1" once "$@"; }
once() {
  # shellcheck source=tests/scripts/count.sh
  (. $scripts/count.sh && try "$@" && report)
}

compiled() {
  local preset=$1 folder=$2
  cmake/configure.sh "$preset" "$folder" &&
    nice ninja -C "$folder" -j "${TERN_JOBS:-$(nproc)}" --quiet
}

# conform NAME FOLDER PATH...: the cases of PATH with the command of a build folder, against the list of known failures.
conform() {
  local name=$1 folder=$2
  shift 2
  part "$name" $scripts/conform.py --tern "$folder/tern" --known tests/data/conformance_expected_failures.txt \
    --reports "$reports/$folder" "$@"
}

total=$SECONDS
# What a test packs must not depend on what an earlier one left.
export TERN_WEIGHT_CACHE=off
# The unit tests look at this: corruption at every byte, a file of over 5 GB.
[[ $full == --full ]] && export TERN_TEST_FULL=1
check build compiled default build
check layers $scripts/check_layers.py
check 'lists of sources' $scripts/sources.py --check
check 'size of the library' $scripts/size.sh build
part 'unit tests' $scripts/unit.sh build
check 'unpack the test data' $scripts/unpack.sh $data
conform programs build $data/programs
conform mx build $data/mx
conform subclasses build $data/subclasses
conform import build $data/import
conform traced build $data/traced
conform results build $data/results
conform values build $data/values
conform optimizers build $data/optimizers
part 'optimizers, recognised' $scripts/recognised.py --tern build/tern $data/optimizers
conform quantized build $data/quantized
part 'quantized weights' $scripts/quantized.py --tern build/tern $data/quantized
conform collective build $data/collective
part gradients build/tern conform --gradients --no-table "$data/gradients"
conform models build $data/models
conform conformance build $data/conformance
# Processors without matrix tiles take other algorithms. On such a processor these parts would repeat the two above.
has_tiles() { grep -qw amx_tile /proc/cpuinfo; }
has_tiles && part 'models, no tiles' env TERN_AMX=0 $scripts/conform.py --tern build/tern \
  --known tests/data/conformance_expected_failures.txt --reports "$reports/no-tiles" $data/models
has_tiles && part 'conformance, no tiles' env TERN_AMX=0 $scripts/conform.py --tern build/tern \
  --known tests/data/conformance_expected_failures.txt --reports "$reports/no-tiles" $data/conformance
# Each algorithm of products and convolutions, wherever it can be taken (`tern export --tune` may choose any).
for algorithm in $(has_tiles && echo tiles channels_last_tiles) channels_last_lines channels_last_columns winograd planes blocks onednn in_place; do
  part "models by $algorithm" env TERN_ALGORITHM=$algorithm $scripts/conform.py --tern build/tern \
    --known tests/data/conformance_expected_failures.txt $data/models
done
# device_of RUNTIME: the device of Tern on a runtime of device.sh.
device_of() { [[ $1 == cuda || $1 == rocm || $1 == metal ]] && echo "$1" || echo xpu; }
title_of() { [[ $(device_of "$1") == "$1" ]] && echo "$1, emulated" || echo "xpu, $1"; }
# on_device RUNTIME EVERY PATH...: the cases of PATH there; every one of EVERY and the first of each op, all of them with
# --full.
on_device() {
  local runtime=$1 every=$2
  shift 2
  [[ $full == --full ]] && every=1
  part "$(title_of "$runtime")" $scripts/device.sh "$runtime" $scripts/conform.py --tern build/tern \
    --device "$(device_of "$runtime")" --every "$every" --may-pass --known tests/data/device_expected_failures.txt \
    --reports "$reports/$runtime" "$@"
}
# on_runtime RUNTIME: streams, events and graphs there.
on_runtime() {
  check "streams and graphs, $1" env "TERN_TEST_NEEDS=$(device_of "$1")" \
    $scripts/device.sh "$1" build/test_devices "--gtest_filter=*$(device_of "$1")*:Devices.*"
}
# same_bits RUNTIME EVERY: the CPU's bits there.
same_bits() {
  local runtime=$1 every=$2 ops=$data/conformance
  [[ $runtime == rocm ]] && ops=$few
  [[ $full == --full ]] && every=1
  part "same bits, $runtime" $scripts/device.sh "$runtime" $scripts/conform.py --tern build/tern \
    --same-bits "cpu,$(device_of "$runtime")" --every "$every" \
    --may-pass --known tests/data/reproducible_expected_failures.txt $data/results $data/values "$ops"
}
# As same_bits, for instruction sets: each other one against the first.
for level in avx2 avx512 baseline; do
  use=check
  [[ $level == avx2 ]] && use=save
  part "same bits, $level" env "TERN_CPU=$level" $scripts/conform.py --tern build/tern "--$use-bits" $reports/bits.txt \
    --every "$([[ $full == --full ]] && echo 1 || echo 10)" --may-pass \
    --known tests/data/reproducible_expected_failures.txt $data/conformance
done
# Origins, names of values and annotations are for messages: without them the bits are the same.
for folder in programs models results values optimizers; do
  for use in save check; do
    texts=()
    [[ $use == check ]] && texts=(--no-texts)
    part "same bits, no texts, $folder, $use" $scripts/conform.py --tern build/tern "--$use-bits" \
      "$reports/texts-$folder.txt" "${texts[@]}" --may-pass --known tests/data/reproducible_expected_failures.txt \
      "$data/$folder"
  done
done
# Whole programs and models by the kernels that export compiled into their archives: a run compiles nothing.
# kernels_of_archives RUNTIME TARGET EVERY PATH...
kernels_of_archives() {
  local runtime=$1 target=$2 every=$3
  shift 3
  [[ $full == --full ]] && every=1 && set -- "$@" "$data/conformance"
  part "${target%%:*}, kernels of archives" env TERN_NO_COMPILE=1 $scripts/device.sh "$runtime" $scripts/conform.py \
    --tern build/tern --device "${target%%:*}" --target "$target" --every "$every" --may-pass \
    --known tests/data/device_expected_failures.txt "$@"
}
# A quarter of the ops, for devices that run what another one has run (all of them with --full): as links.
few=$data/few/conformance
rm -rf "$data/few" && mkdir -p "$few"
find $data/conformance -mindepth 1 -maxdepth 1 -type d | LC_ALL=C sort | awk 'NR % 4 == 1' | xargs -r cp -al -t "$few"
[[ $full == --full ]] && few=$data/conformance
together
on_runtime intel
on_runtime cuda
on_runtime rocm
on_runtime metal
check 'unit tests, metal 3' $scripts/device.sh metal env TERN_EMULATOR_MACOS=14 build/test_gpu_metal
check 'kernels by groups, intel' env TERN_XPU_GROUPS=1 $scripts/device.sh intel build/test_devices \
  '--gtest_filter=*RowsTest*xpu*:*SortTest*xpu*:*ScanTest*xpu*:*TurnedTest*xpu*:*WideTest*xpu*:*MatricesTest*xpu*:*MatrixUnitsTest*xpu*:*ProductsTest*xpu*:*ConvolutionsTest*xpu*:*AttentionTest*xpu*'
[[ $full == --full ]] && on_runtime pocl
apart
cases=($data/programs $data/collective $data/results $data/optimizers $data/quantized $data/conformance)
on_device intel 15 "${cases[@]}" $data/models
kernels_of_archives intel xpu:spirv 10 $data/programs $data/models
same_bits intel 10
# PoCL and the device of examples/device compile slowly.
if [[ $full == --full ]]; then
  on_device pocl 1 "${cases[@]}" $data/models
  same_bits pocl 1
  part 'device, example' $scripts/device.sh example $scripts/conform.py --tern build/tern --device example --may-pass \
    --known tests/data/device_expected_failures.txt --reports "$reports/example" $data/programs $data/models $data/conformance
else
  on_device pocl 10 $data/programs $data/collective $data/results
fi
# The plugins of GPUs over emulated drivers, which run what the vendors' compilers make of the kernels (tests/gpu).
# What all of them run is the same portable text: cuda has cases of every op.
on_device cuda 40 "${cases[@]}" $data/models
same_bits cuda 40
cases=("${cases[@]/%$data\/conformance/$few}")
on_device rocm 40 "${cases[@]}" $data/models
same_bits rocm 40
part 'versions of GPUs' $scripts/gpu_versions_test.py build
# Machine code for sm_90; the emulated driver executes the PTX of the same texts.
kernels_of_archives cubin cuda:sm_90 40 $data/programs $data/models
# Metal, over a stand-in for Apple's libraries. It has no float64: cases that need it are refused, and bits are compared
# with those of another device without it.
on_metal() {
  local name=$1 known=$2
  shift 2
  part "$name" $scripts/device.sh metal $scripts/conform.py --tern build/tern --every "$([[ $full == --full ]] && echo 1 || echo 60)" \
    --refused 'float64, which this device does not have' --may-pass --known "tests/data/$known" "$@"
}
TERN_METAL_VERSION=3 on_metal 'metal 3, emulated' device_expected_failures.txt --device metal $data/programs
on_metal 'metal, emulated' device_expected_failures.txt --device metal --reports "$reports/metal" "${cases[@]}" $data/models
TERN_NO_COMPILE=1 on_metal 'metal, kernels of archives' device_expected_failures.txt --device metal --target metal:msl \
  $data/programs
on_metal 'same bits, metal' narrow_expected_failures.txt --same-bits narrow,metal $data/programs $data/results "$few"
# Products, convolutions, attention and factorizations by the stand-ins for the vendors' libraries (tests/gpu/libraries),
# in graphs.
libraries() {
  local gpu=$1
  shift
  env "TERN_TEST_NEEDS=$gpu" TERN_CUDA_LIBRARIES=1 TERN_ROCM_LIBRARIES=1 $scripts/device.sh "$gpu" "$@"
}
together
for gpu in cuda rocm; do
  # Freed memory does not keep its values: a session ends with the process.
  check "libraries, $gpu" libraries $gpu env GLIBC_TUNABLES=glibc.malloc.tcache_count=0 MALLOC_PERTURB_=165 \
    build/test_gpu_libraries
  part "ops by libraries, $gpu" libraries $gpu $scripts/conform.py --tern build/tern --device $gpu --graph --may-pass \
    --known tests/data/device_expected_failures.txt $data/conformance/{matmul,mm,bmm,mv,addmm,addmv,addbmm,inner,nn.functional.linear,nn.functional.conv{1d,2d,3d},nn.functional.scaled_dot_product_attention}
  # Blocks with scales are multiplied from compute capability 10.0 on.
  [[ $gpu == cuda ]] && check 'products in blocks, cuda' libraries cuda env TERN_EMULATOR_CAPABILITY=10.0 \
    build/test_gpu_libraries '--gtest_filter=*Microscaled*'
  # The solvers leave every third matrix. Both routines on both with --full.
  for routine in $(if [[ $full == --full ]]; then echo small large; elif [[ $gpu == cuda ]]; then echo small; else echo large; fi); do
    part "linear algebra by libraries, $gpu, $routine" libraries $gpu env TERN_CUDA_SOLVER=$routine \
      TERN_ROCM_SOLVER=$routine TERN_STAND_IN_LEAVES=3 build/tern conform --device $gpu --no-table \
      --every "$([[ $full == --full ]] && echo 1 || echo 50)" \
      $data/conformance/linalg.{cholesky,eigh,lu_factor,qr,svd}
  done
done
# The real cuDNN plans for a described H100, and cuBLASLt takes the descriptors; skipped where they are not installed.
part 'libraries that are missing' libraries cuda tests/gpu/libraries/missing.sh build/tern
check 'real libraries' libraries cuda build/test_gpu_real_libraries
part 'check of a GPU' $scripts/gpu_check_test.py build cuda rocm
apart
part 'cost on a GPU' $scripts/gpu_model.py --check
part 'cost on a GPU, report' $scripts/gpu_model_test.py
# Every kernel's text through the compilers of all dialects: some of float32, all of them with --full. The emulated GPUs
# have compiled those of CUDA and HIP.
some=(--dtype f32 --most 2 --compiler cpp --compiler opencl --compiler metal)
[[ $full == --full ]] && some=()
part 'texts of kernels' $scripts/compilers.py --tern build/tern --texts build/test-devices/texts_device.so "${some[@]}" \
  $data/programs $data/conformance
together
check docs/ops.md $scripts/ops_doc.py --check --tern build/tern --reports $reports/build
check docs/command.md $scripts/command_doc.sh --check build
part 'configuring anew' $scripts/configure_test.sh
part 'dev and newcomers' $scripts/dev_test.sh
apart
# Every native kernel against the definition of its op, which is compiled here; what has been compiled stays.
part definitions build/fuzz_definitions --texts build/definition-texts
part 'definitions, avx2' env TERN_CPU=avx2 build/fuzz_definitions --texts build/definition-texts
# What validates runs clean: programs of every op, and changed archives.
part 'fuzz, every op' build/fuzz_fixed --count 400 --save "$logs"
check 'fuzz, seeds' fuzz/seeds.sh build/tern build/fuzz-seeds
together
check 'fuzz, changed archives' build/fuzz_fixed --seconds 20 --save "$logs" build/fuzz-seeds/*.tern fuzz/corpus/fuzz_run/*.tern
part 'benchmark turns, report' $scripts/peers_test.py
part 'decoder benchmark' $scripts/decoder_test.py
part schema $scripts/schema.sh build
part digits $scripts/digits.sh build
part 'quantizing by data' $scripts/calibrate.py --tern build/tern
# shellcheck disable=SC2086
part traces $scripts/trace.py --tern build/tern --data "$data"
part 'traces, intel' $scripts/device.sh intel $scripts/trace.py --tern build/tern --data "$data" --device xpu
if [[ $full == --full ]]; then
  for runtime in pocl cuda rocm; do
    part "traces, $runtime" $scripts/device.sh $runtime $scripts/trace.py --tern build/tern --data "$data" \
      --device "$(device_of $runtime)"
  done
  # TERN_TORCH and TERN_HTA: Pythons with torch 2.12, and with HolisticTraceAnalysis and psutil.
  part 'traces, peers' $scripts/device.sh intel $scripts/trace_peers.py --build build --data "$data" \
    ${TERN_TORCH:+--torch "$TERN_TORCH"} ${TERN_HTA:+--hta "$TERN_HTA"}
fi
part training $scripts/train.py --tern build/tern $full
# shellcheck disable=SC2086
part 'training, same bits' $scripts/device.sh intel $scripts/train.py --tern build/tern --device xpu $full
[[ $full == --full ]] && part 'training, same bits, pocl' $scripts/device.sh pocl $scripts/train.py --tern build/tern --device xpu $full
part 'training, ranks' $scripts/train_ranks.py --build build $full
part groups $scripts/groups.py build --data "$data" --ranks 2,3 $([[ $full == --full ]] && echo --all)
part 'groups, nccl' env TERN_CUDA_LIBRARIES=1 $scripts/device.sh cuda $scripts/groups.py build --data "$data" --device cuda \
  $([[ $full == --full ]] && echo --all)
part 'groups, xpu' $scripts/device.sh intel $scripts/groups.py build --data "$data" --device xpu \
  $([[ $full == --full ]] && echo --all || echo --engines gloo)
[[ $full == --full ]] && part 'groups, rccl' env TERN_ROCM_LIBRARIES=1 $scripts/device.sh rocm $scripts/groups.py build --data "$data" \
  --device rocm
[[ $full == --full ]] && check 'groups, Slurm' $scripts/slurm.sh build "$data/tensor_parallel"
part command $scripts/command.sh build
part 'kinds of files' $scripts/file_kinds.py --tern build/tern
part 'compilers of kernels' $scripts/kernel_compilers.sh build
part view $scripts/view.py --tern build/tern
part tutorial $scripts/tutorial.sh build
part 'generating tokens' $scripts/generate.py --build build
part 'links of the pages' $scripts/links.py --tern build/tern
apart
part consumers $scripts/consumers.sh build
# TERN_TORCH: a Python with torch 2.12, and transformers for examples/search.
part examples $scripts/examples.sh build $full
part 'snippets of the pages' $scripts/snippets.py --build build \
  $([[ $full == --full && ${TERN_TORCH:-} ]] && echo "--torch $TERN_TORCH")
# shellcheck disable=SC2086
part python $scripts/python.sh build $full
part 'python, on a device' env TERN_TEST_NEEDS=cuda $scripts/device.sh cuda $scripts/python.sh build -k 'device_tensors or slots'

if [[ $full == --full ]]; then
  check 'sanitized: build' compiled sanitize build-sanitize
  export ASAN_OPTIONS=detect_stack_use_after_return=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
  export LSAN_OPTIONS=suppressions=$PWD/$scripts/leaks.txt:print_suppressions=0
  part 'sanitized: unit tests' $scripts/unit.sh build-sanitize
  conform 'sanitized: programs' build-sanitize $data/programs
  conform 'sanitized: import' build-sanitize $data/import
  conform 'sanitized: results' build-sanitize $data/results
  conform 'sanitized: quantized' build-sanitize $data/quantized
  conform 'sanitized: subclasses' build-sanitize $data/subclasses
  conform 'sanitized: optimizers' build-sanitize $data/optimizers
  part 'sanitized: gradients' build-sanitize/tern conform --gradients --no-table "$data/gradients"
  part 'sanitized: training' $scripts/train.py --tern build-sanitize/tern
  conform 'sanitized: collective' build-sanitize $data/collective
  conform 'sanitized: models' build-sanitize $data/models
  conform 'sanitized: conformance' build-sanitize $data/conformance
  part 'definitions, many' build/fuzz_definitions --first 1000 --count 200 --texts build/definition-texts
  part 'sanitized: every op' build-sanitize/fuzz_fixed --count 400 --save "$logs"
  part 'races of threads' ./dev races
  # An hour of what validates runs clean, a minute of each other target.
  part 'fuzz' env "TERN_FUZZ_SECONDS=${TERN_FUZZ_SECONDS:-1800}" ./dev fuzz 60
  # Without oneDNN, OpenBLAS and LAPACK.
  check 'own kernels: build' compiled own build-own
  conform 'own kernels: programs' build-own $data/programs
  conform 'own kernels: optimizers' build-own $data/optimizers
  part 'own kernels: gradients' build-own/tern conform --gradients --no-table "$data/gradients"
  part 'own kernels: training' $scripts/train.py --tern build-own/tern
  conform 'own kernels: models' build-own $data/models
  conform 'own kernels: conformance' build-own $data/conformance
  part minimal $scripts/minimal.sh build
  part 'view in a browser' $scripts/view_in_browser.sh build $data/programs
  part 'aarch64, emulated' $scripts/arm64.sh $reports/bits.txt 1
  part 'documentation as HTML' ./dev site
  part package $scripts/package_test.sh
  part 'debian packages' $scripts/deb_test.sh
  part wheel $scripts/wheel_test.sh
  part 'binary interface' $scripts/abi.py build
  part 'recipes for conan and vcpkg' $scripts/recipes_test.sh build
  part 'the same bytes twice' $scripts/reproducible_build.sh
  # TERN_UBUNTU_MIRROR=none or TERN_DEBIAN_MIRROR=none where there is no archive to install from.
  part 'bare Debian 12' $scripts/bare.sh debian12
  part 'bare Ubuntu 24.04' $scripts/bare.sh ubuntu24
fi

for name in "${parts[@]}"; do
  # A part that left no counts was killed.
  read -r p f <"$(log_of "$name").counts" || { p=0 f=1; }
  passed=$((passed + p))
  failed=$((failed + f))
done
printf '%s parts in %d s\n' "${#parts[@]}" "$((SECONDS - total))"
printf '%d passed, %d failed\n' "$passed" "$failed" | tee "$logs/total.txt"
((failed == 0))
