"""Training that is killed, interrupted or cannot write: resumed runs end with the same bits."""
import os
import random
import shutil
import signal
import subprocess
import time

from training_checks import CNN, IMAGES, INTERRUPTED, newest_step, TERMINATED


def killed_run(c, model, options, expected, rng, steps, name):
    """Kills the run ten times, at a random moment after so many steps each, and resumes it; then lets it end."""
    folder = c.folder / "killed"
    command = [c.tern, *map(str, c.train_command(model, *options, "--checkpoint", folder, "--every", 1, "--resume"))]
    kills = 0
    for k in range(10):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and newest_step(folder) < k * steps // 12:
            time.sleep(0.0005)
        time.sleep(rng.uniform(0, 0.02))  # a step and its checkpoint take a few milliseconds
        process.send_signal(signal.SIGKILL)
        kills += process.wait() == -signal.SIGKILL
    done = subprocess.run(command, capture_output=True, text=True)
    same = done.returncode == 0 and (c.folder / "out.tern").read_bytes() == expected
    c.check(name, same, f"{kills} kills; status {done.returncode}: {done.stderr}")
    for path in folder.glob("*"):
        c.check("the process that ended leaves no unfinished file", ".tmp." not in path.name, path)
        path.unlink()
    return kills


def killed_runs_end_with_the_same_bits(c, full):
    model = c.export(CNN, "--loss", "cross_entropy", "--optimizer", "adam", "--params", "classifier: lr=0.5x",
                     "--params", "ndim<2: optimizer=sgd, lr=1e-2, momentum=0.9")
    options = ["--epochs", 10, "--batch", 16, "--held-out", 0.2, "--schedule", "cosine", "--schedule", "classifier: linear:0.5",
               "--seed", 3]
    done = c.train(model, *options, "--checkpoint", c.folder / "whole", "--every", 1)
    c.check("uninterrupted run", done.returncode == 0, done.stderr)
    expected = (c.folder / "out.tern").read_bytes()
    again = c.train(model, *options)
    c.check("checkpoints change nothing", again.returncode == 0 and (c.folder / "out.tern").read_bytes() == expected)
    rng = random.Random(int(os.environ.get("TERN_TEST_SEED", "1")))
    rounds = 10 if full else 1
    kills = [killed_run(c, model, options, expected, rng, newest_step(c.folder / "whole"), f"killed ten times, round {k}")
             for k in range(rounds)]
    c.check("most runs were killed", min(kills) >= 8, kills)


def interrupted_run(c):
    model = c.export(CNN, "--loss", "cross_entropy")
    options = ["--epochs", 20, "--batch", 8, "--lr", 1e-4]
    c.train(model, *options)
    expected = (c.folder / "out.tern").read_bytes()
    (c.folder / "out.tern").unlink()
    command = [c.tern, *map(str, c.train_command(model, *options))]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.readline()  # waits for the start
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    c.check("Ctrl-C ends with 130", process.returncode == INTERRUPTED, f"{process.returncode}: {errors}")
    c.check("Ctrl-C says how to continue", "out.tern.checkpoints; continue with --resume\n" in errors, errors)
    c.check("no archive after Ctrl-C", not (c.folder / "out.tern").exists())
    c.ends("other options are another run", 2, "lr: 0.0001 there, 0.1 now", *c.train_command(
        model, *options[:4], "--lr", 0.1, "--resume"))
    for place in ([], ["--checkpoint", c.folder / "out.tern.checkpoints"]):
        c.ends(f"checkpoints are not overwritten {place}", 2, "continue it with --resume",
               *c.train_command(model, *options[:4], "--lr", 0.1, *place))
    changed = c.folder / "changed.safetensors"
    bytes_of_data = bytearray(IMAGES.read_bytes())
    bytes_of_data[len(bytes_of_data) // 2] ^= 1
    changed.write_bytes(bytes_of_data)
    c.ends("other data is another run", 2, "contents of the data: ", *c.train_command(
        model, *options, "--resume", "--array", "target=labels", data=changed))
    done = c.train(model, *options, "--resume")
    c.check("a run after Ctrl-C ends with the same bits",
            done.returncode == 0 and (c.folder / "out.tern").read_bytes() == expected, done.stderr)
    c.check("a run that ends leaves no folder that nobody named", not (c.folder / "out.tern.checkpoints").exists())


def other_signals(c):
    """SIGTERM has a status of its own; under nohup a signal that is ignored stays so."""
    model = c.export(CNN, "--loss", "cross_entropy")
    command = [c.tern, *map(str, c.train_command(model, "--epochs", 4, "--batch", 8, output="signal.tern"))]
    for ignored, status in (("TERM", INTERRUPTED), ("INT", TERMINATED), ("INT TERM", 0)):
        process = subprocess.Popen(["sh", "-c", f"trap '' {ignored}; exec \"$@\"", "sh", *command], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate()
        c.check(f"SIGINT and SIGTERM with {ignored} ignored", process.returncode == status, f"{process.returncode}: {errors}")
        shutil.rmtree(c.folder / "signal.tern.checkpoints", ignore_errors=True)


def results_that_cannot_be_written(c):
    """The hours of a run are in a checkpoint where its archive cannot be written."""
    model = c.export(CNN, "--loss", "cross_entropy")
    options = ["--epochs", 8, "--batch", 8]
    c.train(model, *options)
    expected = (c.folder / "out.tern").read_bytes()
    command = [c.tern, *map(str, c.train_command(model, *options, output="late.tern"))]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.readline()  # waits for the start
    (c.folder / "late.tern").mkdir()
    _, errors = process.communicate()
    c.check("an archive that cannot be written at the end", process.returncode == 3 and "it is a folder" in errors and
            "late.tern.checkpoints; continue with --resume\n" in errors, f"{process.returncode}: {errors}")
    c.check("its last step is in a checkpoint", newest_step(c.folder / "late.tern.checkpoints") == 8 * 45, errors)
    (c.folder / "late.tern").rmdir()
    done = c.train(model, *options, "--resume", output="late.tern")
    c.check("--resume writes it", done.returncode == 0 and (c.folder / "late.tern").read_bytes() == expected, done.stderr)
    c.check("its checkpoint is gone then", not (c.folder / "late.tern.checkpoints").exists())
