#pragma once

#include <grpcpp/grpcpp.h>
#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "winnow/v1/tuning.grpc.pb.h"

namespace winnow {

// A winnow-server process with its files in a new temporary folder; the folder and all that was started by it
// go with the object. What does not work ends the program with the server's log: it is for tests and
// benchmarks.
class ServerProcess {
 public:
  // Starts at once, on a port chosen by the system, without a web page unless a flag says --http. `binary` is
  // winnow-server's path.
  ServerProcess(std::string binary, std::vector<std::string> extra_flags);
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  // SIGTERM, then waits for its end; its exit code (128 + signal for a signal).
  int Stop();
  // Waits until it ends by itself; its exit code, as of Stop.
  int Wait();
  // SIGKILL, then waits for its end.
  void Kill();
  // Starts it again on the same port and files. REQUIRES it was stopped or killed.
  void Restart();

  std::string folder() const { return folder_.string(); }
  std::string database() const { return (folder_ / "winnow.db").string(); }
  std::string address() const;
  std::string log() const;

  // A connection; the same `slot` gives the same one.
  std::shared_ptr<grpc::Channel> Connect(int slot);
  // A client on a connection of its own.
  std::unique_ptr<v1::TuningService::Stub> Client();

  // Process ids of the local workers that are alive, by name; of the trainers that they run, in no order.
  std::vector<pid_t> WorkerPids() const;
  std::vector<pid_t> TrainerPids() const;

 private:
  void Start();

  std::string binary_;
  std::vector<std::string> extra_flags_;
  std::filesystem::path folder_;
  int port_ = 0;
  pid_t pid_ = -1;
  std::vector<std::shared_ptr<grpc::Channel>> channels_;
};

}  // namespace winnow
