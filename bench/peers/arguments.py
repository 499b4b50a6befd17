"""What the benchmarks take on their command lines."""
import argparse


def names(table):
    """Of an option that lists names of the table, with commas between."""
    def parse(text):
        chosen = text.split(",")
        unknown = [name for name in chosen if name not in table]
        if unknown:
            raise argparse.ArgumentTypeError(f"no {', '.join(unknown)}; there are {', '.join(table)}")
        return chosen

    return parse
