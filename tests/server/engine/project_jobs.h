#pragma once

#include <string>

#include "tests/catch.h"
#include "tests/server/engine/play.h"

namespace winnow {

// Creates a job of an owner in a project, which need not be declared here.
inline absl::StatusOr<std::string> TryCreateIn(Play& play, const std::string& project,
                                               const std::string& owner, const v1::TuningJobSpec& spec) {
  absl::StatusOr<std::string> id;
  const absl::Status done =
      play.Inside([&](Engine& engine) { id = engine.CreateJob(spec, "", {}, owner, nullptr, project); });
  REQUIRE(done.ok());
  return id;
}

inline std::string CreateIn(Play& play, const std::string& project, const std::string& owner,
                            const v1::TuningJobSpec& spec) {
  const absl::StatusOr<std::string> id = TryCreateIn(play, project, owner, spec);
  INFO(id.status().ToString());
  REQUIRE(id.ok());
  return *id;
}

inline void SetQuota(Play& play, const QuotaRow& row) {
  const absl::Status done = play.Inside([&](Engine& engine) {
    REQUIRE(engine.projects().Put(row).ok());
    REQUIRE(engine.ReloadProjects().ok());
  });
  REQUIRE(done.ok());
}

}  // namespace winnow
