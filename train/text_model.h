// A trained language model that reads tokens and says what may come next: RWKV-4 in its recurrent
// form, GPT-2 over the window of its context.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "train/checkpoint.h"
#include "train/config.h"

namespace plait::train {

/// How much of the past a token costs.
struct TokenCost {
  std::int64_t kept_bytes = 0;     // what is kept of the text so far; the same after every token
  std::int64_t tokens_read = 1;    // by the network, for one more
  std::vector<std::string> notes;  // what the user should know of it
};

class TextModel {
 public:
  virtual ~TextModel() = default;
  /// Reads some more of the text; the logits after it, f32[vocab]. At least one token.
  virtual Array read(std::span<const std::int64_t> tokens) = 0;
  virtual TokenCost cost() const = 0;
};

/// UserError when the config's model is none of text, or the weights are not its own; `source`
/// says where they come from. Computes in the dtype of the weights, whatever precision they were
/// trained in. Compiles here, where the backend does.
std::unique_ptr<TextModel> make_text_model(const Config& config, Tensors weights,
                                           const std::string& source, const std::string& backend,
                                           int threads);

}  // namespace plait::train
