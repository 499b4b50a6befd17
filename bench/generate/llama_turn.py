"""A turn of llama.cpp: generate.llama_turn LLAMA_BENCH FILE THREADS PROMPT ANSWER prints JSON as torch_turn does. llama-bench
times a prompt, in one process without and in another with a run before it, and an answer that begins with an empty cache, of
which less is read than the others read. Its products of quantized weights on AMX end some builds by a segmentation fault; the
prompt then runs without repacked weights."""
import json
import subprocess
import sys


def bench(*command):
    done = subprocess.run([*command, "-r", "1", "-o", "json"], stdout=subprocess.PIPE, text=True, check=False)
    return json.loads(done.stdout)[0] if done.returncode == 0 else None


def main(program, file, threads, prompt, answer):
    common = [program, "-m", file, "-t", threads]
    read = [*common, "-p", prompt, "-n", "0"]
    again = bench(*read)
    if again is None:
        read += ["--repack", "0"]
        again = bench(*read)
    first = bench(*read, "--no-warmup")
    rest = bench(*common, "-p", "0", "-n", answer)
    if first is None or again is None or rest is None:
        sys.exit("llama-bench ended badly")
    print(json.dumps({"first_ms": first["avg_ns"] / 1e6, "again_ms": again["avg_ns"] / 1e6, "per_s": rest["avg_ts"]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
