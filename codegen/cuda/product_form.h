// A contraction as its kernel sees it: rows and columns, axes merged where every access walks them
// as one, and how wide each operand can be read.
#pragma once

#include <string>
#include <vector>

#include "base/device_model.h"
#include "loop/contraction.h"

namespace plait::codegen::cuda {

using Axis = loop::AxisOf<Dim>;

/// The operand of the rows or that of the columns.
struct FormOperand {
  int word = 0;       // of its address
  Dim Axis::*step{};  // a or b
  Dim origin = 0;
  bool guarded = false;  // the image
  bool along_k = true;   // neighbours in memory are neighbours in k, else in rows (columns)
  bool linear = false;   // rows (columns) are equally far apart, none is guarded
  int vector = 1;        // elements of one access
};

struct Form {
  DType dtype = DType::f32;
  bool swapped = false;    // rows are the contraction's n: the result is dense along m
  bool wide = false;       // offsets need 64 bits
  bool long_sums = false;  // of f32: blocks of their terms are added up in f64
  std::vector<Axis> batch, rows, columns, k;  // k has at least one axis
  FormOperand a, b;                           // of the rows, of the columns
  int put = 1;                                // neighbouring columns of the result, stored at once
  bool packed = false;    // sums are rounded to their dtype before anything becomes of them
  double element_us = 0;  // what an epilogue adds to an element's time, on one multiprocessor
  int calls = 1;          // that share a launch
  const DeviceModel* device = &h200();
  Dim c0 = 0, h0 = 0, w0 = 0, height = 0, width = 0;
};

/// `stores`: without an epilogue, so that places in the result matter.
Form form_of(const loop::Contraction& contraction, bool stores);

Dim extent_of(const std::vector<Axis>& axes);

}  // namespace plait::codegen::cuda
