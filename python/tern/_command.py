"""The command tern, as the package installs it."""

import sys


def main():
    from tern import _tern

    sys.exit(_tern._main(["tern", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
