"""One token of a decoder of 0.5 B parameters by Tern and other runtimes, in 16, 8 and 4 bits, in turns: `./dev bench decoder`."""
