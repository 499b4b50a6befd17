#!/usr/bin/env python3
"""names.py: finds declared names of functions, members, types and enumerators that say nothing alone: a preposition, a verb form
without an object, a vague noun. Needs universal-ctags. Prints each with its places; exit status 1 if there are any.

ALLOWED has the standard terms among them: of the standard library, of linear algebra and PyTorch, of interfaces of Tern.
"""
import json
import re
import subprocess
import sys

FOLDERS = ("devices", "dtypes", "engines", "exporter", "generation", "include", "kernels", "loader", "platform", "python", "runtime",
           "schema", "text", "threads", "tools", "user_files")
LEFT_OUT = ("kernels/portable/text/",)
VAGUE = set("""
    above after again all any are as asked at be been before begins begun below beside best better between both by came change changes
    come did do does done each early either ends few fits for from gave get gets give given gives go goes gone got had has have
    held hold holds is it its keep keeps kept knows known late least left let lets made make makes many mean means more most much named
    need needs off on one other others own owns part parts place places put puts reads ready real rest runs said same say says seen show
    shows some such take taken takes tell tells than that then these thing things this those through to told turn turns two under up
    use uses wanted wants was were what which whole with without work works writes""".split())
ALLOWED = set("""
    all below get has in_parallel in_place in_place_input in_place_product in_spec in_steps in_tree is kept kLeft left mean off on
    on_demand one other part parts real runs take to uses with with_lora with_weights work at_least_1d MAKE REAL""".split())
PREPOSITION = re.compile(r"(of|by|for|at|on|in|with|without)_[a-z]")
STANDARD = re.compile(r"for_each_|on_[a-z]+$")  # loops, and functions called at an event


def is_vague(name):
    bare = name.strip("_")
    if name in ALLOWED or bare.lower() in ALLOWED or STANDARD.match(bare):
        return False
    return re.sub(r"^k(?=[A-Z])", "", bare).lower() in VAGUE or bool(PREPOSITION.match(bare))


def main():
    files = subprocess.run(["git", "ls-files", "*.h", "*.cpp", "*.inc"], capture_output=True, text=True, check=True).stdout.split()
    files = [f for f in files if f.startswith(tuple(f"{folder}/" for folder in FOLDERS)) and not f.startswith(LEFT_OUT)]
    tags = subprocess.run(["ctags", "--languages=C++", "--langmap=C++:+.inc.h", "--c++-kinds=cdefgmnpstuv", "--fields=+n",
                           "--output-format=json", "-f", "-", "-L", "-"], input="\n".join(files), capture_output=True, text=True, check=True).stdout
    found = [tag for tag in map(json.loads, tags.splitlines()) if is_vague(tag["name"])]
    for tag in found:
        print(f"{tag['path']}:{tag['line']}: '{tag['name']}' does not say what it is: name the object (CONTRIBUTING.md)")
    return 1 if found or not tags else 0


if __name__ == "__main__":
    sys.exit(main())
