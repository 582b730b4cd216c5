#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "checkout.h"
#include "tests/catch.h"
#include "tests/support/temp_folder.h"
#include "worker/host/limits.h"
#include "worker/runs/trainer_run.h"

namespace winnow {

// The results of one assignment, started as a worker's trainer in a folder and run to its end.
struct TrainerPlay {
  absl::Status start;
  v1::Outcome outcome;
  std::string out;
  std::vector<v1::Report> reports;
  std::map<v1::JobNotice::Kind, std::string> notices;
  bool ended = false;
};

inline TrainerPlay RunTrainer(EventLoop* loop, const TempFolder& folder, const v1::Assignment& assignment,
                              Limiter* limiter, const std::filesystem::path& secrets = {},
                              const std::filesystem::path& shared = {}) {
  TrainerPlay play;
  TrainerPlace place{folder / "work",        shared.empty() ? folder / "shared" : shared,
                     WINNOW_BIN_DIR,         "127.0.0.1",
                     {"PATH=/usr/bin:/bin"}, limiter};
  place.worker = "w1";
  place.secrets = secrets;
  auto run =
      TrainerRun::Start(loop, place, assignment, {0, 29500},
                        {[&play](v1::Report report) { play.reports.push_back(std::move(report)); },
                         [&play](v1::GetLogsRequest::Stream stream, int64_t, std::string_view data, bool) {
                           if (stream == v1::GetLogsRequest::STDOUT) play.out += data;
                         },
                         [&play, loop](v1::Outcome outcome) {
                           play.outcome = std::move(outcome);
                           play.ended = true;
                           loop->Quit();
                         },
                         [&play](v1::JobNotice::Kind kind, std::string text) {
                           CHECK(play.notices.emplace(kind, std::move(text)).second);
                         }});
  play.start = run.status();
  if (!run.ok()) return play;
  const EventLoop::Id late = loop->After(std::chrono::seconds(60), [loop] { loop->Quit(); });
  loop->Run();
  loop->Cancel(late);
  CHECK(play.ended);
  return play;
}

}  // namespace winnow
