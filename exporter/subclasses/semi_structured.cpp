// torch.sparse's SparseSemiStructuredTensorCUTLASS: the stored elements of a 2:4 sparse matrix, and their positions.
// cuSPARSELt's class stores one run of bytes in an undocumented, GPU-dependent order.
#include <tern/error.h>

#include "exporter/subclasses/families.h"
#include "exporter/two_of_four.h"

namespace tern::subclasses {

ValueId dequantize_semi_structured(Builder& b, const QuantizedTensor& q) {
  return dense_of_two_in_four(b, q.value("packed"), q.value("meta"));
}

ValueId refuse_cusparselt(Builder&, const QuantizedTensor&) {
  fail(ErrorCode::unsupported,
       "a 2:4 sparse matrix is in cuSPARSELt's format, which only that library can read; set "
       "torch.sparse.SparseSemiStructuredTensor._FORCE_CUTLASS = True before to_sparse_semi_structured, and export "
       "again");
}

}  // namespace tern::subclasses
