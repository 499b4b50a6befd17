#include "exporter/pt2/pickle_globals.h"

namespace tern::pt2 {
namespace {

using G = PickleGlobal;

struct KnownGlobal {
  std::string_view name;
  PickleGlobal global;
};

constexpr KnownGlobal kKnownGlobals[] = {
    {"collections OrderedDict", G::ordered_dict},
    {"torch Size", G::size},
    {"torch device", G::device},
    {"torch._tensor _rebuild_from_type_v2", G::rebuild_from_type},
    {"torch._utils _rebuild_parameter", G::rebuild_parameter},
    {"torch._utils _rebuild_parameter_with_state", G::rebuild_parameter_with_state},
    {"torch._utils _rebuild_tensor_v2", G::rebuild_tensor},
    {"torch._utils _rebuild_tensor_v3", G::rebuild_tensor_of_type},
    {"torch._utils _rebuild_wrapper_subclass", G::rebuild_wrapper},
    {"torch.serialization _get_layout", G::layout},

    // Enums: a call of the name in a pickle has the member's value as argument.
    {"torchao.float8.config ScalingGranularity", G::enumeration},
    {"torchao.prototype.mx_formats.config ScaleCalculationMode", G::enumeration},
    {"torchao.quantization.quant_primitives MappingType", G::enumeration},
    {"torchao.quantization.quant_primitives TorchAODType", G::enumeration},
    {"torchao.quantization.quant_primitives ZeroPointDomain", G::enumeration},
    {"torchao.quantization.quantize_.common.kernel_preference KernelPreference", G::enumeration},
    {"torchao.quantization.quantize_.common.packing_format PackingFormat", G::enumeration},
    {"torchao.quantization.quantize_.workflows.float8.float8_packing_format Float8PackingFormat", G::enumeration},
    {"torchao.quantization.quantize_.workflows.int4.int4_packing_format Int4PackingFormat", G::enumeration},
    {"torchao.quantization.quantize_.workflows.intx.intx_packing_format IntxPackingFormat", G::enumeration},
    {"torchao.quantization.quantize_.workflows.intx.intx_unpacked_to_int8_tensor "
     "IntxUnpackedToInt8TensorActivationQuantization",
     G::enumeration},

    // Dataclasses and named tuples: attributes of the tensors below.
    {"torchao.prototype.mx_formats.mx_tensor QuantizeTensorToMXKwargs", G::record},
    {"torchao.prototype.mx_formats.nvfp4_tensor QuantizeTensorToNVFP4Kwargs", G::record},
    {"torchao.quantization.granularity PerAxis", G::record},
    {"torchao.quantization.granularity PerBlock", G::record},
    {"torchao.quantization.granularity PerGroup", G::record},
    {"torchao.quantization.granularity PerRow", G::record},
    {"torchao.quantization.granularity PerTensor", G::record},
    {"torchao.quantization.granularity PerToken", G::record},
    {"torchao.quantization.quantize_.workflows.float8.float8_tensor QuantizeTensorToFloat8Kwargs", G::record},
    {"torchao.quantization.quantize_.workflows.int8.int8_tensor QuantizeTensorToInt8Kwargs", G::record},
    {"torchao.dtypes.utils Layout", G::record},
    {"torchao.dtypes.utils PlainLayout", G::record},
    {"torchao.float8.inference Float8MMConfig", G::named_tuple},

    // Tensors of PyTorch.
    {"torch.sparse.semi_structured SparseSemiStructuredTensorCUSPARSELT", G::tensor_class},
    {"torch.sparse.semi_structured SparseSemiStructuredTensorCUTLASS", G::tensor_class},

    // Tensors of torchao 0.18.
    {"torchao.prototype.float8_opaque_tensor Float8OpaqueTensor", G::tensor_class},
    {"torchao.prototype.mx_formats.mx_tensor MXTensor", G::tensor_class},
    {"torchao.prototype.mx_formats.nvfp4_tensor NVFP4Tensor", G::tensor_class},
    {"torchao.prototype.quantization.float8_static_quant.prototype_float8_tensor PrototypeFloat8Tensor",
     G::tensor_class},
    {"torchao.prototype.quantization.int4 Int4OpaqueTensor", G::tensor_class},
    {"torchao.prototype.quantization.int8_lut_tensor.int8_lut_tensor Int8LutTensor", G::tensor_class},
    {"torchao.prototype.quantization.uintx.uintx_bit_packed_tensor UIntxBitPackedTensor", G::tensor_class},
    {"torchao.quantization Float8Tensor", G::tensor_class},
    {"torchao.quantization Int4PlainInt32Tensor", G::tensor_class},
    {"torchao.quantization Int4PreshuffledTensor", G::tensor_class},
    {"torchao.quantization Int4Tensor", G::tensor_class},
    {"torchao.quantization Int4TilePackedTo4dTensor", G::tensor_class},
    {"torchao.quantization Int8Tensor", G::tensor_class},
    {"torchao.quantization IntxOpaqueTensor", G::tensor_class},
    {"torchao.quantization IntxUnpackedToInt8Tensor", G::tensor_class},
    {"torchao.quantization.quantize_.workflows.float8.float8_sparse_2x4_1d_data_1d_metadata_tensor "
     "Float8Sparse2x41DData1DMetadataTensor",
     G::tensor_class},
    {"torchao.quantization.quantize_.workflows.float8.float8_sparse_2x4_2d_data_2d_metadata_tensor "
     "Float8Sparse2x42DData2DMetadataTensor",
     G::tensor_class},

    // Tensors of earlier versions, wrapping each other.
    {"torchao.dtypes AffineQuantizedTensor", G::tensor_class},
    {"torchao.dtypes.affine_quantized_tensor AffineQuantizedTensor", G::tensor_class},
    {"torchao.dtypes.floatx.float8_layout Float8AQTTensorImpl", G::tensor_class},
    {"torchao.dtypes.uintx.plain_layout PlainAQTTensorImpl", G::tensor_class},
    {"torchao.quantization LinearActivationQuantizedTensor", G::tensor_class},
    {"torchao.quantization.linear_activation_quantized_tensor LinearActivationQuantizedTensor", G::tensor_class},
};

struct StorageClass {
  std::string_view name;
  DType dtype;
};

constexpr StorageClass kStorageClasses[] = {
    {"torch BFloat16Storage", DType::bf16},
    {"torch BoolStorage", DType::boolean},
    {"torch ByteStorage", DType::u8},
    {"torch CharStorage", DType::i8},
    {"torch ComplexDoubleStorage", DType::c128},
    {"torch ComplexFloatStorage", DType::c64},
    {"torch DoubleStorage", DType::f64},
    {"torch FloatStorage", DType::f32},
    {"torch HalfStorage", DType::f16},
    {"torch IntStorage", DType::i32},
    {"torch LongStorage", DType::i64},
    {"torch ShortStorage", DType::i16},
    {"torch.storage UntypedStorage", DType::invalid},
};

// Dtypes of tensors; attributes may also use dtypes without Tern tensors.
constexpr std::string_view kDTypes[] = {
    "torch bfloat16",
    "torch bool",
    "torch complex128",
    "torch complex32",
    "torch complex64",
    "torch float16",
    "torch float32",
    "torch float64",
    "torch float4_e2m1fn_x2",
    "torch float8_e4m3fn",
    "torch float8_e4m3fnuz",
    "torch float8_e5m2",
    "torch float8_e5m2fnuz",
    "torch float8_e8m0fnu",
    "torch int1",
    "torch int16",
    "torch int2",
    "torch int3",
    "torch int32",
    "torch int4",
    "torch int5",
    "torch int6",
    "torch int64",
    "torch int7",
    "torch int8",
    "torch uint1",
    "torch uint16",
    "torch uint2",
    "torch uint3",
    "torch uint32",
    "torch uint4",
    "torch uint5",
    "torch uint6",
    "torch uint64",
    "torch uint7",
    "torch uint8",
};

}  // namespace

PickleGlobal pickle_global(std::string_view name, std::string_view* known) {
  const auto found = [known](std::string_view text, PickleGlobal global) {
    *known = text;
    return global;
  };
  for (const KnownGlobal& k : kKnownGlobals)
    if (k.name == name) return found(k.name, k.global);
  for (const StorageClass& s : kStorageClasses)
    if (s.name == name) return found(s.name, G::storage);
  for (const std::string_view d : kDTypes)
    if (d == name) return found(d, G::dtype);
  return G::refused;
}

DType storage_dtype(std::string_view name) {
  for (const StorageClass& s : kStorageClasses)
    if (s.name == name) return s.dtype;
  return DType::invalid;
}

}  // namespace tern::pt2
