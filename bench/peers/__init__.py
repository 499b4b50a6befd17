"""Runs Tern and the runtimes that people would pick instead over the same models, in turns: `./dev bench peers`."""
