// The shared library is made of the folders' static libraries; CMake asks for one source file of its own.
