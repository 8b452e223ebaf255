// Pairing the contractions of two profiles, and the table of both.
#include "report/megengine_beside.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/error.h"
#include "io/megengine/index.h"
#include "report/megengine_facts.h"

namespace plait::report {

using namespace io::megengine;

namespace {

// A fused kernel counts what it does besides its contraction: a few operations an element.
constexpr double kSameOperations = 0.1;

/// A contraction and what ran between it and the next one.
struct Piece {
  const Operator* op = nullptr;
  std::string shape;  // of the result
  Sizes result;       // the same, sorted: layouts differ
  double operations = 0, seconds = 0, after = 0;
  int partner = -1;
};

struct Pieces {
  std::vector<Piece> list;
  double before = 0;  // what ran before the first contraction
  double span = 0;
};

Pieces pieces_of(const Record& record) {
  const Index index(record);
  const DeviceTimes times = device_times(index);
  if (times.timed == 0) fail(record.file, " has no times of its device: nothing to set beside");
  Pieces out;
  out.span = times.span;
  for (const Id id : record.comp_seq) {
    const auto i = static_cast<std::size_t>(index.op_of(id));
    const double seconds = index.device[i] ? busy_seconds(*index.device[i]) : 0;
    const Footprint* foot = index.footprint[i];
    if (is_contraction(record.ops[i])) {
      Piece piece;
      piece.op = &record.ops[i];
      piece.seconds = seconds;
      if (foot && !foot->out_shapes.empty()) piece.result = foot->out_shapes[0];
      std::vector<std::string> sizes;
      for (const std::int64_t n : piece.result) sizes.push_back(str(n));
      piece.shape = join(sizes, "x");
      std::sort(piece.result.begin(), piece.result.end());
      if (foot) piece.operations = static_cast<double>(foot->computation.value_or(0));
      out.list.push_back(std::move(piece));
    } else if (out.list.empty()) {
      out.before += seconds;
    } else {
      out.list.back().after += seconds;
    }
  }
  return out;
}

bool alike(const Piece& a, const Piece& b) {
  return a.op->type == b.op->type && a.result == b.result &&
         std::abs(a.operations - b.operations) <=
             kSameOperations * std::max(a.operations, b.operations);
}

int pair_up(Pieces& first, Pieces& second) {
  int pairs = 0;
  for (Piece& a : first.list) {
    for (std::size_t j = 0; j < second.list.size(); ++j) {
      if (second.list[j].partner >= 0 || !alike(a, second.list[j])) continue;
      a.partner = static_cast<int>(j);
      second.list[j].partner = pairs++;
      break;
    }
  }
  return pairs;
}

std::string ms_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4f", seconds * 1e3);
  return text;
}

std::string times_text(double first, double second) {
  if (!(first > 0) || !(second > 0)) return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.1fx", first / second);
  return text;
}

/// What the operator is called by its kernel, where the record knows kernels; else by its name.
std::string kernel_text(const Operator& op) {
  for (const Member& m : op.extra) {
    if (const auto* kernel = m.value.as<std::string>(); kernel && m.key == "kernel") {
      return kernel->size() > 32 ? kernel->substr(0, 29) + "..." : *kernel;
    }
  }
  return op.name.size() > 32 ? op.name.substr(0, 29) + "..." : op.name;
}

void add_row(Table& table, const std::string& number, const Piece& a, const Piece& b) {
  table.rows.push_back({number, kernel_text(*a.op), a.shape, ms_text(a.seconds), ms_text(a.after),
                        kernel_text(*b.op), ms_text(b.seconds), ms_text(b.after),
                        times_text(a.seconds + a.after, b.seconds + b.after)});
}

void add_table(Page& page, const Pieces& a, const Pieces& b) {
  Section& s = page.section("Contraction by contraction; `then`: what runs up to the next one");
  s.table = {{"", "first", "result", "ms", "then", "second", "ms", "then", "faster"},
             {true, false, false, true, true, false, true, true, true},
             {}};
  int number = 0;
  double rest_a = a.before, rest_b = b.before, sum_a = rest_a, sum_b = rest_b;
  for (const Piece& x : a.list) {
    const double all = x.seconds + x.after;
    sum_a += all;
    if (x.partner < 0) rest_a += all;
    if (x.partner < 0) continue;
    add_row(s.table, str(++number), x, b.list[static_cast<std::size_t>(x.partner)]);
  }
  for (const Piece& x : b.list) {
    sum_b += x.seconds + x.after;
    if (x.partner < 0) rest_b += x.seconds + x.after;
  }
  const auto sum = [&](const char* name, double first, double second) {
    s.table.rows.push_back(
        {"", name, "", ms_text(first), "", "", ms_text(second), "", times_text(first, second)});
  };
  sum("before the first, unpaired", rest_a, rest_b);
  sum("all kernels", sum_a, sum_b);
}

}  // namespace

Page of_two_profiles(const Record& first, const Record& second) {
  Pieces a = pieces_of(first), b = pieces_of(second);
  const int pairs = pair_up(a, b);
  if (pairs == 0) {
    fail("no contraction of ", first.file, " has the type, result and operations of one of ",
         second.file, ": are they of the same network and batch?");
  }
  Page page;
  page.title = str(first.file, " beside ", second.file);
  Section& all = page.section("Both");
  all.facts = {
      milliseconds("first, device span", a.span), milliseconds("second, device span", b.span),
      words("first over second", times_text(a.span, b.span)), count("contractions paired", pairs),
      words("without a partner",
            str(a.list.size() - static_cast<std::size_t>(pairs), " of the first, ",
                b.list.size() - static_cast<std::size_t>(pairs), " of the second"))};
  add_table(page, a, b);
  return page;
}

}  // namespace plait::report
