// The source files of the hand kernels (*.cuh), as texts.
#pragma once

#include <string_view>

namespace plait::codegen {

std::string_view hand_arg();
std::string_view hand_attention_backward();
std::string_view hand_attention_bounds();
std::string_view hand_attention_forward();
std::string_view hand_attention_plain();
std::string_view hand_parts();
std::string_view hand_random();
std::string_view hand_scan();
std::string_view hand_scatter();
std::string_view hand_wkv();

}  // namespace plait::codegen
