#include "cli/workers.h"

#include <fmt/core.h>

#include "cli/format.h"
#include "cli/json.h"
#include "cli/table.h"

namespace winnow::cli {

Exit ListWorkers(Session& session, bool all) {
  const auto list = session.client().Workers(all);
  if (!list.ok()) return list.status();
  if (session.output == Output::kJson) {
    session.out.Print(ToJson(*list));
    return kSuccess;
  }
  if (list->workers().empty()) {
    session.out.Print("There are no workers, so nothing can train. Start one with: winnow-worker --server " +
                      session.server + "\n");
    return kSuccess;
  }
  using Align = Table::Align;
  Table table(
      {{"WORKER"}, {"HOST"}, {"STATE"}, {"SLOTS IN USE", Align::kRight}, {"LAST HEARD"}, {"VERSION"}});
  int64_t used = 0;
  int64_t slots = 0;
  for (const auto& worker : list->workers()) {
    const bool live = worker.state() == v1::Worker::LIVE || worker.state() == v1::Worker::LEAVING;
    if (live) {
      used += worker.used_slots();
      slots += worker.slots();
    }
    const Style style = worker.state() == v1::Worker::LIVE   ? Style::kGood
                        : worker.state() == v1::Worker::LOST ? Style::kBad
                                                             : Style::kDim;
    const bool known =
        v1::Worker::State_IsValid(worker.state()) && worker.state() != v1::Worker::STATE_UNSPECIFIED;
    table.Add({{worker.name(), Style::kBold},
               {worker.host()},
               {known ? v1::Worker::State_Name(worker.state()) : "UNKNOWN", style},
               {fmt::format("{}/{}", worker.used_slots(), worker.slots())},
               {TimeText(worker.last_sync_time())},
               {worker.version()}});
  }
  session.out.Print(table.Text(session.out) +
                    fmt::format("{} of {} in use\n", Thousands(used), Count(slots, "slot")));
  return kSuccess;
}

}  // namespace winnow::cli
