#include "cli/workers.h"

#include <fmt/core.h>

#include <cmath>
#include <map>
#include <string>

#include "cli/format.h"
#include "cli/json.h"
#include "cli/table.h"
#include "cli/text.h"

namespace winnow::cli {

namespace {

// "3.5/8 GiB"; empty where the worker has not said how much there is.
std::string InUse(double used, double total, const char* unit = "") {
  if (total <= 0) return "";
  return fmt::format("{}/{}{}", NumberText(std::round(used * 10) / 10),
                     NumberText(std::round(total * 10) / 10), unit);
}

// "53 %"; empty where the worker has not said.
std::string ShareText(bool known, double share) { return known ? fmt::format("{:.0f} %", share * 100) : ""; }

std::string LabelsText(const v1::Worker& worker) {
  const std::map<std::string, std::string> sorted(worker.labels().begin(), worker.labels().end());
  std::string text;
  for (const auto& [name, value] : sorted) {
    text += (text.empty() ? "" : " ") + name + (value.empty() ? "" : "=" + value);
  }
  return text;
}

// The worker's state, and whether it is given trials if it is not.
Table::Cell StateCell(const v1::Worker& worker) {
  const bool known =
      v1::Worker::State_IsValid(worker.state()) && worker.state() != v1::Worker::STATE_UNSPECIFIED;
  std::string text = known ? v1::Worker::State_Name(worker.state()) : "UNKNOWN";
  const bool open =
      worker.scheduling() == v1::Worker::OPEN || !v1::Worker::Scheduling_IsValid(worker.scheduling());
  if (!open) text += ", " + v1::Worker::Scheduling_Name(worker.scheduling());
  if (worker.state() == v1::Worker::LOST) return {text, Style::kBad};
  if (worker.state() != v1::Worker::LIVE) return {text, Style::kDim};
  return {text, open ? Style::kGood : Style::kBad};
}

}  // namespace

Exit ListWorkers(Session& session, bool all) {
  const auto list = session.client().Workers(all);
  if (!list.ok()) return list.status();
  if (session.output == Output::kJson) {
    session.out.Print(ToJson(*list));
    return kSuccess;
  }
  if (list->workers().empty()) {
    session.out.Print("There are no workers, so nothing can train. Start one with: winnow-worker --server " +
                      session.endpoint.address + "\n");
    return kSuccess;
  }
  using Align = Table::Align;
  Table table({{"WORKER"},
               {"HOST"},
               {"STATE"},
               {"SLOTS IN USE", Align::kRight},
               {"CPUS", Align::kRight},
               {"MEMORY", Align::kRight},
               {"HOST CPU", Align::kRight},
               {"HOST MEMORY", Align::kRight},
               {"LIMITS BY"},
               {"LABELS"},
               {"LAST HEARD"},
               {"VERSION"}});
  std::string reasons;
  int64_t used = 0;
  int64_t slots = 0;
  for (const auto& worker : list->workers()) {
    const bool live = worker.state() == v1::Worker::LIVE || worker.state() == v1::Worker::LEAVING;
    if (live) {
      used += worker.used_slots();
      slots += worker.slots();
    }
    table.Add({{worker.name(), Style::kBold},
               {worker.host()},
               StateCell(worker),
               {fmt::format("{}/{}", worker.used_slots(), worker.slots())},
               {InUse(worker.used_cpus(), worker.cpus())},
               {InUse(worker.used_memory_gib(), worker.memory_gib(), " GiB")},
               {ShareText(worker.has_host_cpu(), worker.host_cpu())},
               {ShareText(worker.has_host_memory(), worker.host_memory())},
               {worker.limits()},
               {LabelsText(worker)},
               {TimeText(worker.last_sync_time())},
               {worker.version()}});
    if (!worker.scheduling_reason().empty()) {
      reasons += fmt::format("{} is given nothing new: {}\n", Clean(worker.name()),
                             Clean(worker.scheduling_reason()));
    }
  }
  session.out.Print(table.Text(session.out) +
                    fmt::format("{} of {} in use\n", Thousands(used), Count(slots, "slot")) + reasons);
  return kSuccess;
}

}  // namespace winnow::cli
