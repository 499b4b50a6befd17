"""python -m tern is the command tern."""

from tern._command import main

main()
