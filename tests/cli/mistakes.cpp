// The folder in which mistakes are made.
#include "tests/cli/mistakes.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/array.h"
#include "io/bytes.h"
#include "io/file.h"
#include "io/npy.h"
#include "tests/cli/program.h"

namespace plait::test {

namespace fs = std::filesystem;

Mistakes::Mistakes() {
  fs::permissions(folder.path(), fs::perms::all);
  write("g", {"graph g(x: f32[2,2]) {\n  %y = relu(x) : f32[2,2]\n  return %y\n}\n"});
  std::string book;
  for (int i = 0; i < 300; ++i) book += "line " + std::to_string(i * 7919 % 1000) + ";\n";
  write("book", {book});
  io::write_npy(folder / "x.npy", Array(DType::f32, {2, 2}));
  check(::mkfifo((folder / "fifo").c_str(), 0666) == 0, "no FIFO in ", folder.path());
  fs::create_symlink("loop", folder / "loop");
}

void Mistakes::write(const std::string& name, std::initializer_list<std::string_view> parts) {
  io::make_folder(fs::path(folder / name).parent_path().string());
  io::write_file(folder / name, parts);
}

void Mistakes::train(const std::string& name, const std::string& words) {
  const Outcome o =
      shell("cd '" + folder.path() + "' && $PLAIT train " + words + " output.folder=" + name);
  ASSERT_EQ(o.code, 0) << o.err;
}

void Mistakes::copy(const std::string& from, const std::string& to) {
  fs::copy(folder / from, folder / to, fs::copy_options::recursive);
}

void Mistakes::expect(const std::vector<Mistake>& mistakes, User user,
                      const std::string& starter) const {
  // A hang ends with 124, which no mistake may.
  const std::string start =
      "cd '" + folder.path() + "' && exec timeout 30 " + starter + " \"$PLAIT\" ";
  for (const Mistake& m : mistakes) {
    const Outcome o = user == User::kNobody ? as_nobody(start + m.words) : shell(start + m.words);
    EXPECT_EQ(o.code, m.code) << "plait " << m.words << "\n" << o.err;
    EXPECT_NE(o.err.find(m.says), std::string::npos)
        << "plait " << m.words << "\nsays " << o.err << "not " << m.says;
    EXPECT_EQ(o.err.find("bug of Plait"), std::string::npos) << m.words << "\n" << o.err;
  }
}

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

std::string safetensors(const std::string& header) {
  return io::little_endian(header.size(), 8) + header;
}

}  // namespace plait::test
