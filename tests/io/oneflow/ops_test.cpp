// Every op of ops.log against its definition, computed in doubles.
#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <random>

#include "backends/backends.h"
#include "ops/verify.h"
#include "tests/io/oneflow/run.h"

namespace plait::io::oneflow {
namespace {

/// What ops.log computes, in doubles, by the definitions.
struct Ops {
  static constexpr int kBatch = 2, kTime = 4, kWidth = 6, kVocab = 5, kCopy = 3;
  std::vector<int> idx;
  Reals emb, mix, decay, first, head;

  static std::size_t at(int b, int t, int c) {
    return static_cast<std::size_t>((b * kTime + t) * kWidth + c);
  }
  static Reals cube() { return Reals(static_cast<std::size_t>(kBatch * kTime * kWidth)); }

  Reals each(const std::function<double(int, int, int)>& f) const {
    Reals out = cube();
    for (int b = 0; b < kBatch; ++b) {
      for (int t = 0; t < kTime; ++t) {
        for (int c = 0; c < kWidth; ++c) out[at(b, t, c)] = f(b, t, c);
      }
    }
    return out;
  }
  Reals x() const {
    return each([&](int b, int t, int c) {
      return emb[static_cast<std::size_t>(idx[static_cast<std::size_t>(b * kTime + t)] * kWidth +
                                          c)];
    });
  }
  Reals k() const {
    const Reals now = x();
    return each([&](int b, int t, int c) {
      const double u = mix[static_cast<std::size_t>(c)];
      return now[at(b, t, c)] * u + (t == 0 ? 0 : now[at(b, t - 1, c)]) * (1 - u);
    });
  }
  static double square_of_relu(double v) { return v > 0 ? v * v : 0; }

  /// The mean weighted by e^(k + w age): no recurrence.
  Reals wkv(const Reals& keys, const Reals& values, const Reals& time_decay) const {
    return each([&](int b, int t, int c) {
      const double w = -std::exp(time_decay[static_cast<std::size_t>(c)]);
      double top = 0, bottom = 0;
      for (int j = 0; j <= t; ++j) {
        const double bonus = j == t ? first[static_cast<std::size_t>(c)] : w * (t - 1 - j);
        const double weight = std::exp(keys[at(b, j, c)] + bonus);
        top += weight * values[at(b, j, c)];
        bottom += weight;
      }
      return top / bottom;
    });
  }
};

struct OpsLog : testing::Test {
  Ops ops;
  Arrays got;
  Reals x, k, v, y, gate;

  void SetUp() override {
    std::mt19937 random(11);
    std::normal_distribution<double> normal(0, 0.6);
    const Import import = to_graphs(sample("ops.log"));
    EXPECT_EQ(import.sizes,
              (std::map<std::string, std::int64_t>{
                  {"batch", 2}, {"copy", 3}, {"time", 4}, {"vocab", 5}, {"width", 6}}));
    Session log(with_sizes(import, {}), make_target("ref"));
    const auto fill = [&](const std::string& name, Reals& into) {
      Array value = log.state(name);
      for (std::int64_t i = 0; i < value.count(); ++i) value.set(i, normal(random));
      into = reals(value);
      log.set_state(name, value);
    };
    fill("emb.weight", ops.emb);
    fill("mix", ops.mix);
    fill("decay", ops.decay);
    fill("first", ops.first);
    fill("head.weight", ops.head);
    ops.idx = {1, 3, 0, 3, 4, 2, 2, 1};
    const Array idx = Array::of(DType::i64, {2, 4}, {ops.idx.begin(), ops.idx.end()});
    std::vector<std::string> values;
    for (const ir::Value& value : log.package().graphs[0].values) values.push_back(value.name);
    std::erase(values, "idx");
    got = log.run({"", {{"idx", idx}}, values});
    x = ops.x();
    k = ops.k();
    v = k;
    for (double& e : v) e = Ops::square_of_relu(e);
    y = ops.wkv(k, v, ops.decay);
    gate = x;
    for (double& e : gate) e = 1 / (1 + std::exp(-e));
  }
  Reals value(const std::string& name) const { return reals(got.at(name)); }
};

TEST_F(OpsLog, ForwardByDefinition) {
  expect_near(value("model.emb-gather-0/out_0"), x, "gather");
  expect_near(value("model-add_n-6/out_0"), k, "mix");
  expect_near(value("model-square-9/y_0"), v, "square");
  expect_near(value("model-sigmoid_v2-10/y_0"), gate, "sigmoid");
  expect_near(value("model-wkv-11/y_0"), y, "wkv");
  // q = head (gate y); z = 0.5 sum over t, j of q_t q_j / 3, over 2.5 * 8.
  double sum = 0;
  Reals q;
  for (int bt = 0; bt < 8; ++bt) {
    for (int d = 0; d < Ops::kCopy; ++d) {
      double dot = 0;
      for (int c = 0; c < Ops::kWidth; ++c) {
        const auto i = static_cast<std::size_t>(bt * Ops::kWidth + c);
        dot += ops.head[static_cast<std::size_t>(d * Ops::kWidth + c)] * gate[i] * y[i];
      }
      q.push_back(dot);
    }
  }
  expect_near(value("model.head-broadcast_matmul-15/out_0"), q, "head");
  for (int b = 0; b < 2; ++b) {
    for (int t = 0; t < 4; ++t) {
      for (int j = 0; j < 4; ++j) {
        for (int d = 0; d < 3; ++d) {
          sum += q[static_cast<std::size_t>((b * 4 + t) * 3 + d)] *
                 q[static_cast<std::size_t>((b * 4 + j) * 3 + d)] / 3;
        }
      }
    }
  }
  expect_near(value("model-broadcast_div-26/z_0"), {0.5 * sum / 20}, "z");
  expect_near(value("model-broadcast_div_grad-28/dy_0"), {-0.5 * sum / 20 / 20}, "div_grad");
  EXPECT_EQ(value("model-constant-24/out_0"), Reals(8, 2.5));
}

TEST_F(OpsLog, BackwardByDifferences) {
  Reals gy = y;
  for (double& e : gy) e *= e;
  expect_near(value("model-broadcast_mul-29/z_0"), gy, "gy");
  const auto loss = [&](const Reals& keys, const Reals& values, const Reals& decay) {
    const Reals out = ops.wkv(keys, values, decay);
    return std::inner_product(out.begin(), out.end(), gy.begin(), 0.0);
  };
  constexpr double kStep = 1e-5;
  const auto slope = [&](Reals at, const std::function<double(const Reals&)>& f) {
    Reals out;
    for (std::size_t i = 0; i < at.size(); ++i) {
      const double old = at[i];
      at[i] = old + kStep;
      const double high = f(at);
      at[i] = old - kStep;
      out.push_back((high - f(at)) / (2 * kStep));
      at[i] = old;
    }
    return out;
  };
  // Differences of doubles are good to 1e-9; the graph's f32 recurrence to some 1e-6.
  expect_near(value("model-reduce_sum-31/output_tensor_0"),
              slope(ops.decay, [&](const Reals& d) { return loss(k, v, d); }), "decay", 1e-5);
  const Reals gk = slope(k, [&](const Reals& keys) { return loss(keys, v, ops.decay); });
  const Reals gv = slope(v, [&](const Reals& values) { return loss(k, values, ops.decay); });
  expect_near(value("model-wkv_grad-30/gk_0"), gk, "gk", 1e-5);
  expect_near(value("model-wkv_grad-30/gv_0"), gv, "gv", 1e-5);
  Reals dk = gk, ds = gk;
  for (std::size_t i = 0; i < dk.size(); ++i) {
    dk[i] += k[i] > 0 ? 2 * k[i] * gv[i] : 0;
    ds[i] = dk[i] * gate[i] * (1 - gate[i]);
  }
  expect_near(value("model-add_n-35/out_0"), dk, "dk", 1e-5);
  expect_near(value("model-sigmoid_v2_grad-38/dx_0"), ds, "ds", 1e-5);
  Reals mix(6), rows(30);
  for (int b = 0; b < 2; ++b) {
    for (int t = 0; t < 4; ++t) {
      for (int c = 0; c < 6; ++c) {
        mix[static_cast<std::size_t>(c)] += dk[Ops::at(b, t, c)] * x[Ops::at(b, t, c)];
        const int row = ops.idx[static_cast<std::size_t>(b * 4 + t)];
        if (t + 1 < 4) rows[static_cast<std::size_t>(row * 6 + c)] += ds[Ops::at(b, t + 1, c)];
      }
    }
  }
  expect_near(value("model-reduce_sum_like-37/y_0"), mix, "mix", 1e-5);
  expect_near(value("model.emb-unsorted_segment_sum_like-40/out_0"), rows, "rows", 1e-5);
}

TEST_F(OpsLog, GradientsByTheirOps) {
  for (const char* name : {"emb.weight", "mix", "decay", "first", "head.weight"}) {
    const Import import = to_graphs(sample("ops.log"));
    const auto& fetches = import.package.graphs[0].fetches;
    EXPECT_TRUE(std::any_of(fetches.begin(), fetches.end(), [&](const ir::Fetch& f) {
      return f.name == std::string("d_") + name;
    })) << name;
  }
}

TEST(OneflowGraphs, OtherSizes) {
  const Import import = to_graphs(sample("ops.log"));
  const ir::Package small = with_sizes(import, {{"batch", Dim(1)},
                                                {"time", Dim(3)},
                                                {"width", Dim(4)},
                                                {"vocab", Dim(7)},
                                                {"copy", Dim(2)}});
  verify_types(small.graphs[0]);
  Session log(small, make_target("ref"));
  const Array idx = Array::of(DType::i64, {1, 3}, {6, 0, 2});
  const Arrays got =
      log.run({"", {{"idx", idx}}, {"model-batch_matmul-17/out_0", "model-scalar_mul-18/out_0"}});
  const Reals c = reals(got.at("model-batch_matmul-17/out_0"));
  Reals half = c;
  for (double& e : half) e /= 2;  // 1/copy, not the 1/3 of the document
  expect_near(reals(got.at("model-scalar_mul-18/out_0")), half, "scale");
}

}  // namespace
}  // namespace plait::io::oneflow
