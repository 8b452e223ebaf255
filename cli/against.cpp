// Running the second graph and comparing what comes out.
#include "cli/against.h"

#include <algorithm>
#include <cmath>

#include "backends/backends.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/pairing.h"
#include "passes/differentiate.h"

namespace plait::cli {
namespace {

constexpr std::string_view kGradient = "d_";

bool has_gradients(const ir::Graph& graph) {
  return std::any_of(graph.fetches.begin(), graph.fetches.end(),
                     [](const ir::Fetch& f) { return f.name.starts_with(kGradient); });
}

/// A training graph without its update, with the gradients fetched instead.
ir::Graph with_gradients(ir::Graph graph) {
  graph.nexts.clear();
  return differentiate(graph);
}

Difference compared(std::string name, std::string partner, const Array& a, const Array& b) {
  Difference d{std::move(name), std::move(partner), str(a.dtype(), shape_text(a.sizes())), 0, 0};
  for (std::int64_t i = 0; i < a.count(); ++i) {
    const double x = a.real(i), y = b.real(i);
    const bool same = x == y || (std::isnan(x) && std::isnan(y));
    const double gap = same ? 0 : std::abs(x - y);
    d.largest = std::max(d.largest, std::isnan(gap) ? HUGE_VAL : gap);
    if (std::isfinite(y)) d.magnitude = std::max(d.magnitude, std::abs(y));
  }
  return d;
}

/// Names of the other graph's states by those of this one.
using Partners = std::map<std::string, std::string>;

std::string partner_name(const std::string& fetch, const Partners& partners) {
  if (!fetch.starts_with(kGradient)) return fetch;
  const auto it = partners.find(fetch.substr(kGradient.size()));
  return it == partners.end() ? fetch : str(kGradient, it->second);
}

void compare_fetches(const RunDone& done, const Arrays& others, const ir::Graph& other,
                     const Partners& partners, Comparison& out) {
  std::vector<std::string> left, free;
  for (const ir::Fetch& f : other.fetches) free.push_back(f.name);
  const auto take = [&](const std::string& mine, const std::string& theirs) {
    const Array& a = done.fetched.at(mine);
    const Array& b = others.at(theirs);
    if (a.sizes() != b.sizes()) return false;
    out.differences.push_back(compared(mine, theirs, a, b));
    std::erase(free, theirs);
    return true;
  };
  for (const auto& [name, array] : done.fetched) {
    const std::string theirs = partner_name(name, partners);
    if (!others.count(theirs) || !take(name, theirs)) left.push_back(name);
  }
  // What has another name: in order, where sizes agree.
  for (const std::string& name : left) {
    for (const std::string& theirs : free) {
      if (take(name, theirs)) break;
    }
  }
}

Arrays paired_inputs(const RunDone& done, const Pairing& pairing, Session& session) {
  Arrays feeds;
  for (const auto& [mine, theirs] : pairing.pairs) {
    const Array& value = (mine.is_state ? done.states_before : done.feeds).at(mine.name);
    const Array given = value.cast(theirs.type.dtype).reshaped(sizes_of(theirs.type.shape));
    if (theirs.is_state) {
      session.set_state(theirs.name, given);
    } else {
      feeds.emplace(theirs.name, given);
    }
  }
  return feeds;
}

void settle_the_rest(const Pairing& pairing, const ir::Graph& other, Session& session,
                     Arrays& feeds, std::uint64_t seed, Comparison& out) {
  std::vector<std::string> zeroed;
  for (const Input& input : pairing.only_second) {
    if (!input.is_state) {
      feeds.emplace(input.name, random_feed(other, other.find_value(input.name), seed));
      out.notes.push_back(str("feed ", input.name, " has no partner: random"));
    } else if (other.find_state(input.name)->state.role == ir::Role::kParam) {
      const Array& old = session.state(input.name);
      session.set_state(input.name, Array(old.dtype(), old.sizes()));
      zeroed.push_back(input.name);
    }
  }
  if (!zeroed.empty()) {
    out.notes.push_back(str("states without a partner are zero: ", join(zeroed, ", ")));
  }
  std::vector<std::string> alone;
  for (const Input& input : pairing.only_first) alone.push_back(input.name);
  if (!alone.empty()) out.notes.push_back(str("inputs without a partner: ", join(alone, ", ")));
}

}  // namespace

Comparison compare_runs(const RunDone& done, const ir::Package& package, std::int64_t steps,
                        std::uint64_t seed, const std::string& backend) {
  const ir::Graph other = has_gradients(done.graph) && !has_gradients(package.graphs.at(0))
                              ? with_gradients(package.graphs[0])
                              : package.graphs.at(0);
  Session session = make_session({{other}}, backend, seed);
  const Pairing pairing = pair_inputs(done.graph, other);
  Comparison out;
  Arrays feeds = paired_inputs(done, pairing, session);
  settle_the_rest(pairing, other, session, feeds, seed, out);
  Arrays fetched;
  for (std::int64_t step = 0; step < steps; ++step) fetched = session.run({other.name, feeds, {}});

  Partners partners;
  for (const auto& [mine, theirs] : pairing.pairs) {
    if (mine.is_state && theirs.is_state) partners[mine.name] = theirs.name;
  }
  compare_fetches(done, fetched, other, partners, out);
  for (const ir::NextState& next : done.graph.nexts) {
    const auto theirs = partners.find(next.state);
    const bool both = theirs != partners.end() &&
                      std::any_of(other.nexts.begin(), other.nexts.end(),
                                  [&](const auto& n) { return n.state == theirs->second; });
    if (!both) continue;
    out.differences.push_back(compared("next " + next.state, "next " + theirs->second,
                                       done.session.state(next.state),
                                       session.state(theirs->second)));
  }
  if (out.differences.empty()) {
    fail("nothing to compare: no fetch or next state of graph ", done.graph.name,
         " has a partner in graph ", other.name);
  }
  return out;
}

}  // namespace plait::cli
