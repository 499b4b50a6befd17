"""The command tern, as the package installs it."""

import os
import sys


def _value(words, *names):
    """The value of an option: `--name VALUE` or `--name=VALUE`."""
    for i, word in enumerate(words):
        if word in names and i + 1 < len(words):
            return words[i + 1]
        for name in names:
            if name.startswith("--") and word.startswith(name + "="):
                return word[len(name) + 1 :]
    return None


def _model_folder(words):
    """The folder of `tern export FOLDER --llm` or `--embeddings`, a model of transformers; else None."""
    if words[:1] != ["export"] or not {"--llm", "--embeddings"} & set(words):
        return None
    values = {_value(words, "-o", "--output"), _value(words, "--calibrate"), _value(words, "--tokenizer")}
    folders = [w for w in words[1:] if w not in values and os.path.isfile(os.path.join(w, "config.json"))]
    return folders[0] if len(folders) == 1 else None


def _export_folder(words, folder, run):
    """Runs `tern export` on the program of a folder's decoder or encoder."""
    import tempfile

    context = _value(words, "--context")
    length = None if context is None else int(context)
    pooling = _value(words, "--pooling")
    if pooling is not None:  # the program has its pooling
        words = [w for i, w in enumerate(words) if w not in ("--pooling", f"--pooling={pooling}") and words[i - 1] != "--pooling"]
    try:
        from tern._embeddings import save_embedder
        from tern._llm import save_decoder

        with tempfile.TemporaryDirectory(prefix="tern-") as place:
            program = os.path.join(place, "decoder.pt2")
            if "--embeddings" in words:
                more, output = save_embedder(folder, program, pooling, length)
            else:
                more, output = save_decoder(folder, program, length)
            given = {w.split("=")[0] for w in words}
            for option in more:
                has_ids = option[0] in ("--bos", "--eos") and "--token-ids" in given
                words = words if option[0] in given or has_ids else [*words, *option]
            if not given & {"-o", "--output"}:
                words = [*words, "--output", output]
            at = words.index(folder)
            return run(["tern", *words[:at], program, *words[at + 1 :]])
    except ImportError as e:
        print(f"tern: export {folder} needs PyTorch and transformers: pip install torch transformers ({e})", file=sys.stderr)
    except (OSError, ValueError) as e:
        print(f"tern: {folder}: {e}", file=sys.stderr)
    return 2


def main():
    import signal

    from tern import _tern

    # Python's handler would delay Ctrl-C until the command ends. Commands with cleanup set their own handlers.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    words = sys.argv[1:]
    folder = _model_folder(words)
    sys.exit(_tern._main(["tern", *words]) if folder is None else _export_folder(words, folder, _tern._main))


if __name__ == "__main__":
    main()
