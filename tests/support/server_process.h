#pragma once

#include <grpcpp/grpcpp.h>
#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "winnow/v1/tuning.grpc.pb.h"

namespace winnow {

// A winnow-server process with its files in a new temporary folder; the folder and all processes it started
// are removed with the object. An error ends the program with the server's log: for tests and benchmarks.
class ServerProcess {
 public:
  // Starts at once, on a port chosen by the system, without a web page unless a flag is --http,
  // and with a new file unless a flag is --db. `binary` is winnow-server's path.
  ServerProcess(std::string binary, std::vector<std::string> extra_flags);
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  // Sends SIGTERM and waits for its end; returns its exit code (128 + signal for a signal).
  int Stop();
  // Waits until it ends by itself; returns its exit code, as Stop.
  int Wait();
  // Sends SIGKILL and waits for its end.
  void Kill();
  // Starts it again on the same port and files. REQUIRES: it was stopped or killed.
  void Restart();

  std::string folder() const { return folder_.string(); }
  std::string database() const { return (folder_ / "winnow.db").string(); }
  std::string address() const;
  std::string log() const;

  // Returns a connection; the same one for the same `slot`.
  std::shared_ptr<grpc::Channel> Connect(int slot);
  // Returns a client on its own connection.
  std::unique_ptr<v1::TuningService::Stub> Client();

  // Process ids of the live local workers, by name; of their trainers, in no order.
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
