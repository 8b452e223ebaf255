// Loops over the prelude's functions, compiled as generated kernels are: gcc reports each as
// vectorised, and the vectors have the bits of the scalar functions compiled into this program.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "codegen/prelude.h"
#include "codegen/prelude_text.h"
#include "tests/codegen/ulp.h"

namespace plait {
namespace {

namespace fs = std::filesystem;

/// A folder that goes with the test.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "prelude_XXXXXX").string();
    if (!mkdtemp(name.data())) throw RunError(str("cannot make a folder like ", name));
    path_ = name;
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

struct Outcome {
  int status;
  std::string output;
};

Outcome shell(const std::string& command) {
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (!pipe) return {-1, "popen failed"};
  Outcome outcome;
  std::array<char, 4096> buffer;
  while (const std::size_t n = fread(buffer.data(), 1, buffer.size(), pipe)) {
    outcome.output.append(buffer.data(), n);
  }
  outcome.status = pclose(pipe);
  return outcome;
}

bool has_gcc() {
  const Outcome version = shell("gcc --version");
  return version.status == 0 &&
         version.output.find("Free Software Foundation") != std::string::npos;
}

struct Loop {
  const char* function;  // pl_...
  const char* to;
  const char* from;
};

const Loop kLoops[] = {
    {"pl_exp_f", "float", "float"},        {"pl_expm1_f", "float", "float"},
    {"pl_log_f", "float", "float"},        {"pl_log1p_f", "float", "float"},
    {"pl_tanh_f", "float", "float"},       {"pl_erf_f", "float", "float"},
    {"pl_sinh_f", "float", "float"},       {"pl_cosh_f", "float", "float"},
    {"pl_sin_f", "float", "float"},        {"pl_cos_f", "float", "float"},
    {"pl_tan_f", "float", "float"},        {"pl_asin_f", "float", "float"},
    {"pl_acos_f", "float", "float"},       {"pl_atan_f", "float", "float"},
    {"pl_sqrt_f", "float", "float"},       {"pl_floor_f", "float", "float"},
    {"pl_round_f", "float", "float"},      {"pl_round_f16", "float", "float"},
    {"pl_round_bf16", "float", "float"},   {"pl_f16_to_f", "float", "uint16_t"},
    {"pl_bf16_to_f", "float", "uint16_t"}, {"pl_f_to_f16", "uint16_t", "float"},
    {"pl_f_to_bf16", "uint16_t", "float"}, {"pl_f_to_i32", "int32_t", "float"},
    {"pl_f_to_i8", "int8_t", "float"},     {"pl_f_to_u8", "uint8_t", "float"},
    {"pl_exp_d", "double", "double"},      {"pl_expm1_d", "double", "double"},
    {"pl_log_d", "double", "double"},      {"pl_tanh_d", "double", "double"},
    {"pl_erfc_f", "float", "float"},
};
const char* const kPairs[] = {"pl_pow_f", "pl_atan2_f", "pl_max_f", "pl_min_f"};

/// A pooling window as kernels have it: values that a mask may replace, and a chain of maxima.
const char kChain[] =
    "void v_chain(float* restrict o, const float* restrict a, const float* restrict b, long n, "
    "uint32_t m) { for (long i = 0; i < n; ++i) { "
    "const float x = pl_from_bits_f((pl_bits_f(a[i]) & m) | (~m & 0xff800000u)); "
    "const float y = pl_max_f(x, b[i]); const float z = pl_max_f(y, a[i + 1]); "
    "o[i] = pl_max_f(pl_max_f(pl_min_f(z, b[i + 1]), b[i + 2]), 0.0f); } }\n";

std::string line(const std::string& function, const std::string& to, const std::string& from,
                 bool pair) {
  const std::string pointer = " const " + from + "* restrict ";
  return str("void v_", function, "(", to, "* restrict o,", pointer, "a,",
             pair ? pointer + "b, " : " ",
             "long n) { for (long i = 0; i < n; ++i) o[i] = ", function,
             pair ? "(a[i], b[i]); }\n" : "(a[i]); }\n");
}

const char kFlags[] =
    " -O3 -mavx2 -mfma -std=c11 -ffp-contract=off -fno-math-errno -fno-trapping-math -fopenmp-simd"
    " -fPIC -shared ";

/// The loops as prelude.so in the folder, and what the compiler said, run inside it.
Outcome compile_loops(const fs::path& folder) {
  std::ofstream(folder / "prelude.h") << codegen::prelude_text();
  std::ofstream source(folder / "loops.c");
  source << "#include \"prelude.h\"\n";
  for (const Loop& loop : kLoops) source << line(loop.function, loop.to, loop.from, false);
  for (const char* function : kPairs) source << line(function, "float", "float", true);
  source << kChain;
  source.close();
  return shell(str("cd ", folder.string(), " && gcc", kFlags,
                   "-fopt-info-vec-optimized loops.c -o prelude.so"));
}

TEST(PreludeVector, GccVectorisesEveryLoop) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "the flags are those of x86-64";
#endif
  if (!has_gcc()) GTEST_SKIP() << "no gcc here";
  const Folder folder;
  const Outcome outcome = compile_loops(folder.path());
  ASSERT_EQ(outcome.status, 0) << outcome.output;
  std::set<int> vectorised;  // lines
  const std::regex report(R"(loops\.c:(\d+):\d+: optimized: loop vectorized using 32 byte)");
  for (std::sregex_iterator it(outcome.output.begin(), outcome.output.end(), report), end;
       it != end; ++it) {
    vectorised.insert(std::stoi((*it)[1]));
  }
  int number = 2;
  for (const Loop& loop : kLoops) EXPECT_TRUE(vectorised.contains(number++)) << loop.function;
  for (const char* function : kPairs) EXPECT_TRUE(vectorised.contains(number++)) << function;
  EXPECT_TRUE(vectorised.contains(number)) << "a chain of maxima";
}

TEST(PreludeVector, VectorsHaveTheBitsOfScalars) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "the flags are those of x86-64";
#else
  if (!has_gcc()) GTEST_SKIP() << "no gcc here";
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    GTEST_SKIP() << "no AVX2 here";
  }
#endif
  const Folder folder;
  const Outcome outcome = compile_loops(folder.path());
  ASSERT_EQ(outcome.status, 0) << outcome.output;
  void* library = dlopen((folder.path() / "prelude.so").c_str(), RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  std::mt19937 random(23);
  std::vector<float> in(100003), out(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    in[i] = i % 2 ? float_of(random()) : static_cast<float>(random()) * 0x1p-28f - 8;
  }
  const std::pair<const char*, float (*)(float)> functions[] = {
      {"pl_exp_f", pl_exp_f},     {"pl_expm1_f", pl_expm1_f}, {"pl_log_f", pl_log_f},
      {"pl_log1p_f", pl_log1p_f}, {"pl_tanh_f", pl_tanh_f},   {"pl_erf_f", pl_erf_f},
      {"pl_sinh_f", pl_sinh_f},   {"pl_cosh_f", pl_cosh_f},   {"pl_sin_f", pl_sin_f},
      {"pl_cos_f", pl_cos_f},     {"pl_tan_f", pl_tan_f},     {"pl_asin_f", pl_asin_f},
      {"pl_acos_f", pl_acos_f},   {"pl_atan_f", pl_atan_f},   {"pl_round_f16", pl_round_f16},
      {"pl_erfc_f", pl_erfc_f},
  };
  for (const auto& function : functions) {
    void* symbol = dlsym(library, str("v_", function.first).c_str());
    ASSERT_NE(symbol, nullptr) << function.first;
    reinterpret_cast<void (*)(float*, const float*, long)>(symbol)(out.data(), in.data(),
                                                                   static_cast<long>(in.size()));
    for (std::size_t i = 0; i < in.size(); ++i) {
      const float want = function.second(in[i]);
      ASSERT_TRUE(want != want ? out[i] != out[i] : pl_bits_f(out[i]) == pl_bits_f(want))
          << function.first << "(" << std::hexfloat << in[i] << ") = " << out[i] << ", not "
          << want;
    }
  }
  dlclose(library);
}

TEST(PreludeVector, TheTextIsC11WithoutWarnings) {
  const Folder folder;
  std::ofstream(folder.path() / "prelude.h") << codegen::prelude_text();
  std::ofstream(folder.path() / "prelude.c") << "#include \"prelude.h\"\nint nothing;\n";
  bool found = false;
  for (const char* compiler : {"gcc", "clang"}) {
    if (shell(str(compiler, " --version")).status != 0) continue;
    found = true;
    const Outcome outcome = shell(str("cd ", folder.path().string(), " && ", compiler,
                                      " -std=c11 -Wall -Wextra -Werror -c prelude.c -o prelude.o"));
    EXPECT_EQ(outcome.status, 0) << compiler << ": " << outcome.output;
  }
  if (!found) GTEST_SKIP() << "no compiler here";
}

}  // namespace
}  // namespace plait
