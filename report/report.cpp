// Which page belongs to which record.
#include "report/report.h"

#include "report/aicf.h"
#include "report/aitemplate.h"
#include "report/chainer.h"
#include "report/graph.h"
#include "report/megengine.h"
#include "report/oneflow.h"

namespace plait::report {
namespace {

struct Pages {
  const io::Import& import;
  Page operator()(const std::monostate&) const { return of_graph(import.package.graphs.at(0)); }
  Page operator()(const io::aicf::Record& r) const { return of_aicf(r, import); }
  Page operator()(const io::megengine::Record& r) const { return of_megengine(r, import); }
  Page operator()(const io::chainer::Record& r) const { return of_chainer(r, import); }
  Page operator()(const io::oneflow::Record& r) const { return of_oneflow(r, import); }
  Page operator()(const io::aitemplate::Record& r) const { return of_aitemplate(r, import); }
};

}  // namespace

Page of_document(const io::Document& document) {
  return std::visit(Pages{document.import}, document.record);
}

}  // namespace plait::report
