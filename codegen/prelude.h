// What every generated kernel starts with, as one text: C11 that is C++ too, every name pl_*. For
// each scalar operation of loop/scalar.h there is pl_NAME_f (float), pl_NAME_d (double) and, where
// it exists, pl_NAME_i (int64); beside them conversions between dtypes and random numbers.
#pragma once

#include "codegen/prelude_bits.h"
#include "codegen/prelude_double.h"
#include "codegen/prelude_exp.h"
#include "codegen/prelude_ops.h"
#include "codegen/prelude_random.h"
#include "codegen/prelude_trig.h"
