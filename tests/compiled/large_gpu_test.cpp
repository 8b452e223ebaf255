// Arrays of more than 2^31 elements on a GPU: what they hold is known, so ends and sums are looked
// at instead of computing all of it a second time.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include "base/at.h"
#include "ir/text.h"
#include "tests/compiled/compiled_case.h"

namespace plait::test {
namespace {

class Large : public CompiledCase {};

constexpr std::int64_t kSide = 46343;  // its square is 190,001 more than 2^31

Session session_of(const std::string& text) { return compiled_session(ir::parse_graph(text)); }

Arrays second_run(Session& session, const Arrays& feeds = {}) {
  RunRequest request;
  request.feeds = feeds;
  session.run(request);
  return session.run(request);
}

template <class T>
std::span<const T> values(const Arrays& arrays, const std::string& name) {
  return arrays.at(name).as<T>();
}

TEST_F(Large, PointsAndTheirSum) {
  // 2^31 + 1001 elements; slices at the front, around 2^31, and at the end.
  Session session = session_of(R"(graph g() state(a: u8[2147484649]) {
    %i = iota(shape=[2147484649]) : i64[2147484649]
    %n = constant(value=i64[]{251}) : i64[]
    %m = mod(%i, %n)        : i64[2147484649]
    %c = cast(%m, dtype=u8)    : u8[2147484649]
    next a = %c
    %front = slice(a, axes=[0], starts=[0], stops=[8]) : u8[8]
    %middle = slice(a, axes=[0], starts=[2147483640], stops=[2147483656]) : u8[16]
    %end = slice(a, axes=[0], starts=[2147484641], stops=[2147484649]) : u8[8]
    %w = cast(a, dtype=i64)    : i64[2147484649]
    %s = sum(%w)            : i64[]
    return %front, %middle, %end, %s
  })");
  const Arrays out = second_run(session);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(values<std::uint8_t>(out, "front")[at(i)], i);
    EXPECT_EQ(values<std::uint8_t>(out, "end")[at(i)], (2147484641 + i) % 251);
  }
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(values<std::uint8_t>(out, "middle")[at(i)], (2147483640LL + i) % 251) << i;
  }
  constexpr std::int64_t kAll = 2147484649, kRest = kAll % 251;
  EXPECT_EQ(values<std::int64_t>(out, "s")[at(0)],
            kAll / 251 * (250 * 251 / 2) + kRest * (kRest - 1) / 2);
}

TEST_F(Large, RowsColumnsAndTheLargestOfEach) {
  Session session = session_of(R"(graph g() state(a: u8[46343,46343]) {
    %i = iota(shape=[46343,46343], axis=0) : i64[46343,46343]
    %j = iota(shape=[46343,46343], axis=1) : i64[46343,46343]
    %t = add(%j, %j)        : i64[46343,46343]
    %u = add(%i, %t)        : i64[46343,46343]
    %n = constant(value=i64[]{5}) : i64[]
    %m = mod(%u, %n)        : i64[46343,46343]
    %c = cast(%m, dtype=u8)    : u8[46343,46343]
    next a = %c
    %w = cast(a, dtype=i64)    : i64[46343,46343]
    %rows = sum(%w, axes=[1]) : i64[46343]
    %columns = sum(%w, axes=[0]) : i64[46343]
    %largest = argmax(a, axis=1) : i64[46343]
    return %rows, %columns, %largest
  })");
  const Arrays out = second_run(session);
  const auto value = [](std::int64_t i, std::int64_t j) { return (i + 2 * j) % 5; };
  std::int64_t row[5] = {}, column[5] = {}, first[5] = {};
  for (std::int64_t x = 0; x < 5; ++x) {
    for (std::int64_t y = 0; y < kSide; ++y) row[x] += value(x, y);
    for (std::int64_t y = 0; y < kSide; ++y) column[x] += value(y, x);
    while (value(x, first[x]) != 4) ++first[x];
  }
  for (std::int64_t i = 0; i < kSide; ++i) {
    ASSERT_EQ(values<std::int64_t>(out, "rows")[at(i)], row[i % 5]) << i;
    ASSERT_EQ(values<std::int64_t>(out, "columns")[at(i)], column[i % 5]) << i;
    ASSERT_EQ(values<std::int64_t>(out, "largest")[at(i)], first[i % 5]) << i;
  }
}

TEST_F(Large, AProduct) {
  Session session = session_of(R"(graph g() state(p: f16[46343,46344]) {
    %i = iota(shape=[46343,16], axis=0) : i64[46343,16]
    %k = iota(shape=[16,46344], axis=1) : i64[16,46344]
    %n = constant(value=i64[]{7}) : i64[]
    %a = mod(%i, %n)        : i64[46343,16]
    %b = mod(%k, %n)        : i64[16,46344]
    %x = cast(%a, dtype=f16)   : f16[46343,16]
    %y = cast(%b, dtype=f16)   : f16[16,46344]
    %z = matmul(%x, %y)     : f16[46343,46344]
    %r = relu(%z)           : f16[46343,46344]
    next p = %r
    %last = slice(p, axes=[0], starts=[46342], stops=[46343]) : f16[1,46344]
    %f = cast(%last, dtype=f32) : f32[1,46344]
    return %f
  })");
  const Arrays out = second_run(session);
  for (std::int64_t j = 0; j < 46344; ++j) {
    ASSERT_EQ(values<float>(out, "f")[at(j)], static_cast<float>(16 * (46342 % 7) * (j % 7))) << j;
  }
}

TEST_F(Large, GatheredAndScattered) {
  Session session = session_of(R"(graph g(ids: i64[5]) state(t: f16[2097153,1025]) {
    %i = iota(shape=[2097153,1025], axis=0) : i64[2097153,1025]
    %j = iota(shape=[2097153,1025], axis=1) : i64[2097153,1025]
    %u = add(%i, %j)        : i64[2097153,1025]
    %n = constant(value=i64[]{100}) : i64[]
    %m = mod(%u, %n)        : i64[2097153,1025]
    %b = cast(%m, dtype=f16) : f16[2097153,1025]
    %one = constant(value=f16[]{1.0}) : f16[]
    %ones = broadcast_to(%one, shape=[5,1025]) : f16[5,1025]
    %s = scatter_add(%b, ids, %ones) : f16[2097153,1025]
    next t = %s
    %r = embedding(t, ids)  : f16[5,1025]
    %rows = cast(%r, dtype=f32) : f32[5,1025]
    return %rows
  })");
  Array ids(DType::i64, {5});
  const std::int64_t rows[5] = {0, 2097152, 2097151, 2097152, 1048576};
  std::copy(std::begin(rows), std::end(rows), ids.as<std::int64_t>().begin());
  const Arrays out = second_run(session, {{"ids", ids}});
  for (int r = 0; r < 5; ++r) {
    const int added = rows[r] == 2097152 ? 2 : 1;
    for (std::int64_t j = 0; j < 1025; ++j) {
      ASSERT_EQ(values<float>(out, "rows")[at(r * 1025 + j)],
                static_cast<float>((rows[r] + j) % 100 + added));
    }
  }
}

}  // namespace
}  // namespace plait::test
