"""Adapters (LoRA): trained, averaged, with steps of their own, as PyTorch trains them."""
import json
import shutil
import struct

from training_checks import CLOSE, CNN, DATA, difference, result_of, states_of, tensors_of

UNTIED = ("an adapter of one would change both. Give the layer a weight of its own before torch.export: "
          "model.head.weight = torch.nn.Parameter(model.head.weight.detach().clone())")


def adapters_are_trained(c):
    """Low-rank adapters: losses, adapters and results as a program of PyTorch has them; nothing else changes."""
    case = json.loads((DATA / "lora.json").read_text())
    its, _ = tensors_of(DATA / "lora.safetensors")
    data = DATA / "encoder_data.safetensors"
    options = ["--loss", "cross_entropy", "--class-axis", -1, "--lr", case["lr"], "--lora-seed", case["seed"]]
    for rule in case["lora"]:
        options += ["--lora", rule]
    model = c.export(DATA / "encoder.pt2", *options)
    checkpoints, adapters, forward = c.folder / "lora", c.folder / "adapters.safetensors", c.folder / "merged.tern"
    done = c.train(model, "--no-shuffle", "--epochs", 100, "--steps", len(case["losses"]), "--json", "--checkpoint", checkpoints,
                   "--every", 100, "--adapters", adapters, "--forward", forward, data=data)
    if done.returncode != 0:
        return c.check("low-rank adapters", False, done.stderr)
    losses = json.loads(done.stdout)["losses"]
    error = max(abs(a - b) / abs(b) for a, b in zip(losses, case["losses"], strict=True))
    c.check("losses with low-rank adapters", error < CLOSE and sum(losses[-8:]) < 0.99 * sum(losses[:8]), (error, losses[-8:]))
    mine, metadata = tensors_of(adapters)
    c.check("names of the adapters", len(mine) == 6 and len(its) == 7, mine.keys())
    scales = {"layers.layers.0.linear1": 2, "layers.layers.0.linear2": 2, "head": 1}  # B includes the scale
    for module, scale in scales.items():
        for key, letter, factor in (("lora_A", "a", 1), ("lora_B", "b", scale)):
            name = f"base_model.model.{module}.{key}.weight"
            error = difference(mine[name], [v * factor for v in its[f"{module}.{letter}"]]) if name in mine else 1
            c.check(f"adapter {module} {key}", error < 1e-7, error)
    c.check("the scale of the adapters", float(metadata["lora_alpha"]) / float(metadata["r"]) == 1, metadata)
    states = {name.split(".", 1)[1] for name in states_of(next(checkpoints.glob("*.safetensors"))) if name.startswith("state.")}
    c.check("a checkpoint has adapters and their optimizer's states alone", len(states) == 6 * 3 + 1 and
            all(".lora_" in name or name == "optimizer.step" for name in states), states)
    inspected = c.run("inspect", forward).stdout
    c.check("the merged program has no adapters", "lora_" not in inspected and "  mutable" not in inspected, inspected)
    (c.folder / "four.npy").write_bytes(four_rows(data))
    for archive in (forward, c.folder / "out.tern"):
        done = c.run("run", archive, "-f", "forward", "-i", c.folder / "four.npy", "-o", c.folder / "result.npy")
        c.check(f"{archive.name} runs", done.returncode == 0, done.stderr)
        error = difference(result_of(c.folder / "result.npy"), its["result"])
        c.check(f"{archive.name}: results with the trained adapters", error < 1e-7, error)
    c.check("they can be trained further", c.train(c.folder / "out.tern", "--epochs", 1, data=data,
                                                   output="more.tern").returncode == 0)
    for text in ("head:rank=0", "head:rank", "head:alpha=x", ":rank=2"):
        c.ends(f"--lora {text}", 2, "--lora takes PATTERN", "export", DATA / "encoder.pt2", "--train", "--lora", text, "-o", model)
    for program, rules, why in (
            ("encoder", ["tokens"], "it matches tokens.weight, which is not only a weight of linear layers"),
            ("encoder", ["nothing.*"], "no parameter matches; 'tern inspect --weights 1000' lists them"),
            ("encoder", ["*", "head"], "an earlier --lora matches head.weight"),
            ("tied", ["head"], f"it matches head.weight, which is tied to tokens.weight: {UNTIED}"),
            ("tied_head", ["head"], f"it matches head.weight, which is tied to tokens.weight: {UNTIED}"),
            ("tied_strict", ["head"], f"it matches the layer head, whose weight is tied to tokens.weight: {UNTIED}")):
        rules = [word for rule in rules for word in ("--lora", rule)]
        c.ends(f"{program} {rules}", 2, f"{' '.join(rules[-2:])}: {why}", "export", DATA / f"{program}.pt2", "--train",
               "--loss", "cross_entropy", "--class-axis", -1, *rules, "-o", model)
    whole = c.export(CNN, "--loss", "cross_entropy")
    c.ends("--adapters without any", 2, "the archive has no low-rank adapters", *c.train_command(
        whole, "--adapters", adapters))
    norms = c.export(CNN, "--loss", "cross_entropy", "--lora", "*")
    c.ends("--adapters beside batch norms", 0, "training also changes 6 buffers, such as features.", *c.train_command(
        norms, "--adapters", adapters))


def tied_weights_get_adapters_as_copies(c):
    """The copy that the error proposes: losses of PyTorch's adapter of the tied head alone."""
    case = json.loads((DATA / "tied_lora.json").read_text())
    data, options = DATA / "encoder_data.safetensors", ["--loss", "cross_entropy", "--class-axis", -1]
    adapter = ["--lora", case["lora"], "--lora-seed", case["seed"], "--lr", case["lr"]]
    model, forward = c.export(DATA / "tied_copy.pt2", *options, *adapter), c.folder / "copy.tern"
    done = c.train(model, "--no-shuffle", "--epochs", 100, "--steps", len(case["losses"]), "--json", "--forward", forward,
                   data=data)
    losses = json.loads(done.stdout)["losses"] if done.returncode == 0 else []
    c.check("losses with an adapter of a copied weight", len(losses) == len(case["losses"]) and
            max(abs(a - b) / abs(b) for a, b in zip(losses, case["losses"])) < CLOSE, done.stderr or losses[-4:])
    for name, word in (("tied_head", "head.weight"), ("tied_strict", "tokens.weight")):
        done = c.run("export", DATA / f"{name}.pt2", "--train", *options, "--lora", "*", "-o", c.folder / "others.tern")
        c.check(f"{name}: tied weights get no adapter", done.returncode == 0 and "trains 2 parameters" in done.stdout and
                word in done.stdout.partition("no adapters: ")[2] and "the weights are tied" in done.stdout, done.stdout + done.stderr)


def adapters_are_averaged(c):
    """--ema with --lora: averages of the adapters that runs of 1, 2 and 3 steps have, in the file and merged."""
    data, decay = DATA / "encoder_data.safetensors", 0.75
    model = c.export(DATA / "encoder.pt2", "--loss", "cross_entropy", "--class-axis", -1, "--lr", 0.01, "--lora", "*.linear1",
                     "--ema", decay)
    adapters, forward = c.folder / "mean.safetensors", c.folder / "mean.tern"
    runs = []
    for steps in (1, 2, 3):
        folder = c.folder / f"averaged{steps}"
        done = c.train(model, "--no-shuffle", "--epochs", 100, "--steps", steps, "--checkpoint", folder, "--adapters", adapters,
                       "--forward", forward, data=data)
        if done.returncode != 0:
            return c.check("averaged adapters", False, done.stderr)
        runs.append(tensors_of(next(folder.glob("*.safetensors")))[0])
    mine = tensors_of(adapters)[0]
    c.check("averaged adapters: names", len(mine) > 1 and all(".linear1.lora_" in name for name in mine), mine.keys())
    for name, found in mine.items():
        values = [run["state." + name.removeprefix("base_model.model.")] for run in runs]
        expected = values[0]
        for later in values[1:]:
            expected = [a + (1 - decay) * (p - a) for a, p in zip(expected, later, strict=True)]
        moved = difference(values[2], expected) > 1e-3
        c.check(f"average of {name}", difference(found, expected) < 1e-12 and moved, difference(found, expected))
    (c.folder / "four.npy").write_bytes(four_rows(data))
    results = []
    for archive, method in ((forward, "forward"), (c.folder / "out.tern", "forward_ema"), (c.folder / "out.tern", "forward")):
        done = c.run("run", archive, "-f", method, "-i", c.folder / "four.npy", "-o", c.folder / "result.npy")
        c.check(f"averaged adapters: {archive.name} {method}", done.returncode == 0, done.stderr)
        results.append(result_of(c.folder / "result.npy"))
    c.check("averaged adapters: merged", difference(results[0], results[1]) < 1e-12 < difference(results[2], results[1]), "")
    c.check("the merged program has no averages", "average." not in c.run("inspect", forward).stdout)


def adapters_have_steps(c):
    """--step with --lora: each step trains the adapters of its modules."""
    case = next(x for x in json.loads((DATA / "steps.json").read_text())["cases"] if x["model"] == "gan")
    model = c.folder / "steps.tern"
    rules = [word for rule in case["step"] for word in ("--step", rule)]
    done = c.run("export", DATA / "gan.pt2", "--train", "--loss", "none", "--lora", "*", *rules, "-o", model)
    c.check("named steps of adapters", done.returncode == 0, done.stderr)
    if done.returncode != 0:
        return
    folder, values = c.folder / "adapter_steps", []
    for steps in (1, 3):
        done = c.train(model, "--no-shuffle", "--epochs", 100, "--steps", steps, "--checkpoint", folder,
                       data=DATA / "steps_data.safetensors")
        c.check(f"{steps} named steps of adapters", done.returncode == 0, done.stderr)
        values.append(tensors_of(next(folder.glob("*.safetensors")))[0])
        shutil.rmtree(folder, ignore_errors=True)
    matrices = [name for name in values[0] if name.endswith((".lora_A.weight", ".lora_B.weight")) and "optimizer" not in name]
    for module in ("generator", "discriminator"):
        own = [name for name in matrices if name.startswith(f"state.{module}.")]
        c.check(f"the step of {module} trains its adapters", own and all(values[0][name] != values[1][name] for name in own), own)
    states = [name for name in values[1] if name.startswith("state.") and not name.startswith("state.optimizer.")]
    c.check("steps train adapters alone", all(".lora_" in name for name in states), states)


def adapters_of_weights_that_are_not_transposed(c):
    """x W + b with W [in, out], as GPT-2 has it: losses and results as PyTorch has them, merged and apart."""
    case, data = json.loads((DATA / "conv1d.json").read_text()), DATA / "encoder_data.safetensors"
    model, forward = c.folder / "conv1d.tern", c.folder / "merged.tern"
    c.ends("adapters of weights [in, out]", 0, "no adapters: tokens.weight: --lora matches, but", "export",
           DATA / "conv1d.pt2", "--train", "--loss", "cross_entropy", "--class-axis", -1, "--lr", case["lr"], "--lora",
           case["lora"], "-o", model)
    done = c.train(model, "--no-shuffle", "--epochs", 100, "--steps", len(case["losses"]), "--json", "--forward", forward,
                   "--adapters", c.folder / "adapters.safetensors", data=data)
    if done.returncode != 0:
        return c.check("adapters of weights [in, out] are trained", False, done.stderr)
    losses = json.loads(done.stdout)["losses"]
    error = max(abs(a - b) / abs(b) for a, b in zip(losses, case["losses"], strict=True))
    c.check("losses with adapters of weights [in, out]", error < CLOSE and losses[-1] < 0.995 * losses[0], (error, losses))
    metadata = tensors_of(c.folder / "adapters.safetensors")[1]
    c.check("their file says so", metadata.get("fan_in_fan_out") == "true", metadata)
    (c.folder / "four.npy").write_bytes(four_rows(data))
    for archive in (forward, c.folder / "out.tern"):
        done = c.run("run", archive, "-f", "forward", "-i", c.folder / "four.npy", "-o", c.folder / "result.npy")
        error = difference(result_of(c.folder / "result.npy"), case["result"]) if done.returncode == 0 else done.stderr
        c.check(f"{archive.name}: results with adapters of weights [in, out]", done.returncode == 0 and error < 1e-7, error)


def four_rows(path):
    """The first four rows of tokens as a .npy file."""
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    entry = json.loads(data[8:8 + length])["tokens"]
    first = 8 + length + entry["data_offsets"][0]
    header = f"{{'descr': '<i8', 'fortran_order': False, 'shape': (4, {entry['shape'][1]}), }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data[first:first + 32 * entry["shape"][1]]
