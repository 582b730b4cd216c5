#include "store/tables/projects.h"

#include "store/store.h"
#include "store/tables/quotas.h"
#include "tests/catch.h"
#include "tests/store/get.h"
#include "tests/store/stores.h"

namespace winnow {
namespace {

TEST_CASE("Projects: members are of one project, and go with it", "[store][stores]") {
  OneStore one;
  ProjectTable table(one.store->database());
  REQUIRE(table.Insert({"vision", 5}).ok());
  REQUIRE(table.Insert({"speech", 6}).ok());
  REQUIRE(table.PutMember({"vision", "ana", false}).ok());
  REQUIRE(table.PutMember({"vision", "ana", true}).ok());
  REQUIRE(table.PutMember({"speech", "ana", false}).ok());
  REQUIRE(table.PutMember({"speech", "ben", false}).ok());
  CHECK(Get(table.List()) == std::vector<ProjectRow>{{"speech", 6}, {"vision", 5}});
  CHECK(Get(table.Members()) ==
        std::vector<MemberRow>{{"speech", "ana", false}, {"speech", "ben", false}, {"vision", "ana", true}});
  CHECK(*table.DeleteMember("speech", "ben"));
  CHECK_FALSE(*table.DeleteMember("speech", "ben"));
  CHECK(*table.Delete("vision"));
  CHECK_FALSE(*table.Delete("vision"));
  CHECK(Get(table.Members()) == std::vector<MemberRow>{{"speech", "ana", false}});
}

TEST_CASE("Projects: quotas and use are kept by project and person, and go with the project",
          "[store][stores]") {
  OneStore one;
  QuotaTable table(one.store->database());
  const QuotaRow whole{"vision", "", {8, 2.5, 500.25, 3}, 2, 4}, ana{"vision", "ana", {4, 0, 0, 1}, 1, 0},
      common{"", "", {100, 0, 0, 0}, 0.1, 0};
  for (const QuotaRow& row : {QuotaRow{"vision", ""}, whole, ana, common}) REQUIRE(table.Put(row).ok());
  CHECK(Get(table.List()) == std::vector<QuotaRow>{common, whole, ana});
  // To the last bit: what placement decides must be the same after a restart.
  const ProjectUseRow used{"vision", "", {1'700'000'000'000'001, 1.0 / 3, 1'698'796'800'000'000, 7}};
  REQUIRE(table.PutUse({"vision", "", {1, 2, 3, 4}}).ok());
  REQUIRE(table.PutUse(used).ok());
  CHECK(Get(table.Uses()) == std::vector<ProjectUseRow>{used});
  REQUIRE(table.Delete("vision").ok());
  CHECK(Get(table.List()) == std::vector<QuotaRow>{common});
  CHECK(Get(table.Uses()).empty());
}

TEST_CASE("Projects: jobs are named and found by their projects", "[store][stores]") {
  OneStore one;
  auto& store = one.store;
  ProjectTable table(store->database());
  const auto insert = [&](const char* name, const char* project) {
    JobRow row;
    row.spec = "{}";
    row.state = "running";
    row.create_us = 1;
    row.project = project;
    REQUIRE(store->jobs.Insert(name, row).ok());
  };
  // Names that one project has taken are free in others.
  insert("a", "");
  insert("a", "vision");
  insert("c", "speech");
  insert("a", "speech");
  insert("a", "");
  const auto listed = [&](const std::optional<std::vector<std::string>>& projects, int64_t limit = 10) {
    JobFilter filter;
    filter.projects = projects;
    std::string ids;
    for (const JobRow& row : Get(store->jobs.List(1000, limit, filter))) ids += row.id + " ";
    return ids;
  };
  using Of = std::vector<std::string>;
  CHECK(listed(std::nullopt) == "a-2 a@speech c@speech a@vision a ");
  CHECK(listed(Of{"", "vision"}) == "a-2 a@vision a ");
  CHECK(listed(Of{"speech"}, 1) == "a@speech ");
  CHECK(listed(Of{}).empty());
  CHECK((*store->jobs.Find("c@speech"))->project == "speech");
  CHECK(*table.CountJobs("speech") == 2);
}

TEST_CASE("Projects: a worker's token, and the worker, keep what they are bound to", "[store][stores]") {
  OneStore one;
  TokenRow token{"3f2a91c4", "gpu hosts", "worker", std::string(32, 'h'), 1, 0, 0};
  token.worker_projects = {"", "vision"};
  token.worker_names = "gpu-*";
  TokenRow other{"3f2a91c5", "ana", "submitter", std::string(32, 'h'), 2, 0, 0};
  REQUIRE(one.store->tokens.Insert(token).ok());
  REQUIRE(one.store->tokens.Insert(other).ok());
  CHECK(Get(one.store->tokens.List()) == std::vector<TokenRow>{token, other});
  WorkerRow worker{"w", "w", "h", 4, "s", "v", 0, WorkerState::kLive, 1, 1};
  worker.projects = {"", "vision"};
  worker.token = token.id;
  REQUIRE(one.store->workers.Put(worker).ok());
  CHECK(Get(one.store->workers.List(true)).front() == worker);
  worker.token = other.id;
  REQUIRE(one.store->workers.Put(worker).ok());
  CHECK(Get(one.store->workers.List(true)).front() == worker);
}

}  // namespace
}  // namespace winnow
