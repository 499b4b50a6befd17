"""zoo.prepare with PyTorch as a TorchScript program, and without its limit of time."""
from . import script  # noqa: F401  # isort: skip
from zoo import prepare

if __name__ == "__main__":
    prepare.SECONDS = 1800
    prepare.main()
