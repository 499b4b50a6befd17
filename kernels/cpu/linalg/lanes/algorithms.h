// All algorithms on tiles, and the table of them for a type. Included by loops.inc and complex_loops.inc, inside their
// namespaces.

#include "kernels/cpu/linalg/lanes/bidiagonal.h"
#include "kernels/cpu/linalg/lanes/cholesky.h"
#include "kernels/cpu/linalg/lanes/complex.h"
#include "kernels/cpu/linalg/lanes/eigh.h"
#include "kernels/cpu/linalg/lanes/few.h"
#include "kernels/cpu/linalg/lanes/golub_kahan.h"
#include "kernels/cpu/linalg/lanes/lu.h"
#include "kernels/cpu/linalg/lanes/pack.h"
#include "kernels/cpu/linalg/lanes/places.h"
#include "kernels/cpu/linalg/lanes/product.h"
#include "kernels/cpu/linalg/lanes/ql.h"
#include "kernels/cpu/linalg/lanes/qr.h"
#include "kernels/cpu/linalg/lanes/reflection.h"
#include "kernels/cpu/linalg/lanes/rotation.h"
#include "kernels/cpu/linalg/lanes/svd.h"
#include "kernels/cpu/linalg/lanes/systems.h"
#include "kernels/cpu/linalg/lanes/triangular.h"
#include "kernels/cpu/linalg/lanes/tridiagonal.h"
#include "kernels/cpu/linalg/lanes/vector.h"

template <class T>
void set_all(LaneLoops<T>* l) {
  *l = {kWidth<T>, pack<T>,   unpack<T>,  transpose<T>,    cholesky<T>,    lu<T>,   solver<T>(), triangular<T>,
        qr<T>,     form_q<T>, reflect<T>, eigh_scratch<T>, svd_scratch<T>, eigh<T>, svd<T>};
}
