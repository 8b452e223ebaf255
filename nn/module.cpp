// The tree of modules and its parameters.
#include "nn/module.h"

namespace plait::nn {
namespace {

std::string joined(const std::string& path, const std::string& name) {
  return path.empty() ? name : name.empty() ? path : path + "." + name;
}

}  // namespace

Module::Module(Module* parent, const std::string& name)
    : root_(parent->root_), path_(joined(parent->path_, name)), dtype_(parent->dtype_) {
  parent->members_.emplace_back(this, nullptr);
}

std::vector<Parameter*> Module::parameters() {
  std::vector<Parameter*> all;
  for (const auto& [module, parameter] : members_) {
    if (module) {
      const std::vector<Parameter*> below = module->parameters();
      all.insert(all.end(), below.begin(), below.end());
    } else if (parameter->state().role == ir::Role::kParam) {
      all.push_back(parameter);
    }
  }
  return all;
}

Parameter::Parameter(Module* owner, const std::string& name, Shape shape, ir::Init init,
                     ir::Role role, std::optional<DType> dtype)
    : state_{joined(owner->path_, name),
             {dtype.value_or(owner->dtype_), std::move(shape)},
             role,
             std::move(init)} {
  if (!owner->root_->names_.insert(state_.name).second) {
    fail("two parameters are named ", state_.name,
         ". Give their modules different names, or use one parameter twice to share it");
  }
  owner->members_.emplace_back(nullptr, this);
}

}  // namespace plait::nn
