// The typed keys of each record, once: reading and writing go through these lists.
#pragma once

#include <type_traits>

#include "io/aitemplate/record.h"

namespace plait::io::aitemplate {

enum class Presence {
  kRequired,
  kNullable,  // None when there is no value
  kOptional,  // the key is left out when there is no value
};

template <class R, class F>
void each_field_of_int_var(R& r, F f) {
  f("name", r.name, Presence::kNullable);
  f("values", r.values, Presence::kRequired);
  f("symbolic_value", r.symbolic_value, Presence::kOptional);
}

template <class R, class F>
void each_field_of_tensor(R& r, F f) {
  f("name", r.name, Presence::kRequired);
  f("dtype", r.dtype, Presence::kRequired);
  f("shape", r.shape, Presence::kRequired);
  f("src_ops", r.src_ops, Presence::kRequired);
  f("dst_ops", r.dst_ops, Presence::kRequired);
  f("is_input", r.is_input, Presence::kRequired);
  f("is_output", r.is_output, Presence::kRequired);
  f("is_param", r.is_param, Presence::kOptional);
  f("is_internal_constant", r.is_internal_constant, Presence::kOptional);
  f("offset", r.offset, Presence::kNullable);
  f("value", r.value, Presence::kNullable);
  f("data", r.data, Presence::kNullable);
  f("is_view_of", r.is_view_of, Presence::kNullable);
}

template <class R, class F>
void each_field_of_accessor(R& r, F f) {
  f("stride_dim", r.stride_dim, Presence::kNullable);
  f("offset", r.offset, Presence::kRequired);
  f("original_shapes", r.original_shapes, Presence::kRequired);
  f("actual_shapes", r.actual_shapes, Presence::kNullable);
  f("original_total_elements_from_stride_dim", r.original_total_elements_from_stride_dim,
    Presence::kNullable);
  f("actual_total_elements_from_stride_dim", r.actual_total_elements_from_stride_dim,
    Presence::kNullable);
}

template <class R, class F>
void each_field_of_operator(R& r, F f) {
  f("name", r.name, Presence::kRequired);
  f("op", r.op, Presence::kRequired);
  f("inputs", r.inputs, Presence::kRequired);
  f("outputs", r.outputs, Presence::kRequired);
  f("args", r.args, Presence::kOptional);
  f("func", r.func, Presence::kOptional);
  f("elementwise_ops", r.elementwise_ops, Presence::kOptional);
  f("input_accessors", r.input_accessors, Presence::kOptional);
  f("output_accessors", r.output_accessors, Presence::kOptional);
  f("original_inputs", r.original_inputs, Presence::kOptional);
  f("exec_path", r.exec_path, Presence::kOptional);
  f("epilogue", r.epilogue, Presence::kOptional);
  f("epilogue_alignment", r.epilogue_alignment, Presence::kOptional);
  f("workspace", r.workspace, Presence::kOptional);
}

/// By type, so that one template serves all four, to be read or changed.
template <class R, class F>
void each_field(R& r, F f) {
  using Plain = std::remove_const_t<R>;
  if constexpr (std::is_same_v<Plain, IntVar>) {
    each_field_of_int_var(r, f);
  } else if constexpr (std::is_same_v<Plain, TensorRecord>) {
    each_field_of_tensor(r, f);
  } else if constexpr (std::is_same_v<Plain, Accessor>) {
    each_field_of_accessor(r, f);
  } else {
    static_assert(std::is_same_v<Plain, OperatorRecord>);
    each_field_of_operator(r, f);
  }
}

}  // namespace plait::io::aitemplate
