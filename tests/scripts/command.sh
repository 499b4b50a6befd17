#!/usr/bin/env bash
# Output and exit status of the command: command.sh FOLDER
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/count.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
tern=$(realpath "$1/tern")
share=$(realpath "$1/share")
digits=examples/digits/digits.pt2
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
model=$out/digits.tern
py() { python3 -c "$@"; }

# ends STATUS TEXT COMMAND...: checks the exit status, and TEXT in either output stream.
ends() {
  local status=$1 text=$2 got=0
  shift 2
  "$@" >"$out/log" 2>&1 || got=$?
  [[ $got == "$status" ]] && grep -qF -- "$text" "$out/log" && return
  printf '%s: status %s, not %s, or without "%s":\n' "$*" "$got" "$status" "$text"
  head -n 20 "$out/log"
  return 1
}
# to TARGET COMMAND...: redirects standard output to TARGET.
to() {
  local target=$1
  shift
  "$@" >"$target"
}
# A pipe without reader as standard output: the command prints nothing and ends as if by SIGPIPE.
quiet_without_reader() {
  py 'import os, signal, subprocess, sys
reader, writer = os.pipe()
os.close(reader)
done = subprocess.run(sys.argv[1:], stdout=writer, stderr=subprocess.PIPE)
sys.exit(0 if (done.returncode, done.stderr) == (-signal.SIGPIPE, b"") else f"{done}")' "$@"
}
# Standard error uses the same pipe.
both_without_reader() { quiet_without_reader sh -c 'exec "$@" 2>&1' sh "$@"; }
# Runs with a terminal as standard input and output.
on_terminal() {
  if command -v script >/dev/null; then
    script -qec "$(printf '%q ' "$@")" /dev/null </dev/null
  else
    py 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))' "$@" </dev/null
  fi
}
json() { python3 -m json.tool >/dev/null; }
# Plugins load from the folder of the command, never from the working directory.
planted() {
  mkdir -p "$out/planted/devices" && echo >"$out/planted/tern" && echo >"$out/planted/devices/planted.so" &&
    (cd "$out/planted" && PATH="$(dirname "$tern"):$PATH" tern devices) >"$out/log" 2>&1 && ! grep planted "$out/log" &&
    (cd "$out/planted/devices" && "$(realpath --relative-to=. "$tern")" devices 2>&1) | cmp - "$out/log"
}
# A link to the command has no folder of plugins.
by_link() {
  mkdir -p "$out/links/devices" && echo >"$out/links/devices/planted.so" && ln -s "$tern" "$out/links/tern" &&
    "$out/links/tern" devices 2>&1 | cmp - "$out/log"
}

# Runs with stream number STREAM closed.
closed() {
  local stream=$1
  shift
  eval '"$@"' "$stream>&-"
}
# Limits the address space to the given kilobytes.
in_space() {
  (ulimit -v "$1" && shift && timeout 20 "$@")
}
# No opened file reuses the number of a closed stream.
closed_streams() {
  closed 2 "$tern" export $digits -o "$out/closed.tern" >/dev/null && closed 0 "$tern" validate "$out/closed.tern" >/dev/null
}

try 'export' "$tern" export $digits -o "$model"

# Commands.
try 'unknown command' ends 2 "there is no command 'exprot'; did you mean 'export'?" "$tern" exprot x
try 'commands are listed' ends 2 'conform' "$tern"
try 'help' ends 0 'Exit status:' "$tern" help
try 'help of a command' ends 0 'Usage: tern run' "$tern" help run
try 'help of an unknown command' ends 2 "did you mean 'run'?" "$tern" help rnu
try 'version' ends 0 'tern 0.' "$tern" version
try '--version' ends 0 'tern 0.' "$tern" --version
try 'plugins of the working directory' planted
try 'plugins beside a link' by_link
try 'closed streams' closed_streams
try 'a closed output' ends 3 'standard output' closed 1 "$tern" inspect "$model"
mkfifo "$out/pipe.so"  # has no writer
try 'a pipe as a plugin' ends 0 'it is not a regular file' env TERN_DEVICE_PATH="$out/pipe.so" timeout 20 "$tern" devices
try 'a pipe as a library' ends 2 'it is not a regular file' timeout 20 "$tern" run "$model" --random --ops "$out/pipe.so"
if [[ $(ldd "$tern") == *openblas* ]]; then
  try 'too little address space' ends 7 'OpenBLAS' in_space 300000 "$tern" inspect "$model"
fi
try 'unknown option' ends 2 "did you mean '--repeat'?" "$tern" run "$model" --reapet 3
try 'unknown option of tern' ends 2 "has no option '--bogus'" "$tern" --bogus
try 'unknown option explains a missing argument' ends 2 "has no option '--bogus'" "$tern" run --bogus
try 'too many arguments' ends 2 "got 'more'" "$tern" inspect "$model" more
try 'missing argument' ends 2 'model is required' "$tern" run
for command in export inspect view validate run verify train bench conform ops devices help version; do
  try "$command --help has an example" ends 0 "  tern $command" "$tern" $command --help
done
try 'conform --help tells a case' ends 0 'callC.inK' "$tern" conform --help

# Unknown names.
try '--size' ends 2 "did you mean 's34'?" "$tern" run "$model" --random --size s43=2
try '--size lists the sizes' ends 2 'The symbolic sizes are: s34' "$tern" run "$model" --random --size batch=2
try '--size of export' ends 2 'The symbolic sizes are: s34' "$tern" export $digits -o "$out/x.tern" --target cpu --size batch=2
try '--size without a number' ends 2 'takes a whole number' "$tern" run "$model" --random --size s34=two
try '--function' ends 2 "did you mean 'forward'?" "$tern" run "$model" --random --function forwad
"$tern" run "$model" --random --size s34=2 -o "$out/image.npy" >/dev/null
py 'import sys, zipfile; zipfile.ZipFile(sys.argv[2], "w").write(sys.argv[1], "imags.npy")' "$out/image.npy" "$out/arrays.npz"
try 'array that no input has' ends 2 "did you mean 'images'?" "$tern" run "$model" -i "$out/arrays.npz"
try 'name that no input has' ends 2 'The inputs are: ' "$tern" run "$model" -i "imges=$out/image.npy"
try 'no input' ends 2 'is not given' "$tern" run "$model"

# Quantizing.
quantize=("$tern" export $digits -o "$out/quantized.tern" --quantize)
try 'quantize, formats' ends 2 '--quantize takes int8, int4, float8' "${quantize[@]}" int9
try 'quantize, an empty pattern' ends 2 'a pattern must follow the colon' "${quantize[@]}" int8:
try 'quantize, no such module' ends 2 "matches 'lm_head'" "${quantize[@]}" int8:lm_head
try 'quantize, --keep without a match' ends 2 "matches 'lm_head'" "${quantize[@]}" int8 --keep lm_head
try 'quantize, nothing is left' ends 2 "'classifier*' keeps it" "${quantize[@]}" int8 --keep 'classifier*' --keep 'features*'
try '--group without int4' ends 2 '--group needs --quantize int4' "${quantize[@]}" int8 --group 64
try '--group' ends 2 'an even number from 8 to 4096' "${quantize[@]}" int4 --group 7
try '--rule' ends 2 '--rule takes search, torchao or gptq' "${quantize[@]}" int4 --rule awq
try '--rule gptq without samples' ends 2 '--rule gptq needs example inputs' "${quantize[@]}" int4 --rule gptq
try '--mx-scales' ends 2 'floor, even or ceil' "${quantize[@]}" mxfp4 --mx-scales up
try '--mx-scales without MX' ends 2 '--mx-scales needs an MX format' "${quantize[@]}" int8 --mx-scales even
try '--activations' ends 2 '--activations takes int8, float8 or mx' "${quantize[@]}" int8 --activations int4
try '--activations without int8' ends 2 'needs weights in int8: give one' "${quantize[@]}" int4 --activations int8
try '--activations without float8' ends 2 'needs weights in float8: give one' "${quantize[@]}" int8 --activations float8
try '--activations without MX' ends 2 'needs weights in int4, mxfp4' "${quantize[@]}" float8 --activations mx
try '--keep alone' ends 2 '--keep needs --precision or --quantize' "$tern" export $digits -o "$out/quantized.tern" --keep x
try 'quantize by pattern' ends 0 "not quantized: classifier.4.weight: 'classifier.4' keeps it" "${quantize[@]}" int4 --group 64 --quantize int8:classifier.1 --keep classifier.4
try 'quantize, the report' ends 0 'features.3.weight: its rows of 144 elements are not divisible by blocks of 32' "${quantize[@]}" mxfp8_e4m3 --mx-scales ceil
quantized_json() {
  "${quantize[@]}" int4 --json | py 'import json, sys
q = json.load(sys.stdin)["quantized"]
w = q["weights"][0]
assert (w["weight"], w["rows"], w["columns"], w["bytes"]) == ("classifier.1.weight", 64, 512, 64 * 512 // 2 + 64 * 16 * 4)
assert 15 < w["sqnr_db"] < 30 and .99 < w["cosine"] < 1 and q["bytes"] < q["bytes_before"] / 6
assert q["kept"][0]["reason"] == "its rows of 144 elements are not divisible by blocks of 32"'
}
try 'quantize, JSON' quantized_json
reads_quantized() { "$tern" inspect "$out/quantized.tern" --nodes | grep -c '= matmul(' | grep -qx 2; }
try 'quantize, products' reads_quantized
widened() { # weights widened only for reproducible products
  local run=("$tern" run "$out/quantized.tern" --random --size s34=2)
  ! "${run[@]}" | grep -q widened && "${run[@]}" --json | py 'import json, sys
assert json.load(sys.stdin)["widened"] == []' && "${run[@]}" --reproducible --json | py 'import json, sys
w = json.load(sys.stdin)["widened"]
assert [(n["weight"], n["op"], n["bytes"], n["when"]) for n in w] == [("classifier.1.weight", "matmul", 64 * 512 * 4, "each run"), ("classifier.4.weight", "matmul", 10 * 64 * 4, "each run")], w' &&
    "${run[@]}" --reproducible | grep -q "^widened: 'classifier.1.weight' by forward:[0-9]* (matmul), 131.1 kB of floats in each run$" &&
    "$tern" bench "$out/quantized.tern" --runs 1 --size s34=2 --json | py 'import json, sys
assert json.load(sys.stdin)["widened"] == []'
}
try 'widened weights' widened

# Numbers.
try '--threads' ends 2 '--threads: takes a whole number from 0 to 1024' "$tern" run "$model" --random --size s34=2 --threads 99999
try '--threads below 0' ends 2 'from 0 to 1024' "$tern" run "$model" --random --size s34=2 --threads -1
try '--repeat' ends 2 'from 1 to 1000000000' "$tern" run "$model" --random --size s34=2 --repeat 0
try '--seconds' ends 2 'from 0.001 to 86400' "$tern" bench "$model" --seconds nan
try '--threads of a list' ends 2 'from 0 to 1024' "$tern" bench "$model" --threads 1,2000
try '--cores' ends 2 'from 1 to 1024' "$tern" bench "$model" --cores 0
try '--sessions' ends 2 'from 1 to 256' "$tern" bench "$model" --sessions 0
try '--sessions with a list of threads' ends 2 'of each session' "$tern" bench "$model" --size s34=2 --sessions 2 --threads 1,2
try 'a list of threads with --graph' ends 2 'leave out --graph' "$tern" bench "$model" --size s34=2 --threads 1,2 --graph
try '--jobs' ends 2 'from 0 to 1024' "$tern" conform . --jobs 1e3
try '--weights' ends 2 'from 0 to 1000000' "$tern" inspect "$model" --weights -3
try '--seed' ends 2 'whole number' "$tern" run "$model" --random --seed x

# Unwritable output.
for command in "inspect $model" "validate $model" "run $model --random --size s34=2" 'ops softmax' devices help version --version \
  '--help' "inspect $model --json" 'ops --json' "export $digits -o $out/y.tern"; do
  # shellcheck disable=SC2086
  try "$command to a full disk" ends 3 'cannot write to standard output' to /dev/full "$tern" $command
done
try 'run -o /dev/full' ends 3 'No space left' "$tern" run "$model" --random --size s34=2 --format npz -o /dev/full
try '/dev/full is still a device' test -c /dev/full
try 'run -o - to a full disk' ends 3 'No space left' to /dev/full "$tern" run "$model" --random --size s34=2 -o -
try 'export -o /dev/full' ends 3 'No space left' "$tern" export $digits -o /dev/full
for file in results.npz results.npy results.safetensors; do
  try "run -o into no folder, $file" ends 3 'cannot' "$tern" run "$model" --random --size s34=2 -o "$out/none/$file"
done
try 'the name of the target' ends 3 "cannot create $out/none/model.tern: No such" "$tern" export $digits -o "$out/none/model.tern"
if [[ -d /proc/self ]]; then try 'a folder that takes no file' ends 3 "cannot create /proc/model.tern: " "$tern" export $digits -o /proc/model.tern; fi
# Errors may span lines, and no string from a file starts a line.
lines_of_errors() {
  ! "$tern" export examples/custom_op/rope.pt2 -o "$out/x.tern" 2>"$out/log"
  grep -q '^  mylib.rope' "$out/log" && [[ $(grep -vc '^  ' "$out/log") == 1 ]] && ! grep -qF '\x0a' "$out/log"
}
try 'lines of errors' lines_of_errors
lines_of_findings() {
  "$tern" "$@" examples/custom_op/rope.pt2 >"$out/log" 2>&1
  grep -q '^  mylib.rope' "$out/log" && ! grep -qF '\x0a' "$out/log"
}
try 'lines of findings' lines_of_findings validate
try 'lines of a failed case' lines_of_findings conform
try 'export into no folder' ends 3 'cannot create' "$tern" export $digits -o "$out/none/model.tern"
limited() { (ulimit -f 8 && "$@"); }
try 'export to a full disk' ends 3 'File too large' limited "$tern" export $digits -o "$out/large.tern"
try 'nothing is left of it' test ! -e "$out/large.tern"
for command in ops 'ops --json' version --help "inspect $model" "inspect $model --json" "validate $model" devices \
  "run $model --random --size s34=2" "bench $model --runs 2 --size s34=2" \
  "export $digits -o $out/w.tern" "verify $model --random --size s34=2 --precision bfloat16" 'help run'; do
  # shellcheck disable=SC2086
  try "$command without a reader" quiet_without_reader "$tern" $command
done
try 'without a reader of either stream' both_without_reader "$tern" run "$model" --random --size s34=2 -o - --format npz
# The reader gets the first line; the closed pipe is no error.
first_line() {
  local status
  "$tern" ops 2>"$out/log" | head -n 1 >"$out/line"
  status=${PIPESTATUS[0]}
  [[ -s $out/line && ! -s $out/log && $status =~ ^(0|141)$ ]]
}
try 'ops | head -n 1' first_line
# A command refuses to overwrite its input.
cp "$digits" "$out/own.pt2"
try 'export over its input' ends 2 '--output would replace' "$tern" export "$out/own.pt2" -o "$out/../${out##*/}/own.pt2"
try 'run over its model' ends 2 '--output would replace' "$tern" run "$out/own.pt2" --random -o "$out/own.pt2" --format npz
try 'a trace over the model' ends 2 '--trace would replace' "$tern" run "$out/own.pt2" --random --trace "$out/own.pt2"
try 'a trace of bench over the model' ends 2 '--trace would replace' "$tern" bench "$out/own.pt2" --random --trace "$out/own.pt2"
try 'results and trace of one name' ends 2 '--output and --trace are the same file' "$tern" run "$out/own.pt2" --random \
  -o "$out/both.npz" --trace "$out/../${out##*/}/both.npz"
try 'the file is as it was' cmp "$digits" "$out/own.pt2"
try 'export -o -' ends 2 "give a file name" "$tern" export $digits -o -
try 'archive from standard input' ends 2 "give a file name" "$tern" inspect -

# Streams.
"$tern" run "$model" --random --size s34=2 -o - >"$out/a.safetensors" 2>/dev/null
"$tern" run "$model" --random --size s34=2 -o "$out/b.safetensors" >/dev/null
try 'run -o -' cmp "$out/a.safetensors" "$out/b.safetensors"
"$tern" run "$model" --random --size s34=2 -o - --format npz 2>/dev/null | cat >"$out/c.npz"
"$tern" run "$model" --random --size s34=2 -o "$out/results.npz" >/dev/null
try 'run -o - --format npz' cmp "$out/c.npz" "$out/results.npz"
try 'run -o - on a terminal' ends 2 'redirect standard output' on_terminal "$tern" run "$model" --random --size s34=2 -o -
try 'a terminal gets text' ends 0 'float32[2, 10]' on_terminal "$tern" run "$model" --random --size s34=2
input=$("$tern" inspect "$model" --json | py 'import json,sys; print([i["name"] for i in json.load(sys.stdin)["functions"][0]["inputs"] if i["kind"] == "user"][0])')
# write_array FILE DTYPE [FIRST]: [2, 1, 8, 8] of quarters, without NumPy.
write_array() {
  py 'import array, struct, sys
code = {"<f4": "f", "<f8": "d"}[sys.argv[2]]
text = "{\"descr\": \"%s\", \"fortran_order\": False, \"shape\": (2, 1, 8, 8), }" % sys.argv[2]
text = text.replace("\"", "\x27")
text += " " * ((64 - (10 + len(text) + 1) % 64) % 64) + "\n"
with open(sys.argv[1], "wb") as f:
    f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode())
    f.write(array.array(code, [(i % 64 + int(sys.argv[3])) / 4 for i in range(128)]).tobytes())' "$1" "$2" "${3:-0}"
}
write_array "$out/single.npy" '<f4'
write_array "$out/double.npy" '<f8'
try 'run -i FILE.npy' ends 0 'float32[2, 10]' "$tern" run "$model" -i "$out/single.npy"
try 'run -i NAME=FILE' ends 0 'float32[2, 10]' "$tern" run "$model" -i "$input=$out/single.npy"
from() { "${@:2}" <"$1"; }
try 'run -i -' ends 0 'float32[2, 10]' from "$out/single.npy" "$tern" run "$model" -i -
try 'given twice' ends 2 'given twice' "$tern" run "$model" -i "$out/single.npy" -i "$input=$out/single.npy"

# Casts and sequences.
try 'another type' ends 2 '--cast converts it' "$tern" run "$model" -i "$out/double.npy"
"$tern" run "$model" -i "$out/single.npy" -o "$out/s.npz" >/dev/null
try '--cast' "$tern" run "$model" -i "$out/double.npy" --cast -o "$out/d.npz"
try '--cast, same results' cmp "$out/s.npz" "$out/d.npz"
try '--sequence' ends 0 'call1.' "$tern" run "$model" --sequence "$out/single.npy" --sequence "$out/single.npy"
mkdir "$out/calls" && cp "$out/single.npy" "$out/calls/2.npy" && cp "$out/single.npy" "$out/calls/10.npy"
try '--sequence FOLDER' ends 0 'call1.' "$tern" run "$model" --sequence "$out/calls" -o "$out/calls.safetensors"
# zipped FILE NAME=ARRAY...: an .npz file.
zipped() {
  py 'import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as z:
    for pair in sys.argv[2:]:
        name, file = pair.split("=")
        z.write(file, name + ".npy")' "$@"
}
write_array "$out/other.npy" '<f4' 5
"$tern" run "$model" --sequence "$out/single.npy" --sequence "$out/other.npy" -o "$out/sequence.safetensors" >/dev/null
"$tern" run "$model" --sequence "$out/single.npy" --sequence "$out/single.npy" -o "$out/same.safetensors" >/dev/null
for names in "call0.$input call1.$input" 'call0.in0 call1.in0' "call0.$input call1.in0"; do
  read -r first second <<<"$names"
  zipped "$out/named.npz" "$second=$out/other.npy" "$first=$out/single.npy"
  try "run -i, $names" ends 0 'call1.' "$tern" run "$model" -i "$out/named.npz" -o "$out/named.safetensors"
  try "run -i, $names, as --sequence" cmp "$out/named.safetensors" "$out/sequence.safetensors"
done
try 'each call has its own input' test "$(cmp "$out/sequence.safetensors" "$out/same.safetensors" | wc -l)" = 1
zipped "$out/results.npz" "call0.$input=$out/single.npy" "call0.out0=$out/single.npy" "call1.$input=$out/other.npy"
try 'run -i, results of a case are left out' "$tern" run "$model" -i "$out/results.npz" -o "$out/named.safetensors"
try 'run -i, results of a case change nothing' cmp "$out/named.safetensors" "$out/sequence.safetensors"
zipped "$out/gap.npz" "call0.$input=$out/single.npy" "call2.$input=$out/single.npy"
try 'run -i, a call has no input' ends 2 "call 1: input '$input' is not given" "$tern" run "$model" -i "$out/gap.npz"
try 'run -i, one input for all calls, given twice' ends 2 'given twice' "$tern" run "$model" -i "$out/named.npz" -i "call0.$input=$out/single.npy"
zipped "$out/far.npz" "call100000.$input=$out/single.npy"
try 'run -i, too many calls' ends 2 'at most 100000 calls' "$tern" run "$model" -i "$out/far.npz"
try 'run -i, callC. and --sequence' ends 2 'give only one' "$tern" run "$model" -i "$out/named.npz" --sequence "$out/calls"
try '--sequence --json' ends 0 '"calls": [' "$tern" run "$model" --sequence "$out/calls" --json
try '--sequence --graph' ends 2 '--graph replays one call' "$tern" run "$model" --sequence "$out/calls" --graph

# Verify.
try 'verify, nothing to compare' ends 2 'both runs would be the same' "$tern" verify "$model" --random --size s34=2
try 'verify' ends 0 'exported against reproducible' "$tern" verify "$model" -i "$out/single.npy" --against reproducible
try 'verify --nodes' ends 0 'forward:' "$tern" verify "$model" -i "$out/single.npy" --precision bfloat16 --nodes
try 'verify --worst' ends 0 '2 of ' "$tern" verify "$model" -i "$out/single.npy" --precision bfloat16 --worst 2
try 'verify, of several calls the worst' ends 0 'the worst of 2 calls' "$tern" verify "$model" --sequence "$out/calls" --against reproducible
try 'verify --keep, no such node' ends 2 "matches 'nothing'" "$tern" verify "$model" -i "$out/single.npy" --precision bfloat16 --keep nothing
try 'verify --precision with --reproducible' ends 2 'reproducible' "$tern" verify "$model" -i "$out/single.npy" --precision bfloat16 --reproducible
try 'verify --against' ends 2 'float32' "$tern" verify "$model" -i "$out/single.npy" --against pytorch
try 'verify --min-agreement' ends 2 'from 0 to 1' "$tern" verify "$model" -i "$out/single.npy" --min-agreement 90
try 'verify --worst 0' ends 2 'from 1 to 1000000' "$tern" verify "$model" -i "$out/single.npy" --worst 0
"$tern" run "$model" -i "$out/single.npy" -o "$out/expected.safetensors" >/dev/null
try 'verify --expected' ends 0 'exact' "$tern" verify "$model" -i "$out/single.npy" --expected "$out/expected.safetensors" --min-sqnr 1000
try 'verify --expected, other results' ends 1 'below --min-sqnr 1000' "$tern" verify "$model" -i "$out/other.npy" --expected "$out/expected.safetensors" --min-sqnr 1000
try 'verify --expected, other sizes' ends 1 'FAIL ' "$tern" verify "$model" --random --size s34=3 --expected "$out/expected.safetensors"
try 'verify --expected, of too many calls' ends 2 'is of call 1' "$tern" verify "$model" -i "$out/single.npy" --expected "$out/sequence.safetensors"
try 'verify --expected, no results' ends 2 'output' "$tern" verify "$model" -i "$out/single.npy" --expected "$out/arrays.npz"
try 'verify --reference' ends 0 'float32 of ' "$tern" verify "$model" -i "$out/single.npy" --reference $digits --min-cosine 0.999999
# The nodes belong to MODEL's own run: the report says so, and never says "exact" beside an inexact result.
"$tern" export $digits -o "$out/int4.tern" --quantize int4 >/dev/null
try 'verify --reference --nodes, weights alone' ends 0 'No nodes: without --precision' "$tern" verify "$out/int4.tern" -i "$out/single.npy" --reference $digits --nodes
without_exact() { ! grep -q exact "$out/log"; }
try 'verify --reference --nodes, nothing is exact' without_exact
try 'verify --reference --nodes, a precision' ends 0 "Nodes of $out/int4.tern only, bfloat16 against float32 of the same weights" "$tern" verify \
  "$out/int4.tern" -i "$out/single.npy" --reference $digits --nodes --precision bfloat16
try 'verify --reference --nodes, the same nodes' ends 0 "Nodes, bfloat16 against float32 of $digits" "$tern" verify "$model" \
  -i "$out/single.npy" --reference $digits --nodes --precision bfloat16
try 'verify, a missing model' ends 3 'tern: ' "$tern" verify "$out/missing.tern" --random --precision bfloat16
exact() {
  "$tern" verify "$model" -i "$out/single.npy" --expected "$out/expected.safetensors" --json | py 'import json, sys
r = json.load(sys.stdin)
[c] = r["compared"]
[o] = c["results"]
sys.exit(not (o["exact"] and o["sqnr_db"] is None and o["cosine"] == 1 and o["first_answers"] == {"same": 2, "of": 2} and r["failures"] == []))'
}
try 'verify --json' exact

# Inspect and validate.
try 'inspect' ends 0 'parameters: ' "$tern" inspect "$model"
try 'inspect: a run' ends 0 "a run of 'forward', s34 = 4: " "$tern" inspect "$model" --size s34=4
try 'inspect: inputs as run has them' ends 0 "--input $input=FILE" "$tern" inspect "$model"
no_empty_lines_of_facts() { ! "$tern" inspect "$model" | grep -E '^[a-z]+: *$'; }
try 'inspect: no fact without a value' no_empty_lines_of_facts
try 'inspect .pt2' ends 0 'peak memory' "$tern" inspect $digits
same_cost() {
  local a b
  a=$("$tern" inspect "$model" --json | py 'import json,sys; print(json.load(sys.stdin)["cost"])')
  b=$("$tern" inspect $digits --json | py 'import json,sys; print(json.load(sys.stdin)["cost"])')
  [[ $a == "$b" && $a == *flops* ]]
}
try 'inspect --json, archive and .pt2' same_cost
# The layers' sizes give the parameter count: the demo's trained safetensors are not in the source tree.
counted() {
  "$tern" inspect "$model" --json | py '
import json, math, sys
p = json.load(sys.stdin)
own = sum(math.prod(s["type"]["sizes"]) for s in p["states"] if s["kind"] == "parameter")
run = p["cost"]["runs"][0]
sys.exit(p["cost"]["parameters"] != own or run["flops"] <= 0 or run["peak_bytes"] != run["arena_bytes"] + run["state_bytes"])'
}
try 'inspect: parameters' counted
try 'inspect, unknown size' ends 2 "The symbolic sizes are: s34" "$tern" inspect "$model" --size batch=2
head -c 100 "$model" >"$out/broken.tern"
head -c 100 $digits >"$out/broken.pt2"
try 'validate .pt2' ends 0 "$digits: valid" "$tern" validate $digits
try 'validate, one is missing' ends 3 "$digits: valid" "$tern" validate "$model" "$out/missing.tern" $digits
try 'validate, missing one is told' ends 3 'missing.tern: not checked' "$tern" validate "$model" "$out/missing.tern" $digits
try 'validate, broken' ends 1 'finding' "$tern" validate "$model" "$out/broken.tern"
try 'validate, broken .pt2' ends 1 'pt2.import' "$tern" validate "$out/broken.pt2"
try 'run, broken' ends 4 'tern: ' "$tern" run "$out/broken.tern" --random
# The files are valid, but no library provides their operator.
custom=examples/custom_op/rope
try 'validate, not supported' ends 5 'unsupported' "$tern" validate $custom.pt2
try 'validate, valid and not supported' ends 5 "$model: valid" "$tern" validate "$model" $custom.pt2
try 'validate, broken and not supported' ends 1 'unsupported' "$tern" validate $custom.pt2 "$out/broken.tern"
try 'validate --json, not supported' ends 5 '"severity": "unsupported"' "$tern" validate --json $custom.pt2
try 'export, not supported' ends 5 'mylib.rope' "$tern" export $custom.pt2 -o "$out/custom.tern"
# Archives of former versions.
old=build/test-data/museum/0.1
bits_of() { "$tern" conform --no-table --reproducible --direct --save-bits "$out/bits.txt" "$1" && cut -d ' ' -f 1 "$out/bits.txt"; }
upgraded() { # ARCHIVE: it is of format 1.0 afterwards, valid, and gives the same bits
  "$tern" upgrade "$old/$1.tern" -o "$out/upgraded.tern" && "$tern" validate "$out/upgraded.tern" &&
    "$tern" inspect "$out/upgraded.tern" --json | grep '"format": "1.0"' >/dev/null &&
    cp "$old/$1.safetensors" "$out/upgraded.safetensors" && [[ $(bits_of "$old/$1.tern") == $(bits_of "$out/upgraded.tern") ]]
}
for archive in former_ops_mx_fp4 option_compressed option_gguf option_kernels_spirv option_packed; do
  try "upgrade, $archive" upgraded $archive
done
try 'upgrade names both versions' ends 0 'format 1.0 (before: 0.1)' "$tern" upgrade $old/option_packed.tern -o "$out/upgraded.tern"
is_compressed() { "$tern" upgrade $old/option_compressed.tern -o "$out/upgraded.tern" && "$tern" inspect --json "$out/upgraded.tern" | grep '"codec": "zstd"' >/dev/null; }
try 'upgrade: weights stay compressed' is_compressed
try 'upgrade of a file onto itself' ends 2 'output' "$tern" upgrade "$out/upgraded.tern" -o "$out/upgraded.tern"
try 'upgrade of a damaged archive' ends 4 'tern: ' "$tern" upgrade "$out/broken.tern" -o "$out/never.tern"
try 'upgrade of a damaged archive writes nothing' test ! -e "$out/never.tern"
try 'upgrade of a .pt2 file' ends 2 'zip archive' "$tern" upgrade $digits -o "$out/never.tern"
# Now with a library for the operator.
try 'a library of operators' cc -shared -fPIC -Iinclude $custom.c -o "$out/librope.so" -lm
try 'validate with its library' ends 0 "$custom.pt2: valid" "$tern" validate $custom.pt2 --ops "$out/librope.so"
try 'export with its library' "$tern" export $custom.pt2 -o "$out/custom.tern" --ops "$out/librope.so"
for file in "$out/custom.tern" "$custom.pt2 --ops $out/librope.so"; do
  # shellcheck disable=SC2086
  try "inspect shows custom operators, $(basename "${file%% *}")" ends 0 'custom operators, which a library given by --ops must provide: ' "$tern" inspect $file
  # shellcheck disable=SC2086
  try "inspect --json shows them, $(basename "${file%% *}")" ends 0 '"custom_ops": ["' "$tern" inspect $file --json
done
try 'inspect: no custom operators' ends 0 '"custom_ops": []' "$tern" inspect "$model" --json
try 'run without the library' ends 5 'tern: ' "$tern" run "$out/custom.tern" -i $custom.safetensors
try 'run with the library' ends 0 'float32' "$tern" run "$out/custom.tern" -i $custom.safetensors --ops "$out/librope.so"
"$tern" validate --json "$model" "$out/broken.tern" "$out/missing.tern" >"$out/validate.json"
try 'validate --json' json <"$out/validate.json"

# Names of sizes.
try '--name-size' "$tern" export $digits -o "$out/named.tern" --name-size s34=batch --verify
try 'named size' ends 0 '[2, 10]' "$tern" run "$out/named.tern" --random --size batch=2
try 'old name' ends 2 'The symbolic sizes are: batch' "$tern" run "$out/named.tern" --random --size s34=2
try 'named size is asked for' ends 2 '--size batch=N' "$tern" run "$out/named.tern" --random
try '--name-size, unknown' ends 2 'The symbolic sizes are: s34' "$tern" export $digits -o "$out/n.tern" --name-size s77=batch
try '--name-size, no identifier' ends 2 'letters, digits' "$tern" export $digits -o "$out/n.tern" --name-size s34=a+b
try '--name-size, twice' ends 2 'renamed twice' "$tern" export $digits -o "$out/n.tern" --name-size s34=a --name-size s34=b

# JSON for every command with output for scripts.
for command in "inspect $model" "validate $model" "run $model --random --size s34=2" 'ops softmax' devices version \
  "export $digits -o $out/z.tern" "bench $model --size s34=2 --runs 2" \
  "verify $model --random --size s34=2 --precision bfloat16 --nodes"; do
  # shellcheck disable=SC2086
  "$tern" $command --json >"$out/json" 2>&1
  try "$command --json" json <"$out/json"
done

# Manual pages and completion.
page() { "$@" >"$out/page" 2>"$out/page.log" && [[ -s $out/page && ! -s $out/page.log ]] || { head "$out/page.log"; false; }; }
for file in "$share"/man/man1/tern*.1; do
  name=$(basename "$file")
  try "$name has all sections" py 'import sys
text = open(sys.argv[1]).read()
sys.exit(not all(".SH " + s in text for s in ("NAME", "SYNOPSIS", "OPTIONS", "EXIT STATUS", "SEE ALSO")))' "$file"
  if command -v mandoc >/dev/null; then
    try "mandoc $name" mandoc -T lint -W error "$file"
  elif command -v groff >/dev/null; then
    try "groff $name" page groff -man -Tutf8 -ww -wbreak "$file"
  fi
  if command -v man >/dev/null; then
    try "man $name" page man --warnings -E UTF-8 -l "$file"
  fi
done
completion=$share/bash-completion/completions/tern
try 'bash parses the completion' bash -n "$completion"
# completes TEXT WORD...: expects TEXT among the candidates for the last word.
completes() {
  bash -c '. "$1"; want=$2; shift 2; COMP_WORDS=(tern "$@"); COMP_CWORD=$#; _tern
    printf "%s\n" "${COMPREPLY[@]}" | grep -qxF -- "$want"' _ "$completion" "$@"
}
completes_not() { ! completes "$@"; }
# An interactive shell on a terminal: the Tab key completes "versi", and the line runs.
loaded() {
  printf '%s\n' "PATH=$(printf '%q' "$(dirname "$tern")"):\$PATH" ". $(printf '%q' "$completion")" $'tern versi\t' 'exit' >"$out/keys"
  script -qec 'bash --noprofile --norc -i' /dev/null <"$out/keys" | grep -qF "$("$tern" version)"
}
if command -v script >/dev/null; then try 'bash loads the completion' loaded; fi
try 'completion of commands' completes validate va
try 'no hidden command' completes_not pages pa
try 'completion of options' completes --sequence run model.tern --s
try 'completion of another command' completes_not --sequence inspect model.tern --s
try 'completion of files' completes README.md inspect READ
try 'completion of values' completes safetensors run m.tern --format s
try 'completion of types' completes bfloat16 export m.pt2 --precision b
try 'completion of formats' completes mxfp4 export m.pt2 --quantize mxfp4
try 'completion of help' completes conform help con
if command -v zsh >/dev/null; then try 'zsh parses the completion' zsh -n "$share/zsh/site-functions/_tern"; fi
if command -v fish >/dev/null; then try 'fish parses the completion' fish -n "$share/fish/vendor_completions.d/tern.fish"; fi
report
