// What of a program is kept, struct by struct: one list of names for the writer and the reader
// both. `a(name, member)` writes or reads one member; T is const when it is written.
#pragma once

#include <array>
#include <concepts>
#include <string_view>
#include <type_traits>

#include "program/program.h"

namespace plait::program {

template <class T, class U>
concept Is = std::same_as<std::remove_const_t<T>, U>;

// Enumerations are written as words.
constexpr const auto& words_of(DType) { return kDTypeNames; }
inline constexpr std::array<std::string_view, 3> kRegionNames{"arena", "state", "constant"};
constexpr const auto& words_of(Region) { return kRegionNames; }
inline constexpr std::array<std::string_view, 2> kAccessNames{"read", "write"};
constexpr const auto& words_of(Access) { return kAccessNames; }
inline constexpr std::array<std::string_view, 4> kRoleNames{"param", "buffer", "slot", "counter"};
constexpr const auto& words_of(ir::Role) { return kRoleNames; }

// So are the kinds of a variant.
inline constexpr std::array<std::string_view, 3> kCallNames{"loop", "product", "hand"};
constexpr const auto& words_of(const Call&) { return kCallNames; }
inline constexpr std::array<std::string_view, 9> kAttrNames{
    "bool", "size", "real", "text", "dtype", "sizes", "reals", "texts", "literal"};
constexpr const auto& words_of(const ir::AttrValue&) { return kAttrNames; }

inline constexpr std::string_view kFence = "\"\"\"";  // round texts of several lines
inline constexpr std::string_view kHexDigits = "0123456789abcdef";

template <class A, Is<PlanOptions> T>
void fields(A& a, T& x) {
  a("fuse", x.fuse)("measure", x.measure)("reorder", x.reorder)("slice_bytes", x.slice_bytes);
}

// --- states ---

template <class A, Is<ir::Init> T>
void fields(A& a, T& x) {
  a("kind", x.kind)("attrs", x.attrs);
}

template <class A, Is<ir::State> T>
void fields(A& a, T& x) {
  a("name", x.name)("type", x.type)("role", x.role)("init", x.init);
}

// --- calls ---

template <class A, Is<Function> T>
void fields(A& a, T& x) {
  a("name", x.name)("parameters", x.parameters)("many", x.many);
}

template <class A, Is<Argument> T>
void fields(A& a, T& x) {
  a("view", x.view)("access", x.access);
}

template <class A, Is<Workspace> T>
void fields(A& a, T& x) {
  a("offset", x.offset)("bytes", x.bytes);
}

template <class A, Is<LoopCall> T>
void fields(A& a, T& x) {
  a("kernel", x.kernel)("function", x.function)("arguments", x.arguments);
  a("column_sizes", x.column_sizes);
  a("scratch_rows", x.scratch_rows)("scratch_row_size", x.scratch_row_size)("rows", x.rows)(
      "finish_rows", x.finish_rows);
  a("work", x.work)("threads", x.threads)("block_bytes", x.block_bytes)("maps", x.maps);
  a("element_threads", x.element_threads)("table", x.table);
  a("interleaved", x.interleaved)("workspace", x.workspace);
}

template <class A, Is<loop::AxisOf<Dim>> T>
void fields(A& a, T& x) {
  a("extent", x.extent)("a", x.a)("b", x.b)("c", x.c)("h", x.h)("w", x.w);
}

template <class A, Is<loop::Contraction> T>
void fields(A& a, T& x) {
  a("dtype", x.dtype)("batch", x.batch)("m", x.m)("n", x.n)("k", x.k);
  a("a0", x.a0)("b0", x.b0)("c0", x.c0)("guarded", x.guarded);
  a("h0", x.h0)("w0", x.w0)("height", x.height)("width", x.width);
}

template <class A, Is<ProductCall::Part> T>
void fields(A& a, T& x) {
  a("contraction", x.contraction)("epilogue", x.epilogue)("epilogue_rows", x.epilogue_rows);
  a("arguments", x.arguments)("generated", x.generated)("variant", x.variant);
  a("epilogue_along_m", x.epilogue_along_m)("workspace", x.workspace)("packed", x.packed);
}

template <class A, Is<ProductCall> T>
void fields(A& a, T& x) {
  a("a", x.a)("b", x.b)("c", x.c)("b_constant", x.b_constant)("parts", x.parts);
}

template <class A, Is<HandCall> T>
void fields(A& a, T& x) {
  a("op", x.op)("attrs", x.attrs)("inputs", x.inputs)("outputs", x.outputs);
  a("input_views", x.input_views)("output_views", x.output_views)("workspace", x.workspace);
  a("code", x.code);
}

// --- the program ---

template <class A, Is<Buffer> T>
void fields(A& a, T& x) {
  a("name", x.name)("region", x.region)("bytes", x.bytes)("offset", x.offset);
  a("first", x.first)("last", x.last);
}

template <class A, Is<View> T>
void fields(A& a, T& x) {
  a("name", x.name)("type", x.type)("layout", x.layout)("buffer", x.buffer)("offset", x.offset);
}

template <class A, Is<Step> T>
void fields(A& a, T& x) {
  a("kernel", x.kernel)("kind", x.kind)("name", x.name)("path", x.path)("nodes", x.nodes);
  a("calls", x.calls)("operations", x.operations);
  a("bytes_read", x.bytes_read)("bytes_written", x.bytes_written);
  a("shared_bytes", x.shared_bytes)("thread_bytes", x.thread_bytes);
  a("seconds", x.seconds)("bound", x.bound)("stream", x.stream)("waits", x.waits);
}

template <class A, Is<Binding> T>
void fields(A& a, T& x) {
  a("name", x.name)("view", x.view);
}

template <class A, Is<StateBinding> T>
void fields(A& a, T& x) {
  a("state", x.state)("view", x.view)("advanced", x.advanced);
}

template <class A, Is<LogEntry> T>
void fields(A& a, T& x) {
  a("pass", x.pass)("node", x.node)("what", x.what)("why", x.why);
}

/// Symbols stand before everything that has sizes.
template <class A, Is<Program> T>
void fields(A& a, T& x) {
  a.symbols(x.symbols);
  a("graph_name", x.graph_name)("graph_text", x.graph_text)("backend", x.backend);
  a("target", x.target)("device", x.device)("options", x.options)("tuning", x.tuning)("threads",
                                                                                      x.threads);
  a("buffers", x.buffers)("views", x.views)("steps", x.steps);
  a("feeds", x.feeds)("fetches", x.fetches)("states", x.states);
  a("rounded", x.rounded)("constants", x.constants)("texts", x.texts)("single_kernel",
                                                                      x.single_kernel);
  a("states_bytes", x.states_bytes)("constants_bytes", x.constants_bytes);
  a("arena_bytes", x.arena_bytes);
  a("scratch_bytes", x.scratch_bytes)("persistent_bytes", x.persistent_bytes);
  a("shared_bytes", x.shared_bytes)("thread_bytes", x.thread_bytes);
  a("side_bytes", x.side_bytes)("streams", x.streams);
  a("lower_bound_bytes", x.lower_bound_bytes)("placed_by", x.placed_by);
  a("log", x.log)("seconds", x.seconds);
}

}  // namespace plait::program
