// Samples as graphs: what they compute, against sums written out here and networks of models/.
#include "models/registry.h"
#include "ops/verify.h"
#include "tests/io/aicf/support.h"
#include "tests/raises.h"

namespace plait::io::aicf {
namespace {

using test::deviation;
using test::sample_record;
using test::session_of;

/// Matrices in double, for sums written out.
struct Matrix {
  std::int64_t rows, columns;
  std::vector<double> at;
  double& operator()(std::int64_t i, std::int64_t j) {
    return at[static_cast<std::size_t>(i * columns + j)];
  }
  double operator()(std::int64_t i, std::int64_t j) const {
    return at[static_cast<std::size_t>(i * columns + j)];
  }
};

Matrix zeros(std::int64_t rows, std::int64_t columns) {
  return {rows, columns, std::vector<double>(static_cast<std::size_t>(rows * columns))};
}

/// A vector is one row.
Matrix matrix_of(const Array& a) {
  Matrix m = zeros(a.sizes().size() == 2 ? a.sizes()[0] : 1, a.sizes().back());
  for (std::int64_t i = 0; i < a.count(); ++i) m.at[static_cast<std::size_t>(i)] = a.real(i);
  return m;
}

Array array_of(const Matrix& m, const Sizes& sizes) { return Array::of(DType::f64, sizes, m.at); }

/// sum over k of x(i, k) * y(k, j), with either side transposed.
Matrix product(const Matrix& x, bool xt, const Matrix& y, bool yt) {
  const std::int64_t rows = xt ? x.columns : x.rows, inner = xt ? x.rows : x.columns;
  const std::int64_t columns = yt ? y.rows : y.columns;
  Matrix out = zeros(rows, columns);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      for (std::int64_t k = 0; k < inner; ++k) {
        out(i, j) += (xt ? x(k, i) : x(i, k)) * (yt ? y(j, k) : y(k, j));
      }
    }
  }
  return out;
}

Matrix layer(const Matrix& x, const Matrix& w, const Matrix* b) {
  Matrix y = product(x, false, w, true);
  for (std::int64_t i = 0; b && i < y.rows; ++i) {
    for (std::int64_t j = 0; j < y.columns; ++j) y(i, j) += (*b)(0, j);
  }
  return y;
}

Matrix relu(Matrix x) {
  for (double& v : x.at) v = std::max(v, 0.0);
  return x;
}

Matrix column_sums(const Matrix& x) {
  Matrix out = zeros(1, x.columns);
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t j = 0; j < x.columns; ++j) out(0, j) += x(i, j);
  }
  return out;
}

Matrix scaled_difference(const Matrix& y, const Matrix& t, double scale) {
  Matrix d = y;
  for (std::size_t i = 0; i < d.at.size(); ++i) d.at[i] = (y.at[i] - t.at[i]) * scale;
  return d;
}

Matrix where_positive(const Matrix& d, const Matrix& saved) {
  Matrix out = d;
  for (std::size_t i = 0; i < d.at.size(); ++i) out.at[i] = saved.at[i] > 0 ? d.at[i] : 0;
  return out;
}

void descend(Matrix& p, const Matrix& g, double lr) {
  for (std::size_t i = 0; i < p.at.size(); ++i) p.at[i] -= lr * g.at[i];
}

TEST(AicfGraph, SamplesVerify) {
  for (const std::string name : test::kSamples) {
    const Import import = to_graphs(sample_record(name));
    ASSERT_EQ(import.package.graphs.size(), 1u);
    verify_types(import.package.graphs[0]);
    verify_types(plain_graph(sample_record(name)));
  }
}

TEST(AicfGraph, NamesPathsAndLinesSurvive) {
  const ir::Graph g = to_graphs(sample_record("sgd")).package.graphs[0];
  EXPECT_EQ(g.name, "two_layers_sgd");
  for (const char* name : {"x", "t", "h", "a", "a_saved", "y", "d_y", "d_a", "d_h", "d_x", "d_fc.W",
                           "d_fc.b", "d_head.W", "d_head.b"}) {
    EXPECT_NE(g.find_value(name), ir::kNone) << name;
  }
  const ir::Node& linear = g.node(g.value(g.find_value("h")).producer);
  EXPECT_EQ(linear.path, "fc");
  EXPECT_EQ(linear.source, (ir::Source{"sgd.txt", 25}));
  const ir::Node& gradient = g.node(g.value(g.find_value("d_head.b")).producer);
  EXPECT_EQ(gradient.path, "head");
  EXPECT_EQ(gradient.source, (ir::Source{"sgd.txt", 30}));
  ASSERT_EQ(g.states.size(), 4u);
  EXPECT_EQ(g.nexts.size(), 4u);
  ASSERT_EQ(g.fetches.size(), 1u);
  EXPECT_EQ(g.fetches[0].name, "y");
}

TEST(AicfGraph, SizesHaveNames) {
  const Import sgd = to_graphs(sample_record("sgd"));
  EXPECT_EQ(sgd.sizes, (std::map<std::string, std::int64_t>{{"batch", 6}}));
  const Import adam = to_graphs(sample_record("adam"));
  EXPECT_EQ(adam.sizes, (std::map<std::string, std::int64_t>{{"batch", 4}, {"width", 3}}));
  EXPECT_TRUE(adam.notes.empty());
  // Rows and features of one number are still two sizes.
  const std::string square = test::replaced(test::sample("no_bias"), "(3, 2)", "(2, 2)");
  const Import both = to_graphs(read(square, "f"));
  EXPECT_EQ(both.sizes, (std::map<std::string, std::int64_t>{{"batch", 2}, {"width", 2}}));
  const ir::Graph small = test::at_sizes(both, {{"batch", 5}}).graphs[0];
  EXPECT_EQ(small.type(small.find_value("y")), (ir::Type{DType::f64, {5, 2}}));
}

TEST(AicfGraph, RolesOfStates) {
  const ir::Graph g = to_graphs(sample_record("adam")).package.graphs[0];
  std::map<std::string, ir::Role> roles;
  for (const ir::StateUse& use : g.states) roles[use.state.name] = use.state.role;
  EXPECT_EQ(roles.size(), 13u);
  EXPECT_EQ(roles["0.W"], ir::Role::kParam);
  EXPECT_EQ(roles["2.b"], ir::Role::kParam);
  EXPECT_EQ(roles["opt.m.0.W"], ir::Role::kSlot);
  EXPECT_EQ(roles["opt.v.2.b"], ir::Role::kSlot);
  EXPECT_EQ(roles["opt.step"], ir::Role::kCounter);
}

/// Two layers with SGD, by hand. f32 rounds at 6e-8; sums here have at most six terms.
TEST(AicfGraph, SgdStepIsWhatItsFormulasSay) {
  Session session = session_of(test::package_of(sample_record("sgd")));
  const Arrays feeds = test::feeds_of(session.package(), 3);
  Matrix w0 = matrix_of(session.state("fc.W")), b0 = matrix_of(session.state("fc.b"));
  Matrix w1 = matrix_of(session.state("head.W")), b1 = matrix_of(session.state("head.b"));
  const Matrix x = matrix_of(feeds.at("x")), t = matrix_of(feeds.at("t"));
  const Matrix h = layer(x, w0, &b0), a = relu(h), y = layer(a, w1, &b1);
  const Matrix dy = scaled_difference(y, t, 2.0 / 18);
  const Matrix dh = where_positive(product(dy, false, w1, false), h);
  const Arrays out = session.run({"", feeds, {"y", "d_x", "d_head.W"}});
  EXPECT_LT(deviation(out.at("y"), array_of(y, {6, 3})), 1e-6);
  EXPECT_LT(deviation(out.at("d_x"), array_of(product(dh, false, w0, false), {6, 5})), 1e-6);
  EXPECT_LT(deviation(out.at("d_head.W"), array_of(product(dy, true, a, false), {3, 4})), 1e-6);
  descend(w0, product(dh, true, x, false), 0.05);
  descend(b0, column_sums(dh), 0.05);
  descend(w1, product(dy, true, a, false), 0.05);
  descend(b1, column_sums(dy), 0.05);
  EXPECT_LT(deviation(session.state("fc.W"), array_of(w0, {4, 5})), 1e-6);
  EXPECT_LT(deviation(session.state("fc.b"), array_of(b0, {4})), 1e-6);
  EXPECT_LT(deviation(session.state("head.W"), array_of(w1, {3, 4})), 1e-6);
  EXPECT_LT(deviation(session.state("head.b"), array_of(b1, {3})), 1e-6);
}

/// No bias, a scale of its own, f64: exact to the last bits.
TEST(AicfGraph, ScaleOverridesTheMean) {
  Session session = session_of(test::package_of(sample_record("no_bias")));
  const Arrays feeds = test::feeds_of(session.package(), 4);
  Matrix w = matrix_of(session.state("W"));
  const Matrix x = matrix_of(feeds.at("x"));
  const Matrix dy = scaled_difference(layer(x, w, nullptr), matrix_of(feeds.at("t")), 0.125);
  static_cast<void>(session.run({"", feeds, {}}));
  descend(w, product(dy, true, x, false), 0.5);
  EXPECT_LT(deviation(session.state("W"), array_of(w, {2, 2})), 1e-14);
}

/// bf16 keeps 8 bits: each of the two layers rounds its result to 1/256.
TEST(AicfGraph, InferenceIsWhatItsFormulasSay) {
  Session session = session_of(test::package_of(sample_record("inference")));
  const Arrays feeds = test::feeds_of(session.package(), 5);
  const Matrix b = matrix_of(session.state("layers.0.b"));
  const Matrix h =
      relu(layer(matrix_of(feeds.at("tokens_in")), matrix_of(session.state("layers.0.W")), &b));
  const Matrix y = layer(h, matrix_of(session.state("layers.1.W")), nullptr);
  const Arrays out = session.run({"", feeds, {}});
  ASSERT_EQ(out.size(), 1u);
  EXPECT_LT(deviation(out.at("logits"), array_of(y, {2, 5})), 2.0 / 256);
}

/// A cell that is rewritten, gradients in place, a counter in two cells, corrections with other
/// betas than the update: two steps by hand. f16 keeps 11 bits; W itself is rounded once a step.
TEST(AicfGraph, CellsHoldWhatWasWrittenLast) {
  const Import import = to_graphs(sample_record("in_place"));
  ASSERT_EQ(import.notes.size(), 1u);
  EXPECT_EQ(
      import.notes[0],
      "StepInc counts v008 opt.step in another cell, v009; its next value is taken from there");
  Session session = session_of(test::at_sizes(import));
  Matrix w = matrix_of(session.state("W")), m = zeros(3, 3), v = zeros(3, 3);
  for (int step = 1; step <= 2; ++step) {
    const Arrays feeds = test::feeds_of(session.package(), 6);
    const Matrix x = matrix_of(feeds.at("x")), h = layer(x, w, nullptr);
    const Matrix d =
        where_positive(scaled_difference(relu(h), matrix_of(feeds.at("t")), 2.0 / 6), h);
    const Matrix g = product(d, true, x, false);
    for (std::size_t i = 0; i < g.at.size(); ++i) {
      m.at[i] = 0.9 * m.at[i] + 0.1 * g.at[i];
      v.at[i] = 0.99 * v.at[i] + 0.01 * g.at[i] * g.at[i];
      const double m_hat = m.at[i] / (1 - std::pow(0.8, step));
      const double v_hat = v.at[i] / (1 - std::pow(0.99, step));
      w.at[i] -= 0.01 * m_hat / (std::sqrt(v_hat) + 1e-6);
    }
    static_cast<void>(session.run({"", feeds, {}}));
    EXPECT_EQ(session.state("opt.step").integer(0), step);
  }
  EXPECT_LT(deviation(session.state("m"), array_of(m, {3, 3})), 4.0 / 1024);
  EXPECT_LT(deviation(session.state("W"), array_of(w, {3, 3})), 2.0 / 1024);
}

/// The same ops in the same order: rounding differs nowhere, and 1e-6 is f32's.
TEST(AicfGraph, AdamSampleEqualsTheModel) {
  Session document = session_of(test::package_of(sample_record("adam")));
  Session model = session_of(models::build("mlp?train=1&batch=4&width=3&dtype=f32&optimizer=adam"));
  EXPECT_LT(test::deviation_after(document, model, 1), 1e-6);
  EXPECT_LT(test::deviation_after(document, model, 10), 1e-6);
  EXPECT_EQ(document.state("opt.step").integer(0), 11);
  EXPECT_GT(test::moved(document, 1), 1e-3);  // it does train
}

TEST(AicfGraph, AnUnknownAttributeIsKeptAndNotRun) {
  const std::string text =
      test::replaced(test::sample("sgd"), "{lr=0.05}", "{lr=0.05, momentum=0.9}");
  const Import import = to_graphs(read(text, "f"));
  EXPECT_EQ(import.notes.size(), 4u);
  EXPECT_EQ(import.notes[0], "#008 SgdStep has an attribute of unknown meaning and cannot be run");
  Session session = session_of(test::at_sizes(import));
  const std::string message = plait::test::message_of([&] {
    static_cast<void>(session.run({"", test::feeds_of(session.package(), 1), {}}));
  });
  EXPECT_NE(message.find("SgdStep"), std::string::npos) << message;
}

TEST(AicfGraph, RowsThatAreFeaturesKeepTheirNumbers) {
  // The gradient of W is read as rows of another layer: one size cannot have both names.
  const std::string text =
      "=== IRGraph: g ===\nvalues: 4, nodes: 2\n\n[values]\n"
      "  v000  x            shape=(2, 2) dtype=torch.float32 device=cpu\n"
      "  v001  W            shape=(2, 2) dtype=torch.float32 device=cpu\n"
      "  v002  y            shape=(2, 2) dtype=torch.float32 device=cpu\n"
      "  v003  z            shape=(2, 2) dtype=torch.float32 device=cpu\n\n[nodes]\n"
      "  #000 Linear     (v000, v001) -> (v002)\n"
      "  #001 Linear     (v001, v002) -> (v003)";
  EXPECT_TRUE(to_graphs(read(text, "f")).sizes.empty());
}

}  // namespace
}  // namespace plait::io::aicf
