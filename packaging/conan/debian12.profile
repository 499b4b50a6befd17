# For `conan create --profile:all`: the libraries of Debian 12 (./dev setup) instead of ConanCenter's.
[settings]
os=Linux
arch=x86_64
build_type=Release
compiler=gcc
compiler.version=12
compiler.libcxx=libstdc++11
compiler.cppstd=20

[options]
tern/*:with_dnnl=True
tern/*:with_blas=True
tern/*:with_lapack=True

[platform_requires]
fmt/9.1.0
xxhash/0.8.1
zstd/1.5.4
flatbuffers/2.0.8
nlohmann_json/3.11.2
cli11/2.1.2
libzip/1.7.3
zlib/1.2.13
onednn/2.6.3
openblas/0.3.21
opencl-icd-loader/2023.02.06

[platform_tool_requires]
flatbuffers/2.0.8
