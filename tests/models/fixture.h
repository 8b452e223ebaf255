// A stored result of PyTorch (tests/fixtures/README.md), asked for in one dtype.
#pragma once

#include "io/safetensors.h"
#include "models/registry.h"
#include "tests/nn/run_ref.h"

namespace plait {

struct Fixture {
  Fixture(const std::string& name, DType dtype)
      : file(io::read_safetensors("tests/fixtures/" + name + ".safetensors")),
        dtype(dtype),
        spec(file.metadata.at("spec")) {
    const std::string stored = "dtype=f32";
    spec.replace(spec.find(stored), stored.size(), str("dtype=", dtype));
  }
  /// Tensors whose names begin with `prefix`, without it; floats in the fixture's dtype.
  Arrays under(const std::string& prefix) const {
    Arrays found;
    for (const auto& [name, array] : file.tensors) {
      if (!name.starts_with(prefix)) continue;
      found[name.substr(prefix.size())] = is_float(array.dtype()) ? array.cast(dtype) : array;
    }
    return found;
  }
  /// Feeds that a graph asks for.
  Arrays feeds(const ir::Graph& graph) const {
    const Arrays all = under("feed.");
    Arrays wanted;
    for (ir::ValueId id : graph.feeds) wanted[graph.value(id).name] = all.at(graph.value(id).name);
    return wanted;
  }
  /// A session on the package with states from the tensors under `prefix`.
  Session session(ir::Package package, const std::string& prefix) const {
    Session made(std::move(package), make_target("ref"));
    for (const auto& [name, value] : under(prefix)) {
      made.set_state(name, value.cast(made.state(name).dtype()));
    }
    return made;
  }
  io::TensorFile file;
  DType dtype;
  std::string spec;
};

}  // namespace plait
