"""The command tern, as the package installs it."""

import sys


def main():
    import signal

    from tern import _tern

    # Python's handler would delay Ctrl-C until the command ends. Commands with cleanup set their own handlers.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    sys.exit(_tern._main(["tern", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
