// Python names allowed in a pickle, and Tern's meaning of each. No name is ever imported or called.
#pragma once

#include <tern/dtype.h>

#include <string_view>

namespace tern::pt2 {

enum class PickleGlobal {
  refused,  ///< not in the list
  ordered_dict,
  rebuild_from_type,             ///< torch._tensor._rebuild_from_type_v2(function, class, arguments, state)
  rebuild_wrapper,               ///< torch._utils._rebuild_wrapper_subclass
  rebuild_tensor,                ///< torch._utils._rebuild_tensor_v2: dtype of the storage
  rebuild_tensor_of_type,        ///< torch._utils._rebuild_tensor_v3: dtype given
  rebuild_parameter,             ///< torch._utils._rebuild_parameter
  rebuild_parameter_with_state,  ///< torch._utils._rebuild_parameter_with_state
  layout,                        ///< torch.serialization._get_layout
  device,                        ///< torch.device
  size,                          ///< torch.Size
  storage,                       ///< torch.FloatStorage ...: see storage_dtype
  dtype,                         ///< torch.float32 ...: the name after "torch "
  enumeration,                   ///< enum of torchao or PyTorch: its call has the value as only argument
  record,                        ///< a dataclass of torchao
  named_tuple,                   ///< a named tuple of torchao: positional arguments
  tensor_class,                  ///< a tensor subclass of torchao: inner tensors and attributes by name
};

/// `name` is "module name", separated by a space. `known` becomes the same text, with static lifetime.
PickleGlobal pickle_global(std::string_view name, std::string_view* known);

/// Dtype of a storage class: invalid for torch.storage.UntypedStorage, a storage of bytes.
DType storage_dtype(std::string_view name);

}  // namespace tern::pt2
