// Buffers' addresses, workspaces, tables and sizes into launches and library calls.
#include "backends/cuda/binding.h"

#include <algorithm>
#include <map>
#include <utility>

#include "backends/cuda/fused.h"
#include "backends/cuda/single_kernel.h"
#include "base/at.h"
#include "codegen/cuda/print.h"

namespace plait::cuda {
namespace {

Word word_of(const void* address) { return reinterpret_cast<Word>(address); }

}  // namespace

void Binding::place(const DimBindings& sizes, const Memory& memory) {
  sizes_ = sizes;
  memory_ = memory;
  bound_ = false;
  if (libraries_) libraries_->memory_is_taken();
  reserve_tables();
}

void Binding::bind() {
  if (bound_) return;
  acts_.clear();
  first_table_ = flags_bytes();
  for (std::size_t s = 0; s < program_.steps.size(); ++s) acts_.push_back(bind_step(s, sizes_));
  if (units_.is_single_kernel()) bind_single_kernel(sizes_);
  if (libraries_) libraries_->expect_no_more();
  bound_ = true;
}

const std::vector<int>& Binding::read_flags() {
  device_->read(flags_.data(), tables_, static_cast<std::int64_t>(4 * flags_.size()));
  return flags_;
}

void Binding::reserve_tables() {
  flags_.assign(std::max<std::size_t>(1, program_.steps.size()), 0);
  std::int64_t bytes = flags_bytes();
  for (const program::Step& step : program_.steps) {
    for (const program::Call& call : step.calls) {
      const auto* loop = std::get_if<LoopCall>(&call);
      // A row of each of two tables, both rounded up.
      if (loop) bytes += 2 * rounded(8 * static_cast<std::int64_t>(word_count(*loop) + 1));
      const auto* product = std::get_if<ProductCall>(&call);
      if (product && is_tabled(*product)) bytes += tabled_bytes(product->parts[0]);
    }
  }
  if (bytes > tables_bytes_) {
    if (tables_) device_->release(tables_);
    tables_ = device_->allocate(bytes, "tables of calls");
    tables_bytes_ = bytes;
  }
  device_->zero(tables_, flags_bytes());
}

char* Binding::workspace(std::size_t step, const program::Workspace& part) const {
  const int stream = program_.steps[step].stream;
  char* const all = stream == 0 ? memory_.shared : memory_.side + memory_.side_bytes * (stream - 1);
  return all + part.offset;
}

std::vector<Act> Binding::bind_step(std::size_t step, const DimBindings& sizes) {
  std::vector<Act> acts;
  std::map<std::string, std::vector<const LoopCall*>> same;  // loops by function
  std::vector<const ProductCall*> tabled;
  for (const program::Call& call : program_.steps[step].calls) {
    if (const auto* loop = std::get_if<LoopCall>(&call)) {
      same[loop->function.name].push_back(loop);
    } else if (const auto* product = std::get_if<ProductCall>(&call)) {
      if (is_tabled(*product)) {
        tabled.push_back(product);
      } else {
        bind_product(*product, step, sizes, acts);
      }
    } else {
      acts.push_back(bind_hand(std::get<HandCall>(call), step, sizes));
    }
  }
  if (!tabled.empty()) acts.push_back(bind_tabled(tabled, step, sizes));
  for (const auto& [name, calls] : same) {
    std::vector<std::vector<Launch>> each;
    for (const LoopCall* call : calls) {
      each.push_back(bind_loop(*call, call->workspace, step, sizes));
    }
    if (each.size() > 1 && calls[0]->function.many) {
      acts.push_back(grouped_launch(name, each));
    } else {
      for (std::vector<Launch>& launches : each) acts.push_back({{}, std::move(launches)});
    }
  }
  return acts;
}

std::vector<Launch> Binding::bind_loop(const LoopCall& call, const program::Workspace& part,
                                       std::size_t step, const DimBindings& sizes) {
  Launch launch;
  launch.function = units_.function(call.function.name);
  launch.dependent = true;
  launch.blocks = evaluate(call.rows, sizes);
  launch.threads = call.threads;
  launch.block_bytes = call.block_bytes;
  launch.maps = call.maps;
  for (const program::Argument& a : call.arguments) {
    launch.words.push_back(word_of(pointer(a.view)));
  }
  const char* columns = workspace(step, part);
  for (const Dim& size : call.column_sizes) {
    launch.words.push_back(word_of(columns));
    columns += rounded(8 * evaluate(size, sizes));
  }
  launch.words.push_back(word_of(flag_of(step)));
  for (const Dim& d : call.function.parameters) {
    launch.words.push_back(static_cast<Word>(evaluate(d, sizes)));
  }
  std::vector<Launch> out{launch};
  if (!call.finish_rows.is(0)) {
    launch.function = units_.function(call.function.name, "_finish");
    launch.blocks = evaluate(call.finish_rows, sizes);
    launch.threads = codegen::cuda::kThreads;
    launch.block_bytes = finish_bytes(call);
    out.push_back(launch);
  }
  return out;
}

char* Binding::put_table(const std::vector<Word>& words) {
  char* const place = tables_ + first_table_;
  const auto bytes = static_cast<std::int64_t>(8 * words.size());
  device_->write(place, words.data(), bytes);
  first_table_ += rounded(bytes);
  return place;
}

Act Binding::grouped_launch(const std::string& name, const std::vector<std::vector<Launch>>& each) {
  Act act;
  for (std::size_t stage = 0; stage < each[0].size(); ++stage) {
    std::vector<Word> table, firsts;
    Launch launch = each[0][stage];
    launch.function = units_.function(name, stage == 0 ? "_many" : "_finish_many");
    launch.blocks = 0;
    for (const std::vector<Launch>& one : each) {
      table.insert(table.end(), one[stage].words.begin(), one[stage].words.end());
      firsts.push_back(static_cast<Word>(launch.blocks));
      launch.blocks += one[stage].blocks;
    }
    const std::size_t bytes = 8 * table.size();
    table.insert(table.end(), firsts.begin(), firsts.end());
    char* const place = put_table(table);
    launch.words = {word_of(place), word_of(place + bytes), static_cast<Word>(each.size())};
    act.launches.push_back(std::move(launch));
  }
  return act;
}

void Binding::bind_product(const ProductCall& call, std::size_t step, const DimBindings& sizes,
                           std::vector<Act>& acts) {
  for (const ProductCall::Part& p : call.parts) {
    if (!p.generated.function.name.empty()) {
      acts.push_back({{}, bind_loop(p.generated, p.workspace, step, sizes)});
      continue;
    }
    acts.push_back(bind_library(call, p, step, sizes));
  }
}

bool Binding::is_tabled(const ProductCall& call) {
  return call.parts.size() == 1 && call.parts[0].generated.table;
}

std::int64_t Binding::tabled_bytes(const ProductCall::Part& p) {
  const std::size_t maps = 16 * at(p.generated.maps) + 8;
  const std::size_t behind = p.arguments.size() + p.epilogue.parameters.size() + 2;
  return rounded(8 * static_cast<std::int64_t>(maps + word_count(p.generated))) +
         2 * rounded(8 * static_cast<std::int64_t>(behind));
}

Act Binding::bind_tabled(const std::vector<const ProductCall*>& calls, std::size_t step,
                         const DimBindings& sizes) {
  constexpr std::size_t kResult = 2;                       // the word of a bare product's result
  const Function& function = calls[0]->parts[0].epilogue;  // no name: the products are bare
  const bool has_behind = !function.name.empty();
  std::vector<Word> table;
  std::vector<std::vector<Launch>> behind;
  Launch launch;
  for (const ProductCall* call : calls) {
    const ProductCall::Part& p = call->parts[0];
    char* const product = workspace(step, p.workspace);
    launch = bind_loop(p.generated, p.workspace, step, sizes)[0];
    if (has_behind) launch.words[kResult] = word_of(product);
    const std::vector<Word> row = launch.maps > 0 ? device_->mapped(launch) : launch.words;
    table.insert(table.end(), row.begin(), row.end());
    if (has_behind) behind.push_back({bind_epilogue(p, product, step, sizes)});
  }
  char* const place = put_table(table);
  const auto count = static_cast<std::int64_t>(calls.size());
  launch.blocks *= count;
  if (launch.maps > 0) {  // pairs of blocks go from tile to tile
    launch.blocks = std::min<std::int64_t>(launch.blocks, device_->multiprocessors() / 2 * 2);
  }
  launch.words = {word_of(place), static_cast<Word>(count), table.size() / calls.size()};
  launch.maps = 0;
  Act act{{}, {launch}};
  if (has_behind && count > 1 && function.many) {
    for (Launch& l : grouped_launch(function.name, behind).launches)
      act.launches.push_back(std::move(l));
  } else {
    for (std::vector<Launch>& l : behind) act.launches.push_back(std::move(l[0]));
  }
  return act;
}

Act Binding::bind_library(const ProductCall& call, const ProductCall::Part& p, std::size_t step,
                          const DimBindings& sizes) {
  const loop::BoundContraction bound = loop::bind(p.contraction, sizes);
  const LibraryVariant variant = library_variant(p.variant);
  const std::optional<Fused>& fused = variant.fused;
  const DType result = result_dtype(variant, bound.dtype);
  Act act;
  std::string why;
  // The same algorithm as was planned with; sizes that are not the largest may want another.
  for (const std::string& id : {variant.id, std::string()}) {
    act.library.call = libraries_->make(bound, result, epilogue_of(fused), id, true, why);
    if (act.library.call) break;
  }
  check(act.library.call != nullptr, "a library took a contraction and now does not: ", why);
  LibraryOperands& o = act.library.operands;
  o.a = pointer(call.a);
  o.b = pointer(call.b);
  char* const apart = workspace(step, p.workspace);
  const auto operand = [&](int i) { return pointer(p.arguments[at(i)].view); };
  o.c = fused ? operand(fused->result) : variant.separate_epilogue ? apart : pointer(call.c);
  if (fused && fused->bias >= 0) o.bias = operand(fused->bias);
  if (fused && fused->residual >= 0) o.residual = operand(fused->residual);
  const std::int64_t before = variant.separate_epilogue ? result_bytes(bound, result) : 0;
  o.workspace = apart + before;
  const std::int64_t wanted = before + rounded(act.library.call->workspace_bytes());
  check(wanted <= p.workspace.bytes, "step ", step, " wants ", wanted,
        " bytes of workspace, planned were ", p.workspace.bytes);
  if (variant.separate_epilogue) act.launches.push_back(bind_epilogue(p, apart, step, sizes));
  return act;
}

Launch Binding::bind_epilogue(const ProductCall::Part& p, char* product, std::size_t step,
                              const DimBindings& sizes) {
  Launch launch;
  launch.function = units_.function(p.epilogue.name);
  launch.dependent = true;
  launch.blocks = evaluate(p.epilogue_rows, sizes);
  launch.threads = codegen::cuda::kThreads;
  for (const program::Argument& a : p.arguments) {
    launch.words.push_back(word_of(a.view.valid() ? pointer(a.view) : product));
  }
  launch.words.push_back(word_of(flag_of(step)));
  for (const Dim& d : p.epilogue.parameters) {
    launch.words.push_back(static_cast<Word>(evaluate(d, sizes)));
  }
  return launch;
}

Act Binding::bind_hand(const HandCall& call, std::size_t step, const DimBindings& sizes) {
  const HandPlan plan = find_hand(call.op)->plan(call, sizes);
  const Module& module = units_.hand(call);
  Act act;
  for (const HandLaunch& l : plan.launches) {
    Launch launch;
    launch.function = module.function(l.function);
    launch.blocks = l.blocks;
    launch.threads = l.threads;
    launch.block_bytes = l.block_bytes;
    for (const HandWord& w : l.words) {
      launch.words.push_back(hand_word(w, call, step, workspace(step, call.workspace)));
    }
    act.launches.push_back(std::move(launch));
  }
  return act;
}

Word Binding::hand_word(const HandWord& w, const HandCall& call, std::size_t step,
                        char* scratch) const {
  switch (w.kind) {
    case HandWord::kInput:
      return word_of(pointer(call.input_views[at(w.value)]));
    case HandWord::kOutput:
      return word_of(pointer(call.output_views[at(w.value)]));
    case HandWord::kScratch:
      return word_of(scratch + w.value);
    case HandWord::kBad:
      return word_of(flag_of(step));
    case HandWord::kNumber:
      break;
  }
  return static_cast<Word>(w.value);
}

void Binding::bind_single_kernel(const DimBindings& sizes) {
  std::vector<Launch> calls;
  for (std::size_t step = 0; step < program_.steps.size(); ++step) {
    each_generated(program_.steps[step], [&](const LoopCall& call, const program::Workspace& part) {
      calls.push_back(bind_loop(call, part, step, sizes)[0]);
    });
  }
  single_kernel_ = single_kernel_launch(program_, calls, memory_, device_->most_block_bytes());
  single_kernel_.function = units_.single_kernel_function();
}

std::int64_t result_bytes(const loop::BoundContraction& c, DType dtype) {
  std::int64_t last = c.c0;
  for (const auto* axes : {&c.batch, &c.m, &c.n}) {
    for (const auto& x : *axes) last += std::max<std::int64_t>(0, (x.extent - 1) * x.c);
  }
  return rounded((last + 1) * static_cast<std::int64_t>(size_of(dtype)));
}

}  // namespace plait::cuda
