// Who makes which version of a buffer.
#include "profile/sequence.h"

#include <algorithm>

#include "base/error.h"

namespace plait::profile {
namespace {

std::string without_sigil(const std::string& name) {
  return name.starts_with('%') ? name.substr(1) : name;
}

class Sequencer {
 public:
  explicit Sequencer(const Profile& profile)
      : profile_(profile), current_(profile.buffers.size(), -1) {}

  Sequence make() {
    note_uses();
    for (std::size_t b = 0; b < profile_.buffers.size(); ++b) add_source(static_cast<int>(b));
    for (std::size_t s = 0; s < profile_.steps.size(); ++s) add_step(static_cast<int>(s));
    for (std::size_t b = 0; b < profile_.buffers.size(); ++b) finish(static_cast<int>(b));
    return std::move(out_);
  }

 private:
  struct Use {
    bool written = false, read_first = false;
    int last = -1;      // step that reads or writes it
    bool read = false;  // since it was written last
  };
  Use& use(int b) { return uses_[static_cast<std::size_t>(b)]; }
  int& current(int b) { return current_[static_cast<std::size_t>(b)]; }
  const BufferInfo& buffer(int b) const { return profile_.buffers[static_cast<std::size_t>(b)]; }

  void note_uses() {
    uses_.resize(profile_.buffers.size());
    for (std::size_t s = 0; s < profile_.steps.size(); ++s) {
      for (int b : profile_.steps[s].inputs) {
        if (!use(b).written) use(b).read_first = true;
        use(b).read = true;
        use(b).last = static_cast<int>(s);
      }
      for (int b : profile_.steps[s].outputs) {
        use(b).written = true;
        use(b).read = false;
        use(b).last = static_cast<int>(s);
      }
    }
  }

  int add_operator(Kind kind, std::string name, int step) {
    Operator op;
    op.id = next_id_++;
    op.kind = kind;
    op.name = std::move(name);
    op.step = step;
    out_.ops.push_back(std::move(op));
    return static_cast<int>(out_.ops.size()) - 1;
  }

  Var& add_var(int op, std::string name) {
    Var var;
    var.id = next_id_++;
    var.name = std::move(name);
    var.maker = op;
    out_.ops[static_cast<std::size_t>(op)].outputs.push_back(static_cast<int>(out_.vars.size()));
    out_.vars.push_back(std::move(var));
    return out_.vars.back();
  }

  void add_version(int op, int b) {
    Var& var = add_var(op, without_sigil(buffer(b).name));
    var.buffer = b;
    var.before = current(b);
    current(b) = static_cast<int>(out_.vars.size()) - 1;
  }

  /// What is there before the first step.
  void add_source(int b) {
    const bool state = buffer(b).is_state;
    if (!state && !use(b).read_first) return;
    const Kind kind = !state ? Kind::kFeed : use(b).written ? Kind::kState : Kind::kWeight;
    add_version(add_operator(kind, buffer(b).name, -1), b);
  }

  void add_step(int s) {
    const StepInfo& step = profile_.steps[static_cast<std::size_t>(s)];
    const int op = add_operator(Kind::kStep, step.name, s);
    for (int b : step.inputs) out_.ops.back().inputs.push_back(current(b));
    std::vector<int> done;
    for (int b : step.outputs) {
      if (std::find(done.begin(), done.end(), b) != done.end()) continue;
      done.push_back(b);
      add_version(op, b);
    }
    if (step.scratch_bytes <= 0) return;
    add_var(op, without_sigil(step.name) + ":workspace").scratch_bytes = step.scratch_bytes;
  }

  /// What a run leaves behind: the next value of a state, or a value that nobody read or that stays
  /// longer than its last reader.
  void finish(int b) {
    if (current(b) < 0 || !use(b).written) return;
    Var& var = out_.vars[static_cast<std::size_t>(current(b))];
    if (buffer(b).is_state) {
      var.overwrites = true;
    } else if (!use(b).read || buffer(b).last > use(b).last) {
      const int op = add_operator(Kind::kFetch, without_sigil(buffer(b).name), -1);
      out_.ops[static_cast<std::size_t>(op)].inputs.push_back(current(b));
    }
  }

  const Profile& profile_;
  Sequence out_;
  std::vector<Use> uses_;
  std::vector<int> current_;  // by buffer: its newest var
  std::int64_t next_id_ = 0;
};

}  // namespace

Sequence sequence_of(const Profile& profile) { return Sequencer(profile).make(); }

}  // namespace plait::profile
