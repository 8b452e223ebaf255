// Every way to cut a feed's elements into rows, channels, height and width.
#include "io/chainer/candidates.h"

#include <algorithm>

#include "base/at.h"
#include "io/chainer/call.h"

namespace plait::io::chainer {
namespace {

constexpr std::int64_t kMaxChannels = 4096;
constexpr std::int64_t kMaxSide = 65536;

/// Ascending; of numbers up to 2^40 without their largest ones, which are no sizes of images.
Sizes divisors_of(std::int64_t n) {
  Sizes low, high;
  for (std::int64_t i = 1; i <= n / i && i <= kMaxSide; ++i) {
    if (n % i != 0) continue;
    low.push_back(i);
    if (n / i != i) high.push_back(n / i);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

const Operation* reader_of(const Record& record, int variable, std::string_view function) {
  for (const Operation& op : record.operations) {
    if (op.backward || op.function != function || op.inputs.empty()) continue;
    if (op.inputs[0].variable == variable) return &op;
  }
  return nullptr;
}

/// What the number of a feed's channels divides: weights per result channel, times groups. 0 when
/// no convolution reads the feed.
std::int64_t channels_divide(const Record& record, int variable, std::int64_t float_size) {
  const Operation* op = reader_of(record, variable, "Convolution2DFunction");
  if (!op || op->inputs.size() < 2) return 0;
  const auto floats = [&](std::size_t input) {
    return record.variables[at(op->inputs[input].variable)].bytes / float_size;
  };
  std::int64_t weights = floats(1);
  if (op->inputs.size() > 2 && floats(2) > 0 && weights % floats(2) == 0) weights /= floats(2);
  const Value* groups = find(op->attributes, "groups");
  const auto n = groups ? whole(*groups) : std::nullopt;
  return n && *n > 1 && *n <= kMaxChannels ? weights * *n : weights;
}

class Shapes {
 public:
  Shapes(std::int64_t elements, std::int64_t channels_divide, std::size_t most)
      : elements_(elements), most_(most), divisors_(divisors_of(elements)) {
    Sizes order{3, 1, 4, 2};
    for (std::int64_t c : divisors_) {
      if (c > 4 && c <= kMaxChannels) order.push_back(c);
    }
    for (std::int64_t c : order) {
      if (elements % c != 0 || (channels_divide > 0 && channels_divide % c != 0)) continue;
      channels_.push_back(c);
    }
  }

  void add(const Sizes& shape) {
    if (out_.size() < most_) out_.push_back(shape);
  }

  void add_images(const Sizes& rows) {
    each(rows, [&](std::int64_t n) { add_squares(n, false); });
    each(rows, [&](std::int64_t n) {
      for (std::int64_t c : channels_) add_oblongs({n, c});
    });
    each(rows, [&](std::int64_t n) { add_squares(n, true); });
  }

  void add_squares(const Sizes& rows) {
    each(rows, [&](std::int64_t n) { add_squares(n, false); });
  }

  void add_matrices(const Sizes& rows) {
    each(rows, [&](std::int64_t n) { add({n, elements_ / n}); });
    each(rows, [&](std::int64_t n) {
      add_square({n});
      add_oblongs({n});
    });
  }

  std::vector<Sizes> take() { return std::move(out_); }

 private:
  template <class Add>
  void each(const Sizes& rows, Add add_rows) {
    for (std::int64_t n : rows) {
      if (elements_ % n == 0 && out_.size() < most_) add_rows(n);
    }
  }

  std::int64_t rest(const Sizes& shape) const {
    std::int64_t n = elements_;
    for (std::int64_t size : shape) n = n % size == 0 ? n / size : 0;
    return n;
  }

  void add_both(Sizes shape, std::int64_t h, std::int64_t w) {
    shape.push_back(h);
    shape.push_back(w);
    add(shape);
  }

  /// The largest divisor of the elements that is at most the root of `area`, by its position.
  std::size_t middle(std::int64_t area) const {
    std::size_t i = 0;
    while (i < divisors_.size() && divisors_[i] <= area / divisors_[i]) ++i;
    return i;
  }

  void add_square(const Sizes& shape, bool pixel = false) {
    const std::int64_t area = rest(shape);
    const std::size_t i = area > 0 ? middle(area) : 0;
    if (i == 0) return;
    const std::int64_t side = divisors_[i - 1];
    if (side * side == area && (side == 1) == pixel) add_both(shape, side, side);
  }

  void add_squares(std::int64_t n, bool pixel) {
    for (std::int64_t c : channels_) add_square({n, c}, pixel);
  }

  /// From the nearest to a square on.
  void add_oblongs(const Sizes& shape) {
    const std::int64_t area = rest(shape);
    for (std::size_t i = area > 0 ? middle(area) : 0; i-- > 0 && out_.size() < most_;) {
      const std::int64_t h = divisors_[i];
      if (area % h != 0 || area / h == h) continue;
      add_both(shape, h, area / h);
      add_both(shape, area / h, h);
    }
  }

  std::int64_t elements_;
  std::size_t most_;
  Sizes divisors_, channels_;
  std::vector<Sizes> out_;
};

/// Ids in rows that are told, then without rows.
std::vector<Sizes> index_shapes(std::int64_t bytes, const Rows& rows) {
  std::vector<Sizes> out;
  for (const Sizes& list : {rows.told, Sizes{0}, rows.possible}) {
    for (std::int64_t n : list) {
      for (std::int64_t width : {4, 8}) {
        const std::int64_t count = bytes / width;
        if (bytes % width != 0) continue;
        if (n == 0 || n == count) out.push_back({count});
        if (n > 0 && n != count && count % n == 0) out.push_back({n, count / n});
      }
    }
  }
  return out;
}

}  // namespace

std::vector<Sizes> candidates(const Record& record, int variable, const Rows& rows, DType real,
                              std::size_t most) {
  const std::int64_t bytes = record.variables[at(variable)].bytes;
  if (reader_of(record, variable, "EmbedIDFunction")) return index_shapes(bytes, rows);
  const auto size = static_cast<std::int64_t>(size_of(real));
  const std::int64_t elements = bytes / size;
  if (elements == 0) return {{0}};
  const std::int64_t divided = channels_divide(record, variable, size);
  Sizes others;
  for (std::int64_t n : rows.possible) {
    if (std::find(rows.told.begin(), rows.told.end(), n) == rows.told.end()) others.push_back(n);
  }
  Shapes shapes(elements, divided, most);
  for (const Sizes& list : {rows.told, others}) {
    if (rows.images && divided == 0) shapes.add_squares(list);
    if (divided == 0) shapes.add_matrices(list);
    shapes.add_images(list);
  }
  shapes.add({elements});
  return shapes.take();
}

}  // namespace plait::io::chainer
