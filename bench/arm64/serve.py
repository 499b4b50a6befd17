"""peers.serve with PyTorch as a TorchScript program."""
from . import script  # noqa: F401  # isort: skip
from peers.serve import main

if __name__ == "__main__":
    main()
