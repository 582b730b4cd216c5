#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "cli/commands/actions.h"
#include "cli/output/format.h"
#include "cli/output/table.h"
#include "cli/output/text.h"

namespace winnow::cli {

namespace {

constexpr int kGpusColumn = 6;     // if a worker has GPUs
constexpr int kWaitingColumn = 4;  // if programs wait, or parents are there

// Returns "3.5/8 GiB"; empty if the worker has not reported its total.
std::string InUse(double used, double total, const char* unit = "") {
  if (total <= 0) return "";
  return fmt::format("{}/{}{}", NumberText(std::round(used * 10) / 10),
                     NumberText(std::round(total * 10) / 10), unit);
}

// Returns "53 %"; empty if the worker has not reported it.
std::string ShareText(bool known, double share) { return known ? fmt::format("{:.0f} %", share * 100) : ""; }

// Returns "1.5/4", or "1.5/4 at 35 %" if their utilization is known; empty if the worker has no GPUs.
std::string GpusText(const v1::Worker& worker) {
  double used = 0, utilization = 0;
  int known = 0;
  for (const v1::Gpu& gpu : worker.gpus()) {
    used += gpu.used();
    utilization += gpu.utilization();
    known += gpu.has_utilization() ? 1 : 0;
  }
  const std::string text = InUse(used, worker.gpus_size());
  return known == 0 ? text : fmt::format("{} at {}", text, ShareText(true, utilization / known));
}

// Returns "3 (1 suspended), 1 parent"; empty if no program waits.
std::string WaitingText(const v1::Worker& worker) {
  std::string text;
  if (worker.waiting_trainers() > 0) text = std::to_string(worker.waiting_trainers());
  if (worker.suspended_trainers() > 0) text += fmt::format(" ({} suspended)", worker.suspended_trainers());
  if (worker.parents() > 0) text += (text.empty() ? "" : ", ") + Count(worker.parents(), "parent");
  return text;
}

std::string LabelsText(const v1::Worker& worker) {
  const std::map<std::string, std::string> sorted(worker.labels().begin(), worker.labels().end());
  std::string text;
  for (const auto& [name, value] : sorted) {
    text += (text.empty() ? "" : " ") + name + (value.empty() ? "" : "=" + value);
  }
  return text;
}

std::string SchedulingText(v1::Worker::Scheduling scheduling) {
  switch (scheduling) {
    case v1::Worker::CORDONED:
      return "cordoned";
    case v1::Worker::DRAINING:
      return "draining";
    case v1::Worker::QUARANTINED:
      return "quarantined";
    default:
      return "assigned nothing new";
  }
}

// Returns the worker's state and, if it gets no trials, that fact.
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
  if (PrintsJson(session, *list, list->workers())) return kSuccess;
  if (list->workers().empty()) {
    if (const auto caller = session.client().Caller(); caller.ok() && caller->read_only()) {
      session.out.Print("This server shows a file, and has no workers.\n");
      return kSuccess;
    }
    session.out.Print(
        "No worker is connected, so nothing can train. A server's own take a moment to start; start others "
        "with: winnow-worker --server " +
        session.endpoint.address + "\n");
    return kSuccess;
  }
  using Align = Table::Align;
  const bool gpus = std::any_of(list->workers().begin(), list->workers().end(),
                                [](const v1::Worker& worker) { return !worker.gpus().empty(); });
  std::vector<Table::Column> columns = {{"WORKER"},
                                        {"HOST", Align::kLeft, 2},
                                        {"STATE"},
                                        {"SLOTS IN USE", Align::kRight},
                                        {"CPUS", Align::kRight, 3},
                                        {"MEMORY", Align::kRight, 4},
                                        {"HOST CPU", Align::kRight, 5},
                                        {"HOST MEMORY", Align::kRight, 6},
                                        {"LIMITS BY", Align::kLeft, 9},
                                        {"LABELS", Align::kLeft, 1},
                                        {"LAST HEARD", Align::kLeft, 7},
                                        {"VERSION", Align::kLeft, 8}};
  const bool waiting = std::any_of(list->workers().begin(), list->workers().end(),
                                   [](const v1::Worker& worker) { return !WaitingText(worker).empty(); });
  if (gpus) columns.insert(columns.begin() + kGpusColumn, {"GPUS", Align::kRight, 4});
  if (waiting) columns.insert(columns.begin() + kWaitingColumn, {"WAITING", Align::kLeft, 3});
  Table table(std::move(columns));
  std::string reasons;
  int64_t used = 0;
  int64_t slots = 0;
  for (const auto& worker : list->workers()) {
    const bool live = worker.state() == v1::Worker::LIVE || worker.state() == v1::Worker::LEAVING;
    if (live) {
      used += worker.used_slots();
      slots += worker.slots();
    }
    std::vector<Table::Cell> row = {{worker.name(), Style::kBold},
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
                                    {worker.version()}};
    if (gpus) row.insert(row.begin() + kGpusColumn, GpusText(worker));
    if (waiting) row.insert(row.begin() + kWaitingColumn, WaitingText(worker));
    table.Add(std::move(row));
    for (const v1::Gpu& gpu : worker.gpus()) {
      if (gpu.fault().empty()) continue;
      reasons += fmt::format("GPU {} of {} gets no trials: {}\n", Clean(gpu.id()), Clean(worker.name()),
                             Clean(gpu.fault()));
    }
    if (!worker.scheduling_reason().empty()) {
      reasons += fmt::format("{} is {}: {}\n", Clean(worker.name()), SchedulingText(worker.scheduling()),
                             Clean(worker.scheduling_reason()));
    }
  }
  session.out.Print(table.Text(session.out, 0, session.Hint("workers --output jsonl")) +
                    fmt::format("{} of {} in use\n", Thousands(used), Count(slots, "slot")) + reasons);
  return kSuccess;
}

}  // namespace winnow::cli
