"""Measures Tern and other runtimes on hundreds of architectures and operators: `./dev bench zoo`."""
