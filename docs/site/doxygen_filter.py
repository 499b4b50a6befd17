#!/usr/bin/env python3
"""Doxygen's INPUT_FILTER: plain comments of a header become its documentation.

The comment that begins a C++ header documents the file. In C headers, which have no `///`, each comment that begins a line
documents what follows, and one behind a declaration documents it. Private members are left out.
"""
import re
import sys


def prose(line):
    """Lines that are indented are code, for which Markdown wants four spaces; "Errors: ..." begins a paragraph."""
    return re.sub(r"^ {2,3}(?=\S)", "    ", re.sub(r"^(?=[A-Z]\w+: )", "\n", line))


def cpp(source):
    head = re.match(r"(//.*\n)+", source)[0]
    text = "".join(prose(line.removeprefix("//").removeprefix(" ")) for line in head.splitlines(keepends=True))
    return "/** @file\n" + text + "*/\n" + re.sub(r"^ private:\n.*?(?=^};)", "", source[len(head):], flags=re.M | re.S)


def c(source):
    source = source.replace("/* ", "/** @file\n * ", 1)
    source = re.sub(r"^( *)/\* ", r"\1/** ", source, flags=re.M)
    source = re.sub(r"(?<=\S)( +)/\* ", r"\1/**< ", source)
    return re.sub(r"^ \* (?=[A-Z]\w+: )", " *\n * ", source, flags=re.M)


text = open(sys.argv[1]).read()
sys.stdout.write(c(text) if text.startswith("/*") else cpp(text))
