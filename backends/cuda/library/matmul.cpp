// Matrix products by cuBLASLt. Of the ways to split a sum only those are allowed that add the parts
// in the type of the sum, from a workspace and in a fixed order, so that one algorithm gives the
// same bits in every run and no part is rounded to a half.
#include <algorithm>
#include <iterator>
#include <limits>

#include "backends/cuda/library/calls.h"
#include "backends/cuda/library/loaded.h"

namespace plait::cuda {
namespace {

constexpr int kMostAlgorithms = 16;

cudaDataType_t type_of(DType t) {
  switch (t) {
    case DType::f64:
      return CUDA_R_64F;
    case DType::f16:
      return CUDA_R_16F;
    case DType::bf16:
      return CUDA_R_16BF;
    default:
      return CUDA_R_32F;
  }
}

cublasComputeType_t compute_of(const LibraryProblem& p) {
  if (p.dtype == DType::f64) return CUBLAS_COMPUTE_64F;
  if (p.dtype == DType::f32 && p.options.tf32) return CUBLAS_COMPUTE_32F_FAST_TF32;
  return CUBLAS_COMPUTE_32F;
}

void expect(const LtApi& api, cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) throw RunError(str(what, ": ", api.text(status)));
}

class LtCall : public LibraryCall {
 public:
  LtCall(const LtApi& api, cublasLtHandle_t handle, const MatrixProduct& product,
         const LibraryProblem& problem)
      : api_(api), handle_(handle), p_(product), problem_(problem) {
    try {
      describe();
      if (problem.options.variant.empty()) {
        find();
      } else {
        again(problem.options.variant);
      }
    } catch (...) {
      release();
      throw;
    }
  }
  ~LtCall() override { release(); }
  LtCall(const LtCall&) = delete;
  LtCall& operator=(const LtCall&) = delete;

  std::string id() const override {
    std::string out = "lt.";
    out += p_.left.transposed ? 't' : 'n';
    out += p_.right.transposed ? 't' : 'n';
    out += '.';
    out += name_of(problem_.dtype);
    if (problem_.dtype == DType::f32 && problem_.options.tf32) out = out + ".tf32";
    return out + "." + text_of(chosen_.algo);
  }

  std::int64_t workspace_bytes() const override {
    return static_cast<std::int64_t>(chosen_.workspaceSize);
  }

  const char* run(void* stream, const LibraryOperands& o) const override {
    const double zero = 0, one = 1;
    const float zero_f = 0, one_f = 1;
    const bool wide = problem_.dtype == DType::f64;
    const void* alpha = wide ? static_cast<const void*>(&one) : &one_f;
    const void* nothing = wide ? static_cast<const void*>(&zero) : &zero_f;
    const void* beta = problem_.epilogue.residual ? alpha : nothing;
    if (problem_.epilogue.bias) {
      const cublasStatus_t status =
          api_.desc_set(desc_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &o.bias, sizeof(o.bias));
      if (status != CUBLAS_STATUS_SUCCESS) return api_.text(status);
    }
    const auto in = static_cast<std::int64_t>(size_of(problem_.dtype));
    const auto out = static_cast<std::int64_t>(size_of(problem_.result));
    const char* left = p_.b_is_left ? o.b : o.a;
    const char* right = p_.b_is_left ? o.a : o.b;
    for (std::int64_t i = 0; i < p_.outer; ++i) {
      const std::int64_t at = (p_.result.offset + i * p_.result.outer) * out;
      char* d = o.c + at;
      const char* c = problem_.epilogue.residual ? o.residual + at : d;
      const cublasStatus_t status = api_.matmul(
          handle_, desc_, alpha, left + (p_.left.offset + i * p_.left.outer) * in, left_,
          right + (p_.right.offset + i * p_.right.outer) * in, right_, beta, c, result_, d, result_,
          &chosen_.algo, o.workspace, chosen_.workspaceSize, static_cast<cudaStream_t>(stream));
      if (status != CUBLAS_STATUS_SUCCESS) return api_.text(status);
    }
    return nullptr;
  }

  std::int64_t tune_bytes() const override { return problem_.options.workspace_limit; }

  double tune(void* stream, const LibraryOperands& operands, int most) override {
    if (candidates_.size() < 2) find();
    constexpr double kNever = std::numeric_limits<double>::infinity();
    double best = kNever;
    std::string why = "there is none";
    cublasLtMatmulHeuristicResult_t winner = chosen_;
    const std::size_t count = std::min(candidates_.size(), static_cast<std::size_t>(most));
    for (std::size_t i = 0; i < count; ++i) {
      chosen_ = candidates_[i];
      const double seconds = seconds_of(stream, *this, operands, best, why);
      if (seconds < 0 || seconds >= best) continue;
      best = seconds;
      winner = chosen_;
    }
    chosen_ = winner;
    if (best == kNever) throw RunError("none of cuBLASLt's algorithms runs: " + why);
    return best;
  }

 private:
  template <class T>
  void set(cublasLtMatmulDescAttributes_t what, const T& value) {
    expect(api_, api_.desc_set(desc_, what, &value, sizeof(value)), "a product's description");
  }

  cublasLtMatrixLayout_t layout(const Matrix& m, DType dtype) {
    cublasLtMatrixLayout_t out = nullptr;
    expect(api_,
           api_.layout_create(&out, type_of(dtype), static_cast<std::uint64_t>(m.rows),
                              static_cast<std::uint64_t>(m.cols), m.ld),
           "a matrix's description");
    const auto count = static_cast<std::int32_t>(p_.batch);
    const auto put = [&](cublasLtMatrixLayoutAttribute_t what, const void* value, std::size_t n) {
      expect(api_, api_.layout_set(out, what, value, n), "a matrix's batches");
    };
    put(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count));
    put(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &m.batch, sizeof(m.batch));
    return out;
  }

  void describe() {
    const cudaDataType_t scale = problem_.dtype == DType::f64 ? CUDA_R_64F : CUDA_R_32F;
    expect(api_, api_.desc_create(&desc_, compute_of(problem_), scale), "a product's description");
    const cublasOperation_t left = p_.left.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t right = p_.right.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    set(CUBLASLT_MATMUL_DESC_TRANSA, left);
    set(CUBLASLT_MATMUL_DESC_TRANSB, right);
    const LibraryEpilogue& e = problem_.epilogue;
    if (e.bias && !p_.b_is_left) throw RunError("its bias does not run along the result's memory");
    const cublasLtEpilogue_t epilogue =
        e.bias ? (e.relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS)
               : (e.relu ? CUBLASLT_EPILOGUE_RELU : CUBLASLT_EPILOGUE_DEFAULT);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    if (e.bias) {
      // The search looks at the address; the real one is set by run.
      const auto stand_in = reinterpret_cast<const void*>(problem_.options.alignment);
      set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, stand_in);
      set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type_of(problem_.result));
    }
    left_ = layout(p_.left, problem_.dtype);
    right_ = layout(p_.right, problem_.dtype);
    result_ = layout(p_.result, problem_.result);
  }

  std::uint32_t aligned(const Matrix& m, DType dtype) const {
    const auto bytes = static_cast<std::int64_t>(size_of(dtype));
    return static_cast<std::uint32_t>(common_alignment(
        problem_.options.alignment, {m.offset * bytes, p_.outer > 1 ? m.outer * bytes : 0}));
  }

  /// The library's own order, best first.
  void find() {
    cublasLtMatmulPreference_t preference = nullptr;
    expect(api_, api_.preference_create(&preference), "a product's preferences");
    const auto put = [&](cublasLtMatmulPreferenceAttributes_t what, auto value) {
      return api_.preference_set(preference, what, &value, sizeof(value));
    };
    const bool sums_in_result = !is_half(problem_.result);
    const auto schemes = static_cast<std::uint32_t>(
        CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE |
        (sums_in_result ? CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE : CUBLASLT_REDUCTION_SCHEME_NONE));
    put(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, schemes);
    put(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
        static_cast<std::uint64_t>(problem_.options.workspace_limit));
    put(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, aligned(p_.left, problem_.dtype));
    put(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, aligned(p_.right, problem_.dtype));
    put(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, aligned(p_.result, problem_.result));
    put(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, aligned(p_.result, problem_.result));
    candidates_.resize(kMostAlgorithms);
    int count = 0;
    const cublasStatus_t status =
        api_.heuristic(handle_, desc_, left_, right_, result_, result_, preference, kMostAlgorithms,
                       candidates_.data(), &count);
    api_.preference_destroy(preference);
    expect(api_, status, "no algorithm");
    candidates_.resize(static_cast<std::size_t>(std::max(count, 0)));
    std::erase_if(candidates_, [](const auto& c) { return c.state != CUBLAS_STATUS_SUCCESS; });
    if (candidates_.empty()) throw RunError("no algorithm");
    chosen_ = candidates_[0];
  }

  /// The algorithm that an id names: its description's words, which one version of the library
  /// reads as it wrote them.
  void again(const std::string& text) {
    const std::vector<std::uint64_t> words = words_from(text);
    if (words.empty() || words.size() > std::size(chosen_.algo.data)) {
      throw RunError(str("'", text, "' is no algorithm"));
    }
    cublasLtMatmulAlgo_t algo{};
    std::copy(words.begin(), words.end(), std::begin(algo.data));
    expect(api_, api_.algo_check(handle_, desc_, left_, right_, result_, result_, &algo, &chosen_),
           "the algorithm does not take it");
    chosen_.algo = algo;
  }

  static std::string text_of(const cublasLtMatmulAlgo_t& algo) {
    return words_text({std::begin(algo.data), std::end(algo.data)});
  }

  void release() {
    for (cublasLtMatrixLayout_t l : {left_, right_, result_}) {
      if (l != nullptr) api_.layout_destroy(l);
    }
    if (desc_ != nullptr) api_.desc_destroy(desc_);
  }

  const LtApi& api_;
  cublasLtHandle_t handle_;
  MatrixProduct p_;
  LibraryProblem problem_;
  cublasLtMatmulDesc_t desc_ = nullptr;
  cublasLtMatrixLayout_t left_ = nullptr, right_ = nullptr, result_ = nullptr;
  std::vector<cublasLtMatmulHeuristicResult_t> candidates_;
  cublasLtMatmulHeuristicResult_t chosen_{};
};

}  // namespace

std::unique_ptr<LibraryCall> make_lt_call(const MatrixProduct& product,
                                          const LibraryProblem& problem, std::string& why) {
  const LtApi* api = lt_api(why);
  const cublasLtHandle_t handle = lt_handle(why);
  if (api == nullptr || handle == nullptr) return nullptr;
  try {
    return std::make_unique<LtCall>(*api, handle, product, problem);
  } catch (const RunError& e) {
    why = e.what();
    return nullptr;
  }
}

}  // namespace plait::cuda
