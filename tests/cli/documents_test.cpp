// Documents as a user handles them: check, report, convert, run against a model. The samples are in
// the repository; whole documents are used where ../shared/documents is there.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "io/document.h"
#include "io/file.h"
#include "tests/cli/program.h"
#include "tests/temporary.h"

namespace plait::test {
namespace {

const std::string kDocuments = "../shared/documents/";

std::vector<std::string> samples_of(std::string_view format) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(str("tests/samples/", format))) {
    files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class Documents : public ::testing::TestWithParam<std::string> {
 protected:
  const TemporaryFolder folder;
};

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const io::Format& f : io::formats()) names.emplace_back(f.name);
  return names;
}

TEST_P(Documents, SamplesAreCheckedAndReported) {
  const std::vector<std::string> files = samples_of(GetParam());
  EXPECT_GE(files.size(), 3u);
  for (const std::string& file : files) {
    const Outcome check = plait("check " + file);
    EXPECT_EQ(check.code, 0) << file << ": " << check.err;
    const Outcome page = plait("report " + file);
    EXPECT_EQ(page.code, 0) << file << ": " << page.err;
    const Outcome data = plait("report --json " + file);
    const auto json = nlohmann::json::parse(data.out, nullptr, false);
    ASSERT_FALSE(json.is_discarded()) << file;
    EXPECT_EQ(json["format"], GetParam());
    EXPECT_FALSE(json["sections"].empty()) << file;
  }
}

TEST_P(Documents, WrittenInTheirOwnFormatTheyStayTheSame) {
  const std::string once = folder / "once", twice = folder / "twice";
  for (const std::string& file : samples_of(GetParam())) {
    const Outcome o =
        shell(str("$PLAIT convert ", file, " ", once, " --to ", GetParam(), " && $PLAIT convert ",
                  once, " ", twice, " --to ", GetParam(), " && cmp ", once, " ", twice));
    EXPECT_EQ(o.code, 0) << file << ": " << o.err << o.out;
  }
}

TEST_P(Documents, GraphsOfOursCanBeReadBack) {
  const std::string file = folder / "ours";
  const bool trains = GetParam() != "aitemplate";
  const std::string spec = str("'model:mlp?dtype=f32&batch=4&width=5&train=", trains, "'");
  const Outcome o = shell(str("$PLAIT convert ", spec, " ", file, " --to ", GetParam(),
                              " && $PLAIT check ", file, " && $PLAIT report ", file));
  EXPECT_EQ(o.code, 0) << o.err << o.out;
}

TEST_P(Documents, CutShortTheyGiveOneClearError) {
  for (const std::string& file : samples_of(GetParam())) {
    const std::string text = io::read_file(file), cut = folder / "cut";
    io::write_file(cut, {std::string_view(text).substr(0, text.size() * 2 / 3)});
    const Outcome o = plait("check " + cut);
    // A log that is cut behind its ops still holds a graph.
    EXPECT_TRUE(o.code == 1 || (o.code == 0 && GetParam() == "oneflow")) << file << o.err;
    if (o.code == 1) {
      EXPECT_TRUE(o.err.starts_with("plait: " + cut + ":")) << o.err;
      EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Documents, testing::ValuesIn(format_names()),
                         [](const auto& info) { return info.param; });

struct Case {
  const char* name;
  const char* file;
  const char* options;  // reduced sizes, where the whole takes too long
  const char* model;
  double within;  // of the largest value: f32 over long sums, or f16 rounded in other places
};

const Case kCases[] = {
    {"aicf", "aicf_mlp_step.txt", "--steps 3", "model:mlp?train=1", 2e-3},
    {"megengine", "megengine_resnet50_profile.json", "--set batch=1,image=64",
     "model:resnet50?batch=1&image=64", 1e-4},
    {"chainer", "chainer_vgg19_step.txt", "--set batch=1,image=32",
     "model:vgg19?batch=1&image=32&train=1", 1e-4},
    {"oneflow", "oneflow_rwkv4_train.log", "--set batch=2,time=8,width=32,vocab=50,copy=8",
     "model:rwkv4?batch=2&context=8&width=32&vocab=50&copy=8&mask=0&init=xavier&train=1", 1e-4},
    {"aitemplate", "aitemplate_conv_add.txt", "", "model:conv_add", 2e-3},
};

class WholeDocuments : public ::testing::TestWithParam<Case> {};

TEST_P(WholeDocuments, RunLikeTheModelTheyDescribe) {
  const Case& c = GetParam();
  if (!std::filesystem::exists(kDocuments + c.file)) {
    GTEST_SKIP() << kDocuments << c.file << " is not here";
  }
  const Outcome o = plait(str("run ", kDocuments, c.file, " ", c.options, " --against '", c.model,
                              "' --within ", c.within));
  EXPECT_EQ(o.code, 0) << o.err << o.out;
  EXPECT_NE(o.out.find("largest relative difference"), std::string::npos) << o.out;
}

INSTANTIATE_TEST_SUITE_P(All, WholeDocuments, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace plait::test
