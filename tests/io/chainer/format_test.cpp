// The format: reading, graphs, writing, the page.
#include <gtest/gtest.h>

#include "io/chainer/format.h"
#include "io/file.h"
#include "ir/text.h"
#include <iostream>

TEST(Chainer, Doc) {
  using namespace plait;
  const std::string text = io::read_file("../shared/documents/chainer_vgg19_step.txt");
  const io::chainer::Record r = io::chainer::read(text, "doc");
  EXPECT_EQ(io::chainer::write(r), text);
  const io::Import i = io::chainer::to_graphs(r);
  for (auto& n : i.notes) std::cout << "note " << n << "\n";
  for (auto& [k, v] : i.sizes) std::cout << k << "=" << v << "\n";
  std::cout << ir::print(i.package.graphs[0]) << "\n";
}
#include "report/chainer.h"
TEST(Chainer, Page) {
  using namespace plait;
  const std::string text = io::read_file("../shared/documents/chainer_vgg19_step.txt");
  const io::chainer::Record r = io::chainer::read(text, "doc");
  std::cout << report::of_chainer(r, io::chainer::to_graphs(r)).text();
}
#include <cstdlib>
TEST(Chainer, One) {
  using namespace plait;
  const std::string text = io::read_file(std::getenv("DOC"));
  const io::chainer::Record r = io::chainer::read(text, "doc");
  EXPECT_EQ(io::chainer::write(r), text);
  const io::Import i = io::chainer::to_graphs(r);
  for (auto& n : i.notes) std::cout << "note " << n << "\n";
  for (auto& [k, v] : i.sizes) std::cout << k << "=" << v << "\n";
  std::cout << ir::print(i.package.graphs[0]) << "\n";
}
#include "models/registry.h"
TEST(Chainer, From) {
  using namespace plait;
  for (std::string spec : {"mlp?train=1", "vgg19?train=1&batch=2&image=32&width=4&hidden=16&classes=10","resnet50?train=1&batch=2", "rwkv4?layers=2&width=16&vocab=32&context=8&copy=0&batch=2&train=1","gpt2?train=1&batch=2", "unet?train=1&batch=2"}) {
    std::cout << spec << std::endl;
    try {
    const ir::Package p = models::build(spec);
    const io::chainer::Record r = io::chainer::from_graph(p.graphs[0]);
    const std::string text = io::chainer::write(r);
    const io::chainer::Record back = io::chainer::read(text, "");
    EXPECT_TRUE(back == r);
    std::map<std::string,int> f; for (auto& o : r.operations) if (!o.backward) ++f[o.function];
    for (auto& [k,v] : f) std::cout << k << ":" << v << " "; std::cout << "\n";
    const io::Import i = io::chainer::to_graphs(back);
    int n = 0;
    for (auto& s : i.notes) if (n++ < 8) std::cout << "note " << s << "\n";
  for (auto& [k, v] : i.sizes) std::cout << k << "=" << v << "\n";
    } catch (const UserError& e) { std::cout << "ERR " << e.what() << "\n"; }
  }
}
