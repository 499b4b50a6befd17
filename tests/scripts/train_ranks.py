#!/usr/bin/env python3
"""Data-parallel training: losses as PyTorch's DistributedDataParallel has them, and as one rank alone has them.

  train_ranks.py --build BUILD [--full] [--only WORD] [--engines gloo,mpi]      ends with `N passed, N failed`

The programs and PyTorch's losses are those of tests/data/train/make.py. --full takes every case with every engine.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

import groups
import training_checks

DATA, IMAGES, CNN = training_checks.DATA, training_checks.IMAGES, training_checks.CNN
LIMIT = 100  # seconds for all ranks
CLOSE_TO_TORCH, CLOSE_TO_ALONE = 1e-9, 1e-12


class RankChecks(training_checks.TrainingChecks):
    def __init__(self, build, folder, engines):
        super().__init__(os.path.realpath(f"{build}/tern"), folder)
        self.engines = engines

    def start(self, engine, ranks, command, extra_of_rank=lambda r: ()):
        """Processes by rank; one for all with mpirun, whose ranks take the same arguments."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("OMPI_", "PMIX_", "SLURM_"))}
        command = [self.tern, *map(str, command), "--group", engine, "--group-timeout", "60"]
        how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "start_new_session": True}
        if engine == "mpi":
            launch = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-np", str(ranks), "-x",
                      f"TERN_GROUP_ADDRESS=127.0.0.1:{groups.free_port()}"]
            return [subprocess.Popen(launch + command, env=environment, **how)]
        port = str(groups.free_port())
        return [subprocess.Popen([*command, *map(str, extra_of_rank(r))], **how, env=environment | {
            "RANK": str(r), "WORLD_SIZE": str(ranks), "LOCAL_RANK": str(r), "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": port}) for r in range(ranks)]

    def ranks(self, engine, ranks, command, **more):
        return ended(self.start(engine, ranks, command, **more))


def ended(processes):
    """Exit statuses, what each process printed, and their errors."""
    end = time.time() + LIMIT
    try:
        texts = [p.communicate(timeout=max(0.1, end - time.time())) for p in processes]
    except subprocess.TimeoutExpired:
        for p in processes:
            os.killpg(p.pid, signal.SIGKILL)
        texts = [p.communicate() for p in processes]
    return [p.returncode for p in processes], [out for out, _ in texts], [err for _, err in texts]


def trained_losses(c, name, status, out, errors):
    if any(status):
        c.check(name, False, f"{status} {errors}")
        return []
    return json.loads(out[0])["losses"]


def error_of(mine, its):
    return max(abs(a - b) / abs(b) for a, b in zip(mine, its)) if len(mine) == len(its) else float("inf")


def losses_are_those_of_pytorch(c, full):
    for case in json.loads((DATA / "parallel.json").read_text())["cases"]:
        tokens = case["model"] == "encoder"
        options = ["--loss", "cross_entropy", "--optimizer", case["optimizer"], "--lr", case["lr"], "--data-parallel",
                   "--bucket", "1kB"]
        for name, value in case["settings"].items():
            options += [f"--{name}", value]
        if case["clip"] is not None:
            options += ["--clip-norm", case["clip"]]
        model = c.export(DATA / f"{case['model']}.pt2", *options, *(["--class-axis", -1] if tokens else []))
        command = c.train_command(model, "--no-shuffle", "--epochs", 100, "--steps", len(case["losses"]), "--json",
                                  data=DATA / "encoder_data.safetensors" if tokens else IMAGES)
        for engine in c.engines:
            if not full and (engine == "mpi") != (case["ranks"] == 4):
                continue
            name = f"losses of {case['model']} with {case['optimizer']}, {case['ranks']} ranks, {engine}"
            losses = trained_losses(c, name, *c.ranks(engine, case["ranks"], command))
            c.check(name, error_of(losses, case["losses"]) < CLOSE_TO_TORCH, error_of(losses, case["losses"]))


def named_steps_are_those_of_pytorch(c, full):
    """A GAN, actor and critic: each step's gradients are the mean of the ranks'. Ranks with unequal shares, and several
    batches a step, have the losses of one rank."""
    data = DATA / "steps_data.safetensors"
    for case in json.loads((DATA / "steps.json").read_text())["parallel"]:
        rules = [word for rule in case["step"] for word in ("--step", rule)]
        model = c.export(DATA / f"{case['model']}.pt2", "--lr", case["lr"], *rules, "--data-parallel", "--bucket", "1kB",
                         "--accumulate")
        count = len(case["losses"][0])
        options = ["--no-shuffle", "--epochs", 100, "--steps", count, "--json"]
        for engine in c.engines if full else c.engines[:1]:
            name = f"named steps of {case['model']}, {case['ranks']} ranks, {engine}"
            status, out, errors = c.ranks(engine, case["ranks"], c.train_command(model, *options, data=data))
            error = training_checks.error_of_steps(json.loads(out[0]), case["losses"]) if not any(status) else errors
            c.check(f"{name}: as PyTorch", not any(status) and error < CLOSE_TO_TORCH, error)
            more = [*options, "--batch", 27, "--accumulate", 2]
            done = c.train(model, *more, data=data)
            alone = json.loads(done.stdout) if done.returncode == 0 else {}
            status, out, errors = c.ranks(engine, case["ranks"], c.train_command(model, *more, data=data))
            if any(status) or not alone:
                c.check(f"{name}: as one rank", False, f"{done.stderr} {errors}")
                continue
            error = training_checks.error_of_steps(json.loads(out[0]), [alone["losses"], *alone["further_losses"].values()])
            c.check(f"{name}: as one rank", error < CLOSE_TO_ALONE, error)


def ranks_are_one_large_rank(c, full):
    """Equal shares, unequal ones, and last batches that leave a rank without samples; also several batches a step."""
    model = c.export(DATA / "mlp.pt2", "--loss", "cross_entropy", "--optimizer", "adamw", "--lr", 2e-3, "--clip-norm", 0.5,
                     "--data-parallel", "--bucket", "2kB", "--accumulate")
    cases = [(2, 32, 1), (4, 50, 1), (4, 51, 1), (3, 20, 4)]
    for ranks, batch, accumulate in cases:
        options = ["--batch", batch, "--epochs", 100, "--steps", 100, "--json", "--held-out", 0.15, "--seed", 2]
        options += ["--accumulate", accumulate] if accumulate > 1 else []
        done = c.train(model, *options)
        c.check("one rank", done.returncode == 0, done.stderr)
        alone = json.loads(done.stdout)
        for engine in c.engines if full else c.engines[:1]:
            name = f"{ranks} ranks, batch {batch}, {accumulate} a step, {engine}: as one rank"
            status, out, errors = c.ranks(engine, ranks, c.train_command(model, *options))
            losses = trained_losses(c, name, status, out, errors)
            if not losses:
                continue
            c.check(name, error_of(losses, alone["losses"]) < CLOSE_TO_ALONE, error_of(losses, alone["losses"]))
            held = [[e["held_out_loss"] for e in run["epochs"]] for run in (json.loads(out[0]), alone)]
            right = [[e["held_out_accuracy"] for e in run["epochs"]] for run in (json.loads(out[0]), alone)]
            c.check(f"{name}: held-out", error_of(*held) < CLOSE_TO_ALONE and right[0] == right[1], held)
            c.check(f"{name}: rank 0 alone prints", engine == "mpi" or not any(out[1:] + errors), f"{out[1:]} {errors}")


def ignored_targets_do_not_count(c, _):
    """The mean is over the targets that are not ignored, wherever they lie."""
    path = c.folder / "ignored.safetensors"
    tensors, body = tensors_of(IMAGES)
    first, last = tensors["labels"]["data_offsets"]
    labels = list(struct.unpack(f"<{(last - first) // 8}q", body[first:last]))
    labels = [-100 if i % 7 < 3 or 64 <= i < 80 else label for i, label in enumerate(labels)]
    body = body[:first] + struct.pack(f"<{len(labels)}q", *labels) + body[last:]
    text = json.dumps(tensors).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)
    model = c.export(DATA / "mlp.pt2", "--loss", "cross_entropy", "--optimizer", "sgd", "--lr", 0.1, "--data-parallel")
    options = ["--array", "target=labels", "--batch", 20, "--no-shuffle", "--epochs", 2, "--json"]
    done = c.train(model, *options, data=path)
    losses = trained_losses(c, "ignored targets", *c.ranks("gloo", 2, c.train_command(model, *options, data=path)))
    alone = json.loads(done.stdout)["losses"] if done.returncode == 0 else [done.stderr]
    c.check("ignored targets count as for one rank", error_of(losses, alone) < CLOSE_TO_ALONE, f"{losses} {alone}")


def tensors_of(path):
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    tensors = json.loads(data[8:8 + length])
    tensors.pop("__metadata__", None)
    return tensors, data[8 + length:]


def runs_continue(c, full):
    """Dropout, batch norms and unequal shares: stopped by a signal and resumed, with the bits of an uninterrupted run."""
    model = c.export(CNN, "--loss", "cross_entropy", "--optimizer", "adam", "--data-parallel", "--bucket", "4kB")
    options = ["--epochs", 40, "--batch", 15, "--held-out", 0.2, "--schedule", "cosine", "--seed", 3]
    for engine in c.engines if full else c.engines[:1]:
        folder = c.folder / f"ranks_{engine}"
        status, _, errors = c.ranks(engine, 2, c.train_command(model, *options))
        c.check(f"uninterrupted ranks, {engine}", not any(status), errors)
        expected = (c.folder / "out.tern").read_bytes() if not any(status) else b""
        (c.folder / "out.tern").unlink(missing_ok=True)
        command = c.train_command(model, *options, "--checkpoint", folder, "--every", 7, "--resume")
        processes = c.start(engine, 2, command)
        end = time.time() + LIMIT
        while training_checks.newest_step(folder) < 28 and time.time() < end and processes[0].poll() is None:
            time.sleep(0.002)
        for p in processes:
            p.send_signal(signal.SIGTERM)
        status, _, errors = ended(processes)
        if engine != "mpi":  # mpirun may pass the signal on after the end
            c.check("SIGTERM ends all ranks after one step", set(status) == {training_checks.TERMINATED} and
                    errors[0].count("stopped after step") == 1 and not errors[1], f"{status} {errors}")
            c.check("ranks are stopped", not (c.folder / "out.tern").exists())
        status, _, errors = c.ranks(engine, 2, command)
        c.check(f"ranks continue with the same bits, {engine}", not any(status) and
                (c.folder / "out.tern").read_bytes() == expected, f"{status} {errors}")


def another_number_of_ranks_continues(c, _):
    """Runs of two ranks that stop after 30 steps go on with one, three and four, and have the losses of one rank."""
    model = c.export(DATA / "mlp.pt2", "--loss", "cross_entropy", "--optimizer", "adamw", "--lr", 2e-3, "--data-parallel")
    options = ["--batch", 50, "--epochs", 40, "--steps", 60, "--json", "--seed", 4]
    done = c.train(model, *options)
    alone = json.loads(done.stdout)["losses"] if done.returncode == 0 else [done.stderr]
    first = c.folder / "of_two"
    processes = c.start("gloo", 2, c.train_command(model, *options, "--checkpoint", first, "--every", 1))
    end = time.time() + LIMIT
    while training_checks.newest_step(first) < 20 and time.time() < end and processes[0].poll() is None:
        time.sleep(0.001)
    for p in processes:
        p.send_signal(signal.SIGTERM)
    status, _, errors = ended(processes)
    at = training_checks.newest_step(first)
    c.check("two ranks are stopped between steps", set(status) == {training_checks.TERMINATED} and 20 <= at < 60, f"{at} {errors}")
    for ranks in (1, 3, 4):
        folder = c.folder / f"of_{ranks}"
        shutil.copytree(first, folder)
        command = c.train_command(model, *options, "--checkpoint", folder, "--resume")
        if ranks == 1:
            done = c.run(*command)
            status, out, errors = [done.returncode], [done.stdout], [done.stderr]
        else:
            status, out, errors = c.ranks("gloo", ranks, command)
        losses = trained_losses(c, f"{ranks} ranks continue two", status, out, errors)
        c.check(f"{ranks} ranks continue two: losses of one rank", error_of(losses, alone) < CLOSE_TO_ALONE,
                error_of(losses, alone) if losses else errors)
        c.check(f"{ranks} ranks continue two: a warning", f"from 2 ranks, but {ranks} continue" in errors[0], errors)


def names_of_ranks(c, _):
    """Files by rank; without {rank} a trace is rank 0's. A trace does not replace what is read."""
    model = c.export(CNN, "--loss", "cross_entropy", "--data-parallel")
    for r in range(2):
        shutil.copy(IMAGES, c.folder / f"data_{r}.safetensors")
    places = ["--array", "target=labels", "--held-out", c.folder / "data_{rank}.safetensors"]
    command = c.train_command(model, *places, "--epochs", 1, "--trace", c.folder / "trace.json",
                              data=c.folder / "data_{rank}.safetensors")
    status, _, errors = c.ranks("gloo", 2, command)
    c.check("data and held-out data by rank", not any(status), errors)
    if not any(status):
        rank = json.loads((c.folder / "trace.json").read_text())["distributedInfo"]["rank"]
        c.check("the trace is rank 0's", rank == 0, rank)
    before = model.read_bytes()
    c.ends("a trace that would replace the archive", 2, "--trace", *c.train_command(model, "--trace", model))
    c.check("the archive is as before", model.read_bytes() == before)


def a_rank_fails(c, _):
    model = c.export(CNN, "--loss", "cross_entropy", "--data-parallel")
    command = c.train_command(model, "--epochs", 1000, "--batch", 8)
    processes = c.start("gloo", 3, command)
    processes[0].stdout.readline()
    processes[0].stdout.readline()  # after an epoch
    processes[2].kill()
    begin = time.time()
    status, _, errors = ended(processes)
    c.check("a rank that is killed ends the others", status[0] not in (0, None) and status[1] != 0 and
            all("rank 2 has ended" in e for e in errors[:2]) and time.time() - begin < 20, f"{status} {errors}")
    status, _, errors = c.ranks("gloo", 2, command, extra_of_rank=lambda r: ["--seed", r])
    c.check("ranks of other options", all(status) and "seed: 0 on rank 0, 1 on rank 1" in errors[1] and
            "rank 1 has failed" in errors[0], f"{status} {errors}")
    plain = c.export(CNN, "--loss", "cross_entropy", output="plain.tern")
    status, _, errors = c.ranks("gloo", 2, c.train_command(plain))
    c.check("an archive without collectives", all(s == 2 for s in status) and
            all("export it with --train --data-parallel" in e for e in errors), f"{status} {errors}")


def communication_runs_beside_the_backward_pass(c, _):
    """A thread of its own makes calls between the first and the last node of the backward pass. On busy cores it may come
    late, so one step of many is enough; calls that stand behind the pass are beside none."""
    model = c.export(CNN, "--loss", "cross_entropy", "--data-parallel", "--bucket", "4kB")
    status, _, errors = c.ranks("gloo", 2, c.train_command(model, "--steps", 16, "--epochs", 16, "--batch", 360, "--trace",
                                                           c.folder / "trace_{rank}.json"))
    c.check("traces of ranks", not any(status), errors)
    if any(status):
        return
    events = [e for e in json.loads((c.folder / "trace_0.json").read_text())["traceEvents"] if e.get("ph") == "X"]
    calls = [e for e in events if e["name"] == "record_param_comms" and e["args"]["Collective name"] == "allreduce"]
    steps = [e for e in events if e["name"].startswith("ProfilerStep")]
    backward = [e for e in events if "gradient of" in str(e.get("args", {}).get("Origin"))]
    beside = 0
    for step in steps:
        nodes = [e for e in backward if step["ts"] <= e["ts"] <= step["ts"] + step["dur"]]
        begin, end = min(e["ts"] for e in nodes), max(e["ts"] for e in nodes)
        beside += any(begin < call["ts"] < end and call["tid"] != nodes[0]["tid"] for call in calls)
    c.check("gradients travel beside the backward pass", len(steps) == 16 and beside >= 1, f"{beside} of {len(steps)} steps")


CHECKS = (losses_are_those_of_pytorch, named_steps_are_those_of_pytorch, ranks_are_one_large_rank, ignored_targets_do_not_count, runs_continue,
          another_number_of_ranks_continues, names_of_ranks,
          a_rank_fails, communication_runs_beside_the_backward_pass)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--only", metavar="WORD", default="", help="checks whose function's name has this word")
    parser.add_argument("--engines", default="gloo,mpi")
    arguments = parser.parse_args()
    engines = []
    for engine in arguments.engines.split(","):
        missing = not os.path.exists(f"{arguments.build}/engines/libtern_{engine}.so")
        if missing or (engine == "mpi" and shutil.which("mpirun") is None):
            print(f"left out: {engine}, which this build or system is without")
        else:
            engines.append(engine)
    with tempfile.TemporaryDirectory() as folder:
        c = RankChecks(arguments.build, pathlib.Path(folder), engines)
        for check in CHECKS if engines else ():
            if arguments.only in check.__name__:
                check(c, arguments.full)
    print(f"{c.passed} passed, {c.failed} failed")
    sys.exit(c.failed > 0)


if __name__ == "__main__":
    main()
