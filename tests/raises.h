// The message of an error that a call must raise.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

namespace plait::test {

/// What the call says in its error of kind E; a failed test and an empty text when it raises none.
template <class E = UserError, class Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const E& e) {
    return e.what();
  }
  ADD_FAILURE() << "no error was raised";
  return "";
}

}  // namespace plait::test
