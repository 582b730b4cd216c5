#include "cli/commands/actions.h"

#include <fmt/core.h>
#include <poll.h>

#include <string_view>

#include "cli/output/json.h"
#include "cli/output/text.h"
#include "cli/session/interrupt.h"

namespace winnow::cli {
namespace {

constexpr int kLookAgainMs = 200;

absl::StatusOr<v1::Worker> Set(Session& session, const WorkerSchedulingOptions& options,
                               v1::Worker::Scheduling scheduling) {
  v1::SetWorkerSchedulingRequest request;
  request.set_name(options.worker);
  request.set_scheduling(scheduling);
  request.set_reason(options.reason);
  return session.client().SetWorkerScheduling(request);
}

Exit Show(Session& session, const v1::Worker& worker, std::string_view what) {
  session.out.Print(session.output == Output::kJson ? ToJson(worker)
                                                    : fmt::format("{} {}.\n", Clean(worker.name()), what));
  return kSuccess;
}

// True: the worker holds nothing any more. False: the user interrupted.
absl::StatusOr<bool> AwaitEmpty(Session& session, v1::Worker* worker) {
  const Interrupt interrupt;
  while (worker->used_slots() > 0) {
    pollfd fd{interrupt.fd(), POLLIN, 0};
    poll(&fd, 1, kLookAgainMs);
    if (interrupt.raised()) return false;
    const auto list = session.client().Workers(true);
    if (!list.ok()) return list.status();
    for (const v1::Worker& now : list->workers()) {
      if (now.id() == worker->id()) *worker = now;
    }
  }
  return true;
}

}  // namespace

Exit Cordon(Session& session, const WorkerSchedulingOptions& options) {
  const auto worker = Set(session, options, v1::Worker::CORDONED);
  if (!worker.ok()) return worker.status();
  return Show(session, *worker, "is cordoned: it gets no new trials; running ones continue");
}

Exit Drain(Session& session, const WorkerSchedulingOptions& options) {
  auto worker = Set(session, options, v1::Worker::DRAINING);
  if (!worker.ok()) return worker.status();
  if (!options.wait)
    return Show(session, *worker, "is draining: it hands back what it runs and gets no new trials");
  const auto empty = AwaitEmpty(session, &*worker);
  if (!empty.ok()) return empty.status();
  if (!*empty) return kInterrupted;
  return Show(session, *worker, "is drained: it runs nothing and gets no new trials");
}

Exit Uncordon(Session& session, const WorkerSchedulingOptions& options) {
  const auto worker = Set(session, options, v1::Worker::OPEN);
  if (!worker.ok()) return worker.status();
  return Show(session, *worker, "gets trials again");
}

}  // namespace winnow::cli
