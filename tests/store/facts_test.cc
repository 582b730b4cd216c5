#include "store/facts.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "store/store.h"
#include "tests/catch.h"
#include "tests/store/example_facts.h"
#include "tests/store/stores.h"

namespace winnow {
namespace {

struct Fixture {
  Fixture() {
    JobRow row;
    row.state = "running";
    job = store->jobs.Insert("j", row)->key;
  }
  void Report(TrialNumber trial, int64_t attempt, int64_t resource, const std::string& metric, double value,
              int64_t sequence) {
    REQUIRE(*store->facts.AppendReport(job, {trial, attempt, resource, metric, value, 7, sequence}));
  }
  OneStore one;
  std::unique_ptr<Store>& store = one.store;
  int64_t job = 0;
};

TEST_CASE("Facts: events and reports come back merged by sequence", "[store][stores]") {
  Fixture f;
  f.Report(3, 1, 9, "auc", 0.75, 1);
  f.Report(3, 1, 9, "loss", 0.5, 0);
  for (const Fact& fact : OneOfEachKind()) {
    if (fact.sequence > 1) REQUIRE(f.store->facts.AppendEvent(f.job, fact).ok());
  }
  auto facts = f.store->facts.Load(f.job);
  REQUIRE(facts.ok());
  REQUIRE(facts->size() == std::variant_size_v<FactBody>);
  for (size_t i = 0; i < facts->size(); ++i) {
    CHECK((*facts)[i].sequence == static_cast<int64_t>(i) + 1);
    CHECK((*facts)[i].body.index() == i);  // the order of the variant
  }
  CHECK(std::get<Reported>((*facts)[0].body).objective == 0.75);

  auto later = f.store->facts.Load(f.job, 4, 3);
  REQUIRE(later->size() == 3);
  CHECK(later->front().sequence == 5);
  CHECK(f.store->facts.LoadTrial(f.job, 3)->size() == 11);
}

TEST_CASE("Facts: a report of a further metric that ranks trials keeps its index", "[store][stores]") {
  Fixture f;
  ReportRow row{3, 1, 9, "size", 12, 5, 1};
  row.ranking = 2;
  REQUIRE(*f.store->facts.AppendReport(f.job, row));
  const Reported expected{3, 1, 9, 12, 2};
  CHECK(Identical((*f.store->facts.Load(f.job))[0].body, expected));
  CHECK(Identical((*f.store->facts.LoadTrial(f.job, 3))[0].body, expected));
  REQUIRE(f.store->facts
              .ForEach(f.job,
                       [&](const Fact& fact) {
                         CHECK(Identical(fact.body, expected));
                         return absl::OkStatus();
                       })
              .ok());
  CHECK((*f.store->facts.FindReport(f.job, 3, 1, 9, "size"))->ranking == 2);
}

TEST_CASE("Facts: read as the tables lie they come in the same order and are the same", "[store][stores]") {
  Fixture f;
  for (const Fact& fact : OneOfEachKind()) {
    if (fact.sequence > 1) REQUIRE(f.store->facts.AppendEvent(f.job, fact).ok());
  }
  // Trials that report in turn, before and after the others.
  const auto kinds = static_cast<int64_t>(OneOfEachKind().size());
  const std::vector<int64_t> sequences = {1, kinds + 1, kinds + 3, kinds + 2, kinds + 5, kinds + 4};
  for (size_t i = 0; i < sequences.size(); ++i) {
    f.Report(static_cast<TrialNumber>(i % 2), 1, static_cast<int64_t>(i), "auc", i == 2 ? NAN : 0.5,
             sequences[i]);
    f.Report(static_cast<TrialNumber>(i % 2), 1, static_cast<int64_t>(i), "loss", 0.25, 0);
  }
  const std::vector<Fact> expected = *f.store->facts.Load(f.job);
  std::vector<Fact> seen;
  REQUIRE(f.store->facts
              .ForEach(f.job,
                       [&](const Fact& fact) {
                         seen.push_back(fact);
                         return absl::OkStatus();
                       })
              .ok());
  REQUIRE(seen.size() == OneOfEachKind().size() - 1 + sequences.size());
  for (size_t i = 0; i < seen.size(); ++i) {
    CHECK(seen[i].sequence == expected[i].sequence);
    CHECK(seen[i].time_us == expected[i].time_us);
    CHECK(Identical(seen[i].body, expected[i].body));
  }
  int64_t calls = 0;
  const absl::Status stopped = f.store->facts.ForEach(
      f.job, [&](const Fact&) { return ++calls == 3 ? absl::AbortedError("enough") : absl::OkStatus(); });
  CHECK(stopped.code() == absl::StatusCode::kAborted);
  CHECK(calls == 3);
}

TEST_CASE("Facts: a report that is known is not counted again", "[store][stores]") {
  Fixture f;
  f.Report(1, 1, 5, "auc", 0.5, 1);
  auto again = f.store->facts.AppendReport(f.job, {1, 1, 5, "auc", 0.9, 8, 2});
  REQUIRE(again.ok());
  CHECK_FALSE(*again);
  auto facts = f.store->facts.Load(f.job);
  REQUIRE(facts->size() == 1);
  CHECK(std::get<Reported>(facts->front().body).objective == 0.5);
}

TEST_CASE("Facts: values that are not numbers survive", "[store][stores]") {
  Fixture f;
  f.Report(1, 1, 1, "auc", std::nan(""), 1);
  f.Report(1, 1, 2, "auc", INFINITY, 2);
  auto rows = f.store->facts.Query(f.job, {}, {}, {}, 10);
  REQUIRE(rows->size() == 2);
  CHECK(std::isnan((*rows)[0].value));
  CHECK(std::isinf((*rows)[1].value));
}

TEST_CASE("Facts: learning curves are ordered, filtered, paged, and single-valued", "[store][stores]") {
  Fixture f;
  int64_t sequence = 0;
  for (int64_t resource : {1, 2, 3}) {
    for (TrialNumber trial : {2, 1}) {
      f.Report(trial, 1, resource, "loss", 1, 0);
      f.Report(trial, 1, resource, "auc", 0.1 * static_cast<double>(resource), ++sequence);
    }
  }
  f.Report(1, 2, 3, "auc", 0.9, ++sequence);  // level 3 again, by another attempt
  f.Report(1, 2, 4, "auc", 0.4, ++sequence);

  auto all = f.store->facts.Query(f.job, {}, {}, {}, 100);
  REQUIRE(all->size() == 13);
  CHECK((*all)[0].metric == "auc");
  CHECK((*all)[2].value == Approx(0.3));
  CHECK((*all)[2].attempt == 1);
  CHECK((*all)[3].resource == 4);
  CHECK((*all)[4].metric == "loss");
  CHECK((*all)[7].trial == 2);
  CHECK(f.store->facts.Query(f.job, {2}, {"auc"}, {}, 100)->size() == 3);
  CHECK(f.store->facts.Query(f.job, {}, {"nothing"}, {}, 100)->empty());

  using Trials = std::vector<TrialNumber>;
  for (const Trials& trials : {Trials{}, Trials{2, 1}, Trials{2}}) {
    for (const std::vector<std::string>& metrics : {std::vector<std::string>{}, {"auc"}}) {
      const auto place = [](const ReportRow& row) { return std::tuple(row.trial, row.metric, row.resource); };
      const auto whole = *f.store->facts.Query(f.job, trials, metrics, {}, 100);
      for (int64_t size = 1; size < 8; ++size) {
        INFO(trials.size() << " trials, " << metrics.size() << " metrics, pages of " << size);
        std::vector<ReportRow> paged, page;
        do {
          ReportCursor cursor;
          if (!paged.empty()) cursor = {paged.back().trial, paged.back().metric, paged.back().resource};
          page = *f.store->facts.Query(f.job, trials, metrics, cursor, size);
          paged.insert(paged.end(), page.begin(), page.end());
        } while (static_cast<int64_t>(page.size()) == size);
        CHECK(std::equal(paged.begin(), paged.end(), whole.begin(), whole.end(),
                         [&](const auto& a, const auto& b) { return place(a) == place(b); }));
      }
    }
  }
}

}  // namespace
}  // namespace winnow
