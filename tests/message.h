// The text of the error that an action raises, for tests that compare messages.
#pragma once

#include <string>

#include "base/error.h"

namespace plait {

/// What an Error says, or `no error`; another kind of error passes through and fails the test.
template <class Error = UserError, class F>
std::string message(F action) {
  try {
    action();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace plait
