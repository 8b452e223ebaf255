// The first weights of a run from a file (model.init_from): names fitted to the model's by rules,
// dtypes cast, and an exact account of what was taken, what was left, and what is new.
#pragma once

#include <string>
#include <vector>

#include "io/safetensors.h"
#include "ir/graph.h"
#include "run/session.h"
#include "train/checkpoint.h"
#include "train/config.h"

namespace plait::train {

struct FirstWeights {
  Tensors taken;                   // by the model's names, in its types
  std::vector<std::string> notes;  // for people
};

/// A rule of model.init_map, `FROM -> TO`: prefixes, either of which may be empty. UserError
/// beginning with `where`.
struct PrefixRule {
  std::string from, to;
};
PrefixRule parse_prefix_rule(std::string_view text, std::string_view where);

/// From the file's tensors, for the model's parameters and buffers among `states`. Its names lose
/// the prefixes of init_strip, then the first rule of init_map that fits replaces one; what a
/// pattern of init_skip matches, by the model's name, keeps the model's own initialisation. For
/// `rwkv4` names may be those of Hugging Face's transformers, and axes of size 1 may differ.
/// UserError, beginning with the file's name, when a parameter is missing, two names become one, a
/// shape differs, a number does not fit the model's dtype, or a rule fits nothing.
FirstWeights first_weights(io::TensorFile file, const Config::Model& model,
                           const std::vector<ir::State>& states);

/// The same of the file model.init_from; nothing where none is said.
FirstWeights read_first_weights(const Config::Model& model, const std::vector<ir::State>& states);

void set_weights(Session& session, Tensors weights);
/// Those of a file as they are, by no rules: for the network called `model`, empty for any other.
/// Batch norms of `resnet50` are folded into its inference form. Returned is what to say of weights
/// that are not finite; empty where all are.
std::string set_weights(Session& session, const std::string& model, const std::string& file);
std::string non_finite_note(const Tensors& weights, const std::string& file);

}  // namespace plait::train
