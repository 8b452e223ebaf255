// A loop kernel on its way to CUDA text: the bodies of its functions, by schedule.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "codegen/cuda/body.h"
#include "codegen/cuda/print.h"
#include "codegen/cuda/schedule.h"

namespace plait::codegen::cuda {

class Writer {
 public:
  Writer(const loop::Kernel& kernel, const Schedule& schedule, bool fixed);
  /// All functions, named after `stem` and their text, and what a launch of them needs.
  Printed run(const std::string& stem);

 private:
  // Shared by the schedules.
  void head(Lines& out);
  void tail(Lines& out, const Body& body);
  std::string text_of(const Dim& d) { return n_.text(d); }
  Dim vectors() const;

  // kPoints
  void scalar(Lines& out);
  void points(Lines& out);
  void left_over(Lines& out);

  // kRows, and the rows of kColumns
  void rows(Lines& out);
  void shared_rows(Lines& out);
  void finish_rows(Lines& out);
  void places(Lines& out);
  void kept_rooms(Lines& out);
  void row(Lines& out, Body& body, bool always);
  void across(Lines& out, const Body& body, int stage);
  Walk walk_row(bool block = false);
  std::vector<int> long_sums(const Body& body, int stage) const;
  void row_points(Lines& out, Body& body, int stage, const std::string& live);

  // kColumns
  void columns(Lines& out);
  void part(Lines& out, int unit);
  void cut_columns(Lines& out, Body& body);
  void whole_rows(Lines& out, Body& body);
  void send(Lines& out, Body& body, int stage, const std::string& base);
  void fill_ring(Lines& out, Body& body);
  void turn_ring(Lines& out);
  void declare_columns(Lines& out);
  void gather(Lines& out, Body& body);
  void gather_together(Lines& out, const std::vector<int>& sums);
  void put_column(Lines& out, Body& body, int let);
  void every(Lines& out, bool inner, bool elements, const std::function<void()>& inside);
  void gather_row_column(Lines& out, Body& body, int let);
  void gather_in_warp(Lines& out, Body& body, int let);
  void result(Lines& out, Body& body, int let, const std::string& index);
  void finish(Lines& out);
  void finish_one(Lines& out, Body& body, int let, int number);
  Dim finish_blocks() const;
  bool finishes_inside() const;
  int finish_width() const;

  std::string function(const std::string& suffix, const std::string& body, bool many) const;
  std::string sizes_text() const;

  const loop::Kernel& k_;
  const Schedule s_;
  Parameters n_;
  std::string type_;  // of an index
  Printed printed_;
  int shared_ = 0;            // bytes that reductions use, before what is kept
  std::vector<int> area_of_;  // per let: scratch area of a column's partial results, or -1
  int kept_area_ = -1;
  /// Shared memory that takes what rows to come load: so many rows of a block, each so many bytes.
  struct Ring {
    int rows = 0, first = 0, bytes = 0;
  } ring_;
};

}  // namespace plait::codegen::cuda
