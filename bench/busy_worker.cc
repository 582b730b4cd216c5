// A worker that trains nothing and is always busy, for bench/busy_workers.py: it holds one assignment and
// reports rising levels of it. What is not acknowledged it sends again, as a worker does.
//
//   bench-busy-worker SERVERS CA_FILE TOKEN_FILE NUMBER REPORTS_PER_SYNC PAUSE_MS
//
// It prints a line at the beginning, "assignment ID", and one for each acknowledgement: the monotonic clock
// in microseconds, and the highest level that is acknowledged; "error WHY" for a Sync that failed, and "lost"
// if the assignment was taken from it. It ends with its standard input.
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <poll.h>
#include <stdio.h>
#include <time.h>

#include <chrono>
#include <cstdlib>
#include <future>
#include <string>
#include <utility>

#include "bench/no_op_job.h"
#include "rpc/channel.h"
#include "winnow/v1/worker.grpc.pb.h"

namespace winnow {
namespace {

constexpr int kTryAgainMs = 100;
constexpr std::chrono::seconds kDeadline{60};

int64_t MonotonicUs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
}

// Whether standard input is still open after that time.
bool GoOn(int ms) {
  pollfd input{0, POLLIN, 0};
  return poll(&input, 1, ms) == 0;
}

int Work(const Endpoint& endpoint, int number, int reports, int pause_ms) {
  const auto channel = Connect(endpoint);
  if (!channel.ok()) {
    fmt::print(stderr, "{}\n", std::string(channel.status().message()));
    return 1;
  }
  const auto stub = v1::WorkerService::NewStub(*channel);
  const std::string id = fmt::format("{:032x}", number);
  std::string assignment;
  int64_t resource = 0;
  int wait_ms = 0;
  while (GoOn(wait_ms)) {
    v1::SyncRequest request;
    v1::SyncResponse response;
    const int sent = assignment.empty() ? 0 : reports;
    FillSync(request, id, assignment, resource, sent);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kDeadline);
    // As a worker calls: gRPC's own threads go on connecting between two calls.
    std::promise<grpc::Status> answered;
    stub->async()->Sync(&context, &request, &response,
                        [&answered](grpc::Status status) { answered.set_value(std::move(status)); });
    const grpc::Status status = answered.get_future().get();
    wait_ms = status.ok() ? pause_ms : kTryAgainMs;
    if (!status.ok()) {
      fmt::print("error {}\n", status.error_message());
      fflush(stdout);
      continue;
    }
    if (assignment.empty()) {
      if (response.assignments_size() == 0) continue;
      assignment = response.assignments(0).id();
      fmt::print("assignment {}\n", assignment);
    } else if (response.assignments_size() == 0 || response.assignments(0).id() != assignment) {
      fmt::print("lost\n");
      return 1;
    } else {
      resource += sent;
      fmt::print("{} {}\n", MonotonicUs(), resource);
    }
    fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace winnow

int main(int argc, char** argv) {
  if (argc != 7) {
    fmt::print(stderr,
               "usage: bench-busy-worker SERVERS CA_FILE TOKEN_FILE NUMBER REPORTS_PER_SYNC PAUSE_MS\n");
    return 2;
  }
  setenv("GRPC_VERBOSITY", "NONE", 0);
  winnow::EndpointFlags flags;
  flags.server = argv[1];
  flags.tls_ca = argv[2];
  flags.token_file = argv[3];
  const absl::StatusOr<winnow::Endpoint> endpoint = winnow::MakeEndpoint(flags);
  if (!endpoint.ok()) {
    fmt::print(stderr, "{}\n", std::string(endpoint.status().message()));
    return 1;
  }
  return winnow::Work(*endpoint, std::atoi(argv[4]), std::atoi(argv[5]), std::atoi(argv[6]));
}
