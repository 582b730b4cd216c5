#include "store/annotations.h"

#include "store/store.h"
#include "tests/catch.h"
#include "tests/store/get.h"
#include "tests/store/stores.h"

namespace winnow {
namespace {

JobRow TuningRow(const char* metric, const char* parameter, const char* owner = "") {
  JobRow row;
  row.spec = std::string(R"({"objective": {"metric": ")") + metric +
             R"("}, "parameters": [{"name": "eta"}, {"name": ")" + parameter + R"("}]})";
  row.state = "running";
  row.owner = owner;
  row.create_us = 1;
  return row;
}

std::vector<std::string> Listed(Store& store, const JobFilter& filter, int64_t before = 1000,
                                int64_t limit = 100) {
  std::vector<std::string> ids;
  for (const JobRow& row : Get(store.jobs.List(before, limit, filter))) ids.push_back(row.id);
  return ids;
}

using Ids = std::vector<std::string>;

TEST_CASE("Annotations: the newest one of a job or trial counts, and an empty one is none",
          "[store][stores]") {
  OneStore one;
  auto& store = one.store;
  const int64_t job = store->jobs.Insert("a", TuningRow("auc", "depth"))->key;
  const AnnotationRow first = {{"fast", "v1.2"}, "try\nagain", "ana", 5}, second = {{}, "only a note", "", 6};
  REQUIRE(store->annotations.Put(job, 0, first).ok());
  REQUIRE(store->annotations.Put(job, 3, first).ok());
  REQUIRE(store->annotations.Put(job, 7, second).ok());
  CHECK(**store->annotations.Find(job, 0) == first);
  CHECK_FALSE(store->annotations.Find(job, 1)->has_value());
  CHECK(Get(store->annotations.OfTrials(job, 0, 3)) == std::map<TrialNumber, AnnotationRow>{{3, first}});
  REQUIRE(store->annotations.Put(job, 0, second).ok());
  CHECK(**store->annotations.Find(job, 0) == second);
  REQUIRE(store->annotations.Put(job, 0, {}).ok());
  CHECK_FALSE(store->annotations.Find(job, 0)->has_value());
  REQUIRE(store->jobs.Delete(job).ok());
  CHECK(*store->database().QueryInt("SELECT COUNT(*) FROM annotations") == 0);
  CHECK(*store->database().QueryInt("SELECT COUNT(*) FROM job_words") == 0);
}

TEST_CASE("Annotations: jobs are found by tags, states and text, page by page", "[store][stores]") {
  OneStore one;
  auto& store = one.store;
  const int64_t a = store->jobs.Insert("a", TuningRow("auc", "depth", "Ana"))->key;
  const int64_t b = store->jobs.Insert("b", TuningRow("loss", "depth"))->key;
  const int64_t c = store->jobs.Insert("c", TuningRow("auc", "Momentum"))->key;
  JobRow ended = **store->jobs.Find("b");
  ended.state = "failed";
  ended.end_us = 9;
  REQUIRE(store->jobs.Update(ended).ok());
  REQUIRE(store->annotations.Put(a, 0, {{"big", "bigger"}, "", "", 1}).ok());
  REQUIRE(store->annotations.Put(b, 0, {{"bigger"}, "Uses Adam Über all", "", 1}).ok());
  REQUIRE(store->annotations.Put(c, 4, {{"big"}, "of a trial", "", 1}).ok());
  CHECK(Listed(*store, {}) == Ids{"c", "b", "a"});
  CHECK(Listed(*store, {.tags = {"big"}, .states = {}, .search = ""}) ==
        Ids{"a"});  // neither "bigger" nor a trial's
  CHECK(Listed(*store, {.tags = {"bigger"}, .states = {}, .search = ""}) == Ids{"b", "a"});
  CHECK(Listed(*store, {.tags = {"big", "bigger"}, .states = {}, .search = ""}) == Ids{"a"});
  CHECK(Listed(*store, {.tags = {}, .states = {"failed", "stopped"}, .search = ""}) == Ids{"b"});
  CHECK(Listed(*store, {.tags = {}, .states = {"running"}, .search = ""}) == Ids{"c", "a"});
  CHECK(Listed(*store, {.tags = {}, .states = {}, .search = "momENTUM"}) == Ids{"c"});
  CHECK(Listed(*store, {.tags = {}, .states = {}, .search = "ana"}) == Ids{"a"});
  CHECK(Listed(*store, {.tags = {}, .states = {}, .search = "uses adam"}) == Ids{"b"});
  CHECK(Listed(*store, {.tags = {}, .states = {}, .search = "Adam Über"}) == Ids{"b"});
  CHECK(Listed(*store, {.tags = {}, .states = {}, .search = "bigg"}) == Ids{"b", "a"});
  CHECK(Listed(*store, {.tags = {}, .states = {}, .search = "auc"}) == Ids{"c", "a"});
  CHECK(Listed(*store, {.tags = {"bigger"}, .states = {"running"}, .search = "auc"}) == Ids{"a"});
  CHECK(Listed(*store, {.tags = {}, .states = {}, .search = "%"}).empty());
  CHECK(Listed(*store, {.tags = {}, .states = {"running"}, .search = ""}, c, 1) == Ids{"a"});
  CHECK(Listed(*store, {.tags = {}, .states = {"running"}, .search = ""}, 1000, 1) == Ids{"c"});
}

TEST_CASE("Annotations: trials are found by tags", "[store][stores]") {
  OneStore one;
  auto& store = one.store;
  const int64_t job = store->jobs.Insert("a", TuningRow("auc", "depth"))->key;
  for (TrialNumber number = 1; number <= 4; ++number) {
    TrialRow row;
    row.number = number;
    row.state = number < 3 ? "completed" : "failed";
    REQUIRE(store->trials.Put(job, row).ok());
  }
  REQUIRE(store->annotations.Put(job, 0, {{"x"}, "", "", 1}).ok());
  for (const TrialNumber number : {1, 2, 4})
    REQUIRE(store->annotations.Put(job, number, {{"x"}, "", "", 1}).ok());
  TrialQuery query;
  query.tags = {"x"};
  query.states = {"completed"};
  CHECK(*store->trials.Count(job, query) == 2);
  query.states = {};
  query.descending = true;
  query.limit = 1;
  CHECK(*store->trials.Count(job, query) == 3);
  CHECK(Get(store->trials.List(job, query)).front().number == 4);
}

}  // namespace
}  // namespace winnow
