// Finding the format of a document.
#include "io/document.h"

#include <gtest/gtest.h>

#include "tests/raises.h"

namespace plait::io {
namespace {

TEST(Document, TheTextFormIsOneOfThem) {
  const Document document = read_document("# a note\ngraph g(x: f32[2]) { return x = x }", "g");
  EXPECT_EQ(document.format, "plait");
  EXPECT_EQ(document.import.package.graphs.size(), 1u);
}

TEST(Document, NoiseIsRefusedWithWhatIsKnown) {
  const std::string message = test::message_of([] { read_document("\x01\x02 noise", "n.bin"); });
  EXPECT_NE(message.find("n.bin: not a document that Plait knows; it starts with \".. noise\""),
            std::string::npos)
      << message;
  for (const Format& f : formats()) EXPECT_NE(message.find(f.name), std::string::npos);
}

}  // namespace
}  // namespace plait::io
