// CMake requires a source file: all code comes from the folders' static libraries.
