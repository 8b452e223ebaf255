// Record to graph: shapes are guessed, sizes get names, the step is built.
#include <algorithm>

#include "base/error.h"
#include "io/chainer/format.h"
#include "io/chainer/guess.h"
#include "io/chainer/step.h"
#include "ops/verify.h"

namespace plait::io::chainer {
namespace {

/// Names for the batch and, when `least` is above 0, for the size of the images, which may be as
/// small as that.
NamedSizes name_sizes(Import& import, const Assumptions& assumptions, std::int64_t rows,
                      std::int64_t least) {
  NamedSizes sizes;
  const auto add = [&](const std::string& name, std::int64_t value, std::int64_t from) {
    if (value < 2) return;
    const Dim usual = import.named(name, value);
    sizes.symbols.emplace(name, Dim::symbol(name, std::min(from, value), usual.hi()));
    sizes.numbers.emplace(name, Dim(value));
  };
  add("batch", rows, 1);
  for (const auto& [variable, shape] : assumptions.feeds) {
    if (shape.size() != 4 || least < 1) continue;
    if (shape[2] == shape[3]) {
      add("image", shape[2], least);
    } else {
      add("height", shape[2], least);
      add("width", shape[3], least);
    }
    break;
  }
  return sizes;
}

/// What the smallest image may be, tried in turn; 0 at the end: images have no name.
Sizes least_images(const Assumptions& assumptions, std::size_t operations) {
  constexpr std::size_t kMany = 1500;
  std::int64_t side = 0;
  for (const auto& [variable, shape] : assumptions.feeds) {
    if (shape.size() == 4) side = std::max({side, shape[2], shape[3]});
  }
  Sizes least;
  for (std::int64_t n = 1; n < side && operations < kMany; n *= 2) least.push_back(n);
  if (side > 0) least.push_back(side);
  least.push_back(0);
  return least;
}

Import finish(Import import, Step& step) {
  step.backward();
  import.package.graphs.push_back(step.take());
  for (const std::string& note : step.notes()) import.notes.push_back(note);
  return import;
}

std::int64_t opaque_nodes(const Import& import) {
  const std::vector<ir::Node>& nodes = import.package.graphs[0].nodes;
  return std::count_if(nodes.begin(), nodes.end(), [](const ir::Node& n) { return n.opaque; });
}

bool verifies(const Import& import) {
  try {
    verify_types(import.package.graphs[0]);
    verify_types(ir::substitute(import.package.graphs[0], import.bindings()));
  } catch (const UserError&) {
    return false;
  }
  return true;
}

std::string real_note(DType real) {
  return str("the document has no dtypes: floats are taken as ", name_of(real),
             ", labels as i32 or i64 by their bytes");
}

}  // namespace

Import to_graphs(const Record& record) {
  const Links links = links_of(record);
  const Assumptions assumptions = guess(record, links);
  const auto build = [&](Import import, const NamedSizes& sizes) {
    import.notes.push_back(real_note(assumptions.real));
    Step step(record, links, assumptions, sizes);
    step.forward();
    return finish(std::move(import), step);
  };
  Step trial(record, links, assumptions, {});
  trial.forward();
  return import_with_sizes([&](bool named) {
    Import plain = build({}, {});
    if (!named) return plain;
    for (std::int64_t least : least_images(assumptions, record.operations.size())) {
      Import import;
      const NamedSizes sizes = name_sizes(import, assumptions, trial.rows(), least);
      import = build(std::move(import), sizes);
      if (opaque_nodes(import) > opaque_nodes(plain) || !verifies(import)) continue;
      import.notes = plain.notes;  // the same, in numbers
      return import;
    }
    fail("operations that fit in numbers do not fit in named sizes");
  });
}

}  // namespace plait::io::chainer
