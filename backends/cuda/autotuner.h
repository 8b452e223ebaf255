// Who runs a contraction: a library that does all of it, a library with a kernel behind it, or our
// own kernel. Measured on the device and kept, or by rule; a library's first guess is run once, and
// where it is far below its ceiling all others are measured.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/device.h"
#include "backends/cuda/fused.h"
#include "backends/cuda/target.h"
#include "backends/target.h"
#include "codegen/cuda/product.h"

namespace plait::cuda {

class CandidateTimer;

class Autotuner {
 public:
  /// `target` prints our own kernels.
  Autotuner(Device& device, const Libraries& libraries, const Target& target, bool tf32)
      : device_(device),
        model_(target.device()),
        libraries_(libraries),
        target_(target),
        tf32_(tf32) {}

  Choice choose(const loop::Contraction& contraction, const loop::Kernel* epilogue,
                const DimBindings& largest, Tuning& tuning) const;

 private:
  struct Problem {
    const loop::Contraction& contraction;
    const loop::Kernel* epilogue;  // null: none
    loop::BoundContraction bound;
    const DimBindings& largest;
    std::optional<Fused> fused;
    std::optional<DType> separate_epilogue;  // of the product, where a kernel follows it
    Tuning& tuning;
  };
  struct Entry {
    Choice choice;
    double seconds = 0;
  };

  std::unique_ptr<LibraryCall> call(const Problem& p, bool fused, const std::string& id, bool slow,
                                    std::string& why) const;
  Choice as_choice(const Problem& p, const LibraryCall& call, bool fused) const;
  /// By rule. `call`: the library's, where it is its choice.
  Choice first_guess(const Problem& p, std::unique_ptr<LibraryCall>& call) const;
  Choice guessed(const Problem& p) const;
  /// Seconds of a call, a separate epilogue included.
  double guessed_seconds(const Problem& p, bool fused) const;
  double own_seconds(const Problem& p) const;
  /// Why a library's first guess is not to be taken, or kGood and its seconds. Nothing where there
  /// is no memory to run it.
  std::optional<std::string> objection(const Problem& p, const LibraryCall& call,
                                       const Choice& guess) const;
  Choice measured(const Problem& p) const;
  Entry best_of(const Problem& p, CandidateTimer& timer, std::vector<std::string>& times) const;
  /// `guess`: the id of a call, where the answer is about it.
  std::string key_of(const Problem& p, const std::string& guess) const;
  std::optional<Choice> kept(const Problem& p, const std::string& stored) const;
  codegen::cuda::ProductOptions own_options() const;
  std::vector<std::string> own_variants(const Problem& p) const;

  Device& device_;
  const DeviceModel& model_;
  const Libraries& libraries_;
  const Target& target_;
  bool tf32_;
};

}  // namespace plait::cuda
